/* SPDX-License-Identifier: Apache-2.0 */
/* The commands of a push against a rule. */
#include "audit/facts_event.h"
#include "policy/git.h"
#include "policy_bed.h"
#include "row.h"

#define ZERO "0000000000000000000000000000000000000000"
#define A "1731762a484853c04a0bf95166bc6fdb98b96e81"
#define B "72b400bba15ae499bd64c5dbd5ce26db6db1cbb8"

static const char policy[] =
    "version: 1\n"
    "policies:\n"
    "  p:\n"
    "    rules:\n"
    "      - name: work\n"
    "        allow: git+https://github.com/acme/app\n"
    "        push:\n"
    "          branches: ['agent/${sandbox}/**', 'x-*', 'a/**/z', one]\n"
    "          tags: ['v*']\n"
    "          refs: [refs/notes/commits]\n"
    "          options: ['ci.*']\n"
    "          max_commands: 3\n"
    "      - name: second\n"
    "        allow: git+https://github.com/acme/*\n"
    "        push: {branches: ['**'], delete: true, force: true}\n"
    "      - name: drop\n"
    "        allow: git+https://github.com/other/*\n"
    "        push: {branches: [x], tags: [x], create: false, update: false, "
    "delete: true}\n";

static const struct {
	const char *repository, *ref;
	enum git_command_kind kind;
	enum reason reason;
} rows[] = {
	{ "acme/app", "refs/heads/agent/p-0000/x", GIT_COMMAND_CREATE,
	    REASON_ALLOW },
	{ "acme/app", "refs/heads/agent/p-0000/x/y", GIT_COMMAND_UPDATE,
	    REASON_ALLOW },
	/* GT-99 */
	{ "acme/app", "refs/heads/agent/p-0000", GIT_COMMAND_CREATE,
	    REASON_GIT_REF },
	{ "acme/app", "refs/heads/agent/other/x", GIT_COMMAND_CREATE,
	    REASON_GIT_REF },
	{ "acme/app", "refs/heads/agent/P-0000/x", GIT_COMMAND_CREATE,
	    REASON_GIT_REF },
	{ "acme/app", "refs/heads/x-1", GIT_COMMAND_CREATE, REASON_ALLOW },
	{ "acme/app", "refs/heads/x-", GIT_COMMAND_CREATE, REASON_GIT_REF },
	{ "acme/app", "refs/heads/x-1/y", GIT_COMMAND_CREATE, REASON_GIT_REF },
	{ "acme/app", "refs/heads/a/z", GIT_COMMAND_CREATE, REASON_GIT_REF },
	{ "acme/app", "refs/heads/a/b/z", GIT_COMMAND_CREATE, REASON_ALLOW },
	{ "acme/app", "refs/heads/a/b/c/z", GIT_COMMAND_CREATE, REASON_ALLOW },
	{ "acme/app", "refs/heads/one", GIT_COMMAND_UPDATE, REASON_ALLOW },
	/* GT-32, and no later rule may have it. */
	{ "acme/app", "refs/heads/main", GIT_COMMAND_UPDATE, REASON_GIT_REF },
	{ "acme/App.git", "refs/heads/main", GIT_COMMAND_UPDATE,
	    REASON_GIT_REF },
	/* GT-34 */
	{ "acme/app", "refs/tags/v1", GIT_COMMAND_CREATE, REASON_ALLOW },
	{ "acme/app", "refs/tags/v1", GIT_COMMAND_UPDATE, REASON_GIT_UPDATE },
	{ "acme/app", "refs/tags/w1", GIT_COMMAND_CREATE, REASON_GIT_REF },
	{ "acme/app", "refs/heads/v1", GIT_COMMAND_CREATE, REASON_GIT_REF },
	{ "acme/app", "refs/notes/commits", GIT_COMMAND_UPDATE, REASON_ALLOW },
	{ "acme/app", "refs/notes/commits/x", GIT_COMMAND_UPDATE,
	    REASON_GIT_REF },
	/* GT-35, GT-38 */
	{ "acme/app", "refs/for/one", GIT_COMMAND_CREATE, REASON_GIT_REF },
	{ "acme/app", "refs/heads/x-;id", GIT_COMMAND_CREATE, REASON_GIT_REF },
	{ "acme/app", "refs/heads/agent/p-0000/--mirror", GIT_COMMAND_CREATE,
	    REASON_GIT_REF },
	{ "acme/app", "refs/heads/agent/p-0000/../../main", GIT_COMMAND_CREATE,
	    REASON_GIT_REF },
	/* GT-40 */
	{ "acme/app", "refs/heads/one", GIT_COMMAND_DELETE, REASON_GIT_UPDATE },
	{ "acme/x", "refs/heads/main", GIT_COMMAND_DELETE, REASON_ALLOW },
	{ "acme/x", "refs/heads/HEAD", GIT_COMMAND_CREATE, REASON_GIT_REF },
	{ "acme/x", "refs/tags/v1", GIT_COMMAND_CREATE, REASON_GIT_REF },
	{ "other/x", "refs/heads/x", GIT_COMMAND_DELETE, REASON_ALLOW },
	{ "other/x", "refs/heads/x", GIT_COMMAND_CREATE, REASON_GIT_UPDATE },
	{ "other/x", "refs/tags/x", GIT_COMMAND_UPDATE, REASON_GIT_UPDATE },
	{ "nobody/x", "refs/heads/x", GIT_COMMAND_DELETE, REASON_GIT_REPO },
};

