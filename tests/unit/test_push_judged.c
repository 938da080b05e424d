/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each hostile body, read and judged: what a server of git's would do with it
 * is in its name; what we do is one reason.  The rules allow branches of the agent and
 * nothing but creation and updates, or every branch.
 */
#include "git/push.h"
#include "git_bed.h"
#include "policy_bed.h"
#include "row.h"

static const char policy[] =
    "version: 1\n"
    "policies:\n"
    "  p:\n"
    "    rules:\n"
    "      - allow: git+https://github.com/acme/narrow\n"
    "        push: {branches: ['agent/**']}\n"
    "      - allow: git+https://github.com/acme/wide\n"
    "        push: {branches: ['**']}\n";

/* What is right for a rule with every branch; with those of the agent all are wrong. */
static const struct {
	const char *name;
	enum reason wide;
} rows[] = {
	{ "caps-on-second-command", REASON_GIT_MALFORMED },
	{ "cert-no-signature", REASON_GIT_MALFORMED },
	{ "cert-not-advertised", REASON_GIT_MALFORMED },
	{ "cert-plain-before", REASON_GIT_MALFORMED },
	{ "cert-split-mid-line", REASON_GIT_MALFORMED },
	{ "create-existing", REASON_ALLOW },
	{ "delete-HEAD", REASON_GIT_REF },
	{ "delete-main", REASON_GIT_UPDATE },
	{ "delete-old-zero", REASON_GIT_UPDATE },
	{ "duplicate-ref", REASON_GIT_MALFORMED },
	{ "end-by-delim-0001", REASON_GIT_MALFORMED },
	{ "eof-before-flush", REASON_GIT_MALFORMED },
	{ "err-packet", REASON_GIT_MALFORMED },
	{ "force-unrelated", REASON_ALLOW },
	{ "garbage-after-pack", REASON_ALLOW },
	{ "good-plain-create", REASON_ALLOW },
	{ "length-0003", REASON_GIT_MALFORMED },
	{ "no-capabilities", REASON_ALLOW },
	{ "nul-in-second-command", REASON_GIT_MALFORMED },
	{ "one-lf-after-ref", REASON_ALLOW },
	{ "options-server-off", REASON_GIT_MALFORMED },
	{ "options-server-on", REASON_GIT_MALFORMED },
	{ "probe", REASON_COUNT }, /* no push */
	{ "ref-300-bytes", REASON_GIT_REF },
	{ "ref-FETCH_HEAD", REASON_GIT_REF },
	{ "ref-HEAD", REASON_GIT_REF },
	{ "ref-MAIN", REASON_ALLOW },
	{ "ref-at", REASON_GIT_REF },
	{ "ref-below-existing", REASON_ALLOW },
	{ "ref-bracket", REASON_GIT_REF },
	{ "ref-colon", REASON_GIT_REF },
	{ "ref-config", REASON_GIT_REF },
	{ "ref-dash", REASON_GIT_REF },
	{ "ref-dollar", REASON_GIT_REF },
	{ "ref-dot-lock", REASON_GIT_REF },
	{ "ref-dotdot-component", REASON_GIT_REF },
	{ "ref-double-dot", REASON_GIT_REF },
	{ "ref-double-slash", REASON_GIT_REF },
	{ "ref-empty", REASON_GIT_MALFORMED },
	{ "ref-esc", REASON_GIT_MALFORMED },
	{ "ref-foo-bar", REASON_GIT_REF },
	{ "ref-for-main", REASON_GIT_REF },
	{ "ref-heads-HEAD", REASON_GIT_REF },
	{ "ref-heads-only", REASON_GIT_REF },
	{ "ref-high-bytes", REASON_GIT_REF },
	{ "ref-leading-slash", REASON_GIT_REF },
	{ "ref-notes", REASON_GIT_REF },
	{ "ref-percent", REASON_GIT_REF },
	{ "ref-pull", REASON_GIT_REF },
	{ "ref-question", REASON_GIT_REF },
	{ "ref-refs-dotdot-config", REASON_GIT_REF },
	{ "ref-rtl-override", REASON_GIT_REF },
	{ "ref-semicolon", REASON_GIT_REF },
	{ "ref-space", REASON_GIT_REF },
	{ "ref-stash", REASON_GIT_REF },
	{ "ref-tilde", REASON_GIT_REF },
	{ "ref-trailing-slash", REASON_GIT_REF },
	{ "ref-utf8", REASON_GIT_REF },
	{ "shallow-after-command", REASON_GIT_MALFORMED },
	{ "two-lf-after-ref", REASON_GIT_MALFORMED },
	{ "unknown-capability", REASON_ALLOW },
	{ "update-wrong-old", REASON_ALLOW },
	{ "upper-case-hex", REASON_ALLOW },
};

static struct bed bed;
static size_t n_seen;

static int
setup(void **state)
{
	(void)state;
	bed_load(&bed, NULL, policy);
	if (bed.program == NULL)
		print_error("%s", buf_text(&bed.text));
	return bed.program == NULL ? -1 : 0;
}

static int
teardown(void **state)
{
	(void)state;
	bed_release(&bed);
	return 0;
}

/* The reason for a body that is pushed there; REASON_COUNT: it is a probe. */
static enum reason
judge(const char *url, struct slice body)
{
	struct facts f = bed_request(bed.program, "POST", url);
	struct git_command commands[4];
	struct facts_push push = { .commands = commands };
	enum reason reason = REASON_COUNT;
	struct parse_fail fail;
	struct push p;
	size_t used;

	push_init(&p);
	enum parse got = push_take(&p, body, &used, &fail);
	if (got == PARSE_MORE)
		got = push_end(&p, &fail);
	if (got == PARSE_BAD) {
		reason = fail.reason;
	} else if (!push_is_probe(&p)) {
		assert_in_range(p.n_commands, 1, COUNT_OF(commands));
		for (size_t i = 0; i < p.n_commands; i++)
			commands[i] = push_command(&p, i);
		push.n_commands = (uint32_t)p.n_commands;
		push.has_options = (p.caps & PUSH_OPTIONS) != 0;
		f.kind = FACTS_PUSH;
		f.push = &push;
		reason = policy_decide(bed.program, &f).reason;
	}
	push_release(&p);
	return reason;
}

static void
each(const char *name, struct slice body)
{
	size_t i = 0;

	while (i < COUNT_OF(rows) && strcmp(rows[i].name, name) != 0)
		i++;
	print_message("# %s\n", name);
	assert_in_range(i, 0, COUNT_OF(rows) - 1);
	n_seen++;
	assert_int_equal(judge("https://github.com/acme/wide/git-receive-pack",
			     body),
	    rows[i].wide);
	enum reason narrow =
	    judge("https://github.com/acme/narrow/git-receive-pack", body);
	if (rows[i].wide == REASON_GIT_MALFORMED &&
	    strncmp(name, "options", 7) != 0)
		assert_int_equal(narrow, REASON_GIT_MALFORMED);
	else if (rows[i].wide != REASON_COUNT)
		assert_int_equal(narrow, REASON_GIT_REF);
}

static void
push_of_each_hostile_body_has_its_reason(void **state)
{
	(void)state;
	n_seen = 0;
	git_bodies("hostile", each);
	assert_int_equal(n_seen, COUNT_OF(rows));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(push_of_each_hostile_body_has_its_reason),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