static int
setup(void **state)
{
	static struct bed bed;

	bed_load(&bed, NULL, policy);
	if (bed.program == NULL)
		print_error("%s", buf_text(&bed.text));
	*state = &bed;
	return bed.program == NULL ? -1 : 0;
}

static int
teardown(void **state)
{
	bed_release(*state);
	return 0;
}

static struct git_command
command(enum git_command_kind kind, const char *ref)
{
	return (struct git_command){ .kind = kind,
		.ref = slice_of_str(ref),
		.old_id = kind == GIT_COMMAND_CREATE ? SLICE(ZERO) : SLICE(A),
		.new_id = kind == GIT_COMMAND_DELETE ? SLICE(ZERO) : SLICE(B) };
}

static struct facts
request(const struct program *p, const char *repository)
{
	static char url[128];

	snprintf(url, sizeof(url), "https://github.com/%s/git-receive-pack",
	    repository);
	return bed_request(p, "POST", url);
}

/* A record of the command, read again, is decided as it was. */
static void
assert_recomputes(const struct program *p, const struct facts *f,
    const struct verdict *v)
{
	static struct facts_text text;
	struct facts back;
	struct event e;

	event_init(&e, EVENT_REQUEST_END);
	facts_to_event(p, f, v, &text, &e);
	assert_true(facts_from_event(&e, &back));
	struct verdict again = policy_decide(p, &back);
	assert_int_equal(again.reason, v->reason);
	/* What is wrong with the whole of a push decides alone. */
	if (f->kind != FACTS_PUSH || v->allow)
		assert_int_equal(again.rule, v->rule);
	else
		assert_int_equal(again.rule, VERDICT_NONE);
}

static void
push_each_command_has_a_verdict_and_a_record(void **state)
{
	const struct program *p = ((struct bed *)*state)->program;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct git_command c = command(rows[i].kind, rows[i].ref);
		struct facts_push push = { .commands = &c, .n_commands = 1 };
		struct facts f = request(p, rows[i].repository);

		print_message("# %s %s\n", rows[i].repository, rows[i].ref);
		f.kind = FACTS_COMMAND;
		f.command = c;
		struct verdict v = policy_decide(p, &f);
		assert_string_equal(reason_name(v.reason),
		    reason_name(rows[i].reason));
		assert_recomputes(p, &f, &v);
		f.kind = FACTS_PUSH;
		f.push = &push;
		struct verdict whole = policy_decide(p, &f);
		assert_int_equal(whole.reason, v.reason);
		assert_int_equal(whole.rule, v.rule);
		assert_recomputes(p, &f, &whole);
	}
}

/* GT-33: one bad command, and the push is refused; which one it is is said. */
static void
push_is_refused_for_one_command(void **state)
{
	const struct program *p = ((struct bed *)*state)->program;
	struct git_command list[] = {
		command(GIT_COMMAND_CREATE, "refs/heads/one"),
		command(GIT_COMMAND_CREATE, "refs/heads/x-2"),
		command(GIT_COMMAND_DELETE, "refs/heads/x-3"),
		command(GIT_COMMAND_CREATE, "refs/heads/x-4"),
	};
	struct facts_push push = { .commands = list, .n_commands = 2 };
	struct facts f = request(p, "acme/app");
	struct buf out;

	f.kind = FACTS_PUSH;
	f.push = &push;
	struct verdict v = policy_decide(p, &f);
	assert_true(v.allow && v.command == VERDICT_NONE);
	push.n_commands = 3;
	v = policy_decide(p, &f);
	assert_int_equal(v.reason, REASON_GIT_UPDATE);
	assert_int_equal(v.command, 2);
	buf_init(&out, 4096);
	policy_explain(p, &f, &v, &out);
	assert_string_equal(buf_text(&out),
	    "rule `work` (policy.yaml:5) does not let `refs/heads/x-3` be "
	    "deleted");
	/* GT-55: too many of them. */
	push.n_commands = 4;
	v = policy_decide(p, &f);
	assert_int_equal(v.reason, REASON_LIMIT_BYTES);
	assert_int_equal(v.command, VERDICT_NONE);
	buf_clear(&out);
	policy_explain(p, &f, &v, &out);
	assert_string_equal(buf_text(&out),
	    "rule `work` (policy.yaml:5) allows 3 commands in a push, not 4");
	assert_recomputes(p, &f, &v);
	push.n_commands = 0;
	assert_int_equal(policy_decide(p, &f).reason, REASON_INTERNAL);
	f.push = NULL;
	assert_int_equal(policy_decide(p, &f).reason, REASON_INTERNAL);
	buf_release(&out);
}

/* GT-59: what was not offered is not asked for by a client of git's. */
static void
push_options_are_those_of_the_rule(void **state)
{
	const struct program *p = ((struct bed *)*state)->program;
	struct git_command c = command(GIT_COMMAND_CREATE, "refs/heads/one");
	struct slice options[] = { SLICE("ci.skip"), SLICE("ci.a/b") };
	struct facts_push push = { .commands = &c,
		.n_commands = 1,
		.has_options = true };
	struct facts f = request(p, "acme/app");

	f.kind = FACTS_PUSH;
	f.push = &push;
	push.options = options;
	assert_true(policy_decide(p, &f).allow);
	push.n_options = 1;
	assert_true(policy_decide(p, &f).allow);
	push.n_options = 2;
	assert_int_equal(policy_decide(p, &f).reason, REASON_GIT_UPDATE);
	struct facts other = request(p, "acme/x");
	other.kind = FACTS_PUSH;
	other.push = &push;
	push.n_options = 0;
	assert_int_equal(policy_decide(p, &other).reason, REASON_GIT_MALFORMED);
	push.has_options = false;
	assert_true(policy_decide(p, &other).allow);
}

/* A request that is no push is none, whatever its facts say. */
static void
push_facts_of_another_request_are_refused(void **state)
{
	const struct program *p = ((struct bed *)*state)->program;
	struct facts f = bed_request(p, "GET",
	    "https://github.com/acme/app/info/refs?service=git-upload-pack");

	f.kind = FACTS_COMMAND;
	f.command = command(GIT_COMMAND_CREATE, "refs/heads/one");
	assert_int_equal(policy_decide(p, &f).reason, REASON_GIT_SERVICE);
}

static void
push_record_with_a_bad_command_has_no_facts(void **state)
{
	static const char *const bad[] = { "", A, A " " B, A " " B " ",
		"x" A " " B " refs/heads/x", A " " B "00 refs/heads/x",
		A "  " B " refs/heads/x" };
	const struct program *p = ((struct bed *)*state)->program;
	static struct facts_text text;
	struct facts f = request(p, "acme/app"), back;
	struct event e;

	f.kind = FACTS_COMMAND;
	f.command = command(GIT_COMMAND_CREATE, "refs/heads/one");
	struct verdict v = policy_decide(p, &f);
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		event_init(&e, EVENT_REQUEST_END);
		facts_to_event(p, &f, &v, &text, &e);
		event_str(&e, FIELD_GIT_COMMAND, bad[i]);
		assert_false(facts_from_event(&e, &back));
	}
	/* A ref too long for a record is too long for a rule. */
	struct slice ref = repeat(SLICE("refs/heads/"), 'a', 5000);
	f.command.ref = ref;
	v = policy_decide(p, &f);
	assert_int_equal(v.reason, REASON_GIT_REF);
	assert_recomputes(p, &f, &v);
	drop(ref);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(push_each_command_has_a_verdict_and_a_record),
		cmocka_unit_test(push_is_refused_for_one_command),
		cmocka_unit_test(push_options_are_those_of_the_rule),
		cmocka_unit_test(push_facts_of_another_request_are_refused),
		cmocka_unit_test(push_record_with_a_bad_command_has_no_facts),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
