/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `include:` keeps its place, carries a credential only if it is mapped, and
 * sees no parameter that was not set for it (CF-23, CF-33).  What is said of
 * wrong ones is here too: it names the file that is wrong.
 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/limits.h"
#include "policy_bed.h"

#define HEAD "version: 1\npolicies:\n  p:\n    rules:\n"

static const char owner[] = "version: 1\n"
			    "credentials:\n"
			    "  github:\n"
			    "    kind: token\n"
			    "    secret: {env: T}\n"
			    "    only: https://api.ok.test/repos/**\n";

static const struct bed_file files[] = {
	{ "one.yaml", HEAD "      - allow: https://ok.test/**\n" },
	{ "deny.yaml", HEAD "      - deny: https://ok.test/secret/**\n" },
	{ "sub/deep.yaml",
	    HEAD "      - include: deeper.yaml\n"
		 "      - {name: own, allow: https://deep.test/}\n" },
	{ "sub/deeper.yaml", HEAD "      - allow: https://deeper.test/\n" },
	{ "token.yaml",
	    "version: 1\n"
	    "policies:\n"
	    "  p:\n"
	    "    parameters: {repo: repository}\n"
	    "    rules:\n"
	    "      - allow: https://api.ok.test/repos/${repo}/**\n"
	    "        credential: token\n" },
	{ "through.yaml",
	    HEAD "      - include: token.yaml\n"
		 "        set: {repo: acme/widgets}\n"
		 "        credentials: {token: middle}\n" },
	{ "wide.yaml",
	    HEAD "      - allow: https://api.ok.test/**\n"
		 "        credential: token\n" },
	{ "two.yaml",
	    "version: 1\n"
	    "policies:\n"
	    "  a: {rules: [{allow: https://a.test/}]}\n"
	    "  b: {rules: [{allow: https://b.test/}]}\n" },
	{ "self.yaml", HEAD "      - include: self.yaml\n" },
	{ "ping.yaml", HEAD "      - include: pong.yaml\n" },
	{ "pong.yaml", HEAD "      - include: ping.yaml\n" },
	{ "bad.yaml", HEAD "      - allows: https://ok.test/\n" },
	{ "owners.yaml", "version: 1\ncredentials: {}\npolicies: {p: {}}\n" },
	{ "Upper Case.yaml", HEAD "      - allow: https://ok.test/\n" },
	{ "private.yaml", HEAD "      - allow: https://10.1.2.3/\n" },
	{ "settings.yaml",
	    "version: 1\n"
	    "policies:\n"
	    "  p:\n"
	    "    refusals: code\n"
	    "    rules: [{allow: https://ok.test/}]\n" },
	{ "outer.yaml", HEAD "      - allow: https://ok.test/${repo}\n" },
};

static void
load(struct bed *b, const char *rules)
{
	char policy[4096];

	snprintf(policy, sizeof(policy),
	    "version: 1\n"
	    "policies:\n"
	    "  p:\n"
	    "    parameters: {repo: {type: repository, default: acme/widgets}}\n"
	    "    rules:\n"
	    "      - allow: https://used.test/${repo}\n"
	    "%s",
	    rules);
	bed_load_want(b,
	    &(struct bed_want){ .config = owner,
		.policy = policy,
		.files = files,
		.n_files = COUNT_OF(files) });
}

static bool
allows(const struct bed *b, const char *url)
{
	struct facts f = bed_request(b->program, "GET", url);

	return policy_decide(b->program, &f).allow;
}

static void
include_keeps_its_place(void **state)
{
	struct bed b;

	(void)state;
	load(&b, "      - include: deny.yaml\n      - include: one.yaml\n");
	assert_non_null(b.program);
	assert_false(allows(&b, "https://ok.test/secret/x"));
	assert_true(allows(&b, "https://ok.test/x"));
	bed_release(&b);
	load(&b, "      - include: one.yaml\n      - include: deny.yaml\n");
	assert_non_null(b.program);
	assert_true(allows(&b, "https://ok.test/secret/x"));
	assert_non_null(strstr(buf_text(&b.text),
	    "deny.yaml:5:15: warning: deny rule `deny/rule-1` has nothing to "
	    "cut out"));
	bed_release(&b);
}

static void
include_names_its_rules_and_files(void **state)
{
	static const char *const want[][2] = { { "rule-1", "policy.yaml" },
		{ "deep/deeper/rule-1", "sub/deeper.yaml" },
		{ "deep/own", "sub/deep.yaml" },
		{ "again/deeper/rule-1", "sub/deeper.yaml" },
		{ "again/own", "sub/deep.yaml" },
		{ "two/rule-1", "two.yaml" } };
	struct bed b;

	(void)state;
	load(&b,
	    "      - include: sub/deep.yaml\n"
	    "      - {include: ./sub/deep.yaml, name: again}\n"
	    "      - include: two.yaml:b\n");
	assert_non_null(b.program);
	assert_int_equal(program_n_rules(b.program), COUNT_OF(want));
	for (uint32_t i = 0; i < COUNT_OF(want); i++) {
		struct program_rule r = program_rule(b.program, i);
		assert_true(slice_eq_str(r.name, want[i][0]));
		assert_true(slice_eq_str(r.file, want[i][1]));
	}
	assert_true(allows(&b, "https://b.test/"));
	assert_false(allows(&b, "https://a.test/"));
	bed_release(&b);
}

/* The rule behind the first one, of what is included. */
static uint32_t
n_credentials(const struct bed *b)
{
	return program_rule(b->program, 1).n_credentials;
}

static void
include_carries_what_is_mapped(void **state)
{
	struct bed b;

	(void)state;
	load(&b,
	    "      - include: token.yaml\n"
	    "        set: {repo: \"${repo}\"}\n"
	    "        credentials: {token: github}\n");
	assert_string_equal(buf_text(&b.text), "");
	assert_int_equal(n_credentials(&b), 1);
	assert_true(allows(&b, "https://api.ok.test/repos/acme/widgets/x"));
	bed_release(&b);

	load(&b,
	    "      - include: token.yaml\n"
	    "        set: {repo: acme/other}\n");
	assert_string_equal(buf_text(&b.text),
	    "token.yaml:7:21: warning: credential `token` is not mapped: the "
	    "rule carries none; write `credentials: {token: NAME}` beside the "
	    "`include:` (policy.yaml:7)\n");
	assert_int_equal(n_credentials(&b), 0);
	assert_true(allows(&b, "https://api.ok.test/repos/acme/other/x"));
	bed_release(&b);

	/* Mapped at each step, or not at all. */
	load(&b,
	    "      - include: through.yaml\n"
	    "        credentials: {middle: github}\n");
	assert_string_equal(buf_text(&b.text), "");
	assert_int_equal(n_credentials(&b), 1);
	bed_release(&b);
	load(&b, "      - include: through.yaml\n");
	assert_int_equal(n_credentials(&b), 0);
	assert_non_null(strstr(buf_text(&b.text),
	    "through.yaml:7:30: warning: credential `middle` is not mapped"));
	bed_release(&b);
}

static const struct {
	const char *rules, *said;
} wrong[] = {
	{ "      - include: nothing.yaml\n",
	    "policy.yaml:7:18: `nothing.yaml`: No such file or directory\n" },
	{ "      - include: preset/nmp\n",
	    "policy.yaml:7:18: there is no preset `nmp`; did you mean `npm`? "
	    "There are `anthropic`, " },
	{ "      - include: preset/x.yaml\n",
	    "; a file is `./preset/x.yaml`\n" },
	{ "      - include: self.yaml\n",
	    "self.yaml:5:18: a circle: policy.yaml includes self.yaml includes "
	    "self.yaml\n" },
	{ "      - include: ping.yaml\n",
	    "pong.yaml:5:18: a circle: policy.yaml includes ping.yaml includes "
	    "pong.yaml includes ping.yaml\n" },
	{ "      - include: bad.yaml\n",
	    "bad.yaml:5:9: unknown key `allows`; did you mean `allow`?\n" },
	{ "      - include: two.yaml\n",
	    "two.yaml:3:3: several policies: say which, as `include: "
	    "FILE:NAME`\n" },
	{ "      - include: two.yaml:c\n",
	    "two.yaml:3:3: there is no policy `c`\n" },
	{ "      - include: two.yaml:a\n      - include: two.yaml:b\n",
	    "two.yaml:4:15: a second rule `two/rule-1`, the first is on line "
	    "3: included twice, and no `name:` beside one of them\n" },
	{ "      - include: owners.yaml\n",
	    "owners.yaml:2:1: `credentials` belongs in the owner's "
	    "configuration" },
	{ "      - include: Upper Case.yaml\n",
	    "policy.yaml:7:18: `Upper Case` makes no name for its rules: write "
	    "`name: …` beside `include:`\n" },
	{ "      - include: private.yaml\n",
	    "private.yaml:5:16: `10.1.2.3` is not public and outside of" },
	{ "      - include: outer.yaml\n",
	    "outer.yaml:5:16: `${repo}` is no parameter;" },
	{ "      - include: token.yaml\n"
	  "        credentials: {token: github}\n",
	    "token.yaml:4:18: parameter `repo` has no value: give `set:` "
	    "beside the `include:` on line 7, or write a `default:`\n" },
	{ "      - include: token.yaml\n"
	  "        set: {repo: acme/..}\n",
	    "policy.yaml:8:21: `acme/..` is no repository for `repo`" },
	{ "      - include: token.yaml\n"
	  "        set: {rpeo: acme/x}\n",
	    "policy.yaml:8:21: there is no parameter `rpeo` to be set; did you "
	    "mean `repo`?\n" },
	{ "      - include: token.yaml\n"
	  "        set: {repo: a/b}\n"
	  "        credentials: {token: gihtub}\n",
	    "policy.yaml:9:30: credential `gihtub` is not defined in the "
	    "owner's configuration (`~/.config/duenna/*.yaml` or `--config "
	    "FILE`); did you mean `github`?\n" },
	{ "      - include: token.yaml\n"
	  "        set: {repo: a/b}\n"
	  "        credentials: {token: github, tokne: github}\n",
	    "warning: no rule in `token.yaml` names a credential `tokne`\n" },
	{ "      - include: wide.yaml\n"
	  "        credentials: {token: github}\n",
	    "wide.yaml:5:16: `https://api.ok.test/**` is wider than `only:` of "
	    "credential `github`" },
	{ "      - include: one.yaml\n"
	  "        methods: [GET]\n",
	    "policy.yaml:8:9: unknown key `methods`; expected one of "
	    "`include`, `name`, `set`, `credentials`\n" },
	{ "      - include: settings.yaml\n",
	    "warning: `refusals` of a policy that is "
	    "included says nothing: it belongs in the one that is run\n" },
	{ "      - include: [one.yaml]\n",
	    "policy.yaml:7:18: expected `preset/NAME`, or the path of a file" },
};

static void
include_says_which_file_is_wrong(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		struct bed b;
		load(&b, wrong[i].rules);
		print_message("# %.*s\n", (int)strcspn(wrong[i].said, "\n"),
		    wrong[i].said);
		assert_non_null(strstr(buf_text(&b.text), wrong[i].said));
		assert_int_equal(b.program != NULL,
		    strncmp(wrong[i].said, "warning", 7) == 0);
		bed_release(&b);
	}
}

/* Every file includes the next one twice: 2^n of them, were it not counted. */
static void
include_is_counted_each_time(void **state)
{
	static char texts[20][256], names[20][16];
	struct bed_file chain[20];
	struct buf many;
	struct bed b;

	(void)state;
	for (unsigned i = 0; i < COUNT_OF(chain); i++) {
		snprintf(names[i], sizeof(names[i]), "f%u", i);
		snprintf(texts[i], sizeof(texts[i]),
		    HEAD "      - {include: f%u, name: a}\n"
			 "      - {include: f%u, name: b}\n",
		    i + 1, i + 1);
		chain[i] = (struct bed_file){ names[i], texts[i] };
	}
	bed_load_want(&b,
	    &(struct bed_want){ .policy = HEAD "      - include: f0\n",
		.files = chain,
		.n_files = COUNT_OF(chain) });
	assert_null(b.program);
	assert_non_null(strstr(buf_text(&b.text),
	    "includes inside of each other deeper than 16\n"));
	assert_non_null(strstr(buf_text(&b.text), " more errors\n"));
	bed_release(&b);
	chain[0].text = HEAD "      - allow: https://ok.test/\n";
	buf_init(&many, 65536);
	buf_put_str(&many, HEAD);
	for (unsigned i = 0; i <= LIMIT_POLICY_INCLUDES; i++)
		buf_putf(&many, "      - {include: f0, name: a%u}\n", i);
	bed_load_want(&b,
	    &(struct bed_want){ .policy = buf_text(&many),
		.files = chain,
		.n_files = 1 });
	assert_null(b.program);
	assert_non_null(strstr(buf_text(&b.text),
	    "policy.yaml:105:19: more than 100 includes\n"));
	bed_release(&b);
	buf_release(&many);
}

/* All files together have a ceiling, as each has one. */
static void
include_is_limited_in_bytes(void **state)
{
	struct bed_file big = { "big.yaml", NULL };
	struct buf text, policy;
	struct bed b;

	(void)state;
	buf_init(&text, LIMIT_POLICY_FILE_SIZE);
	buf_init(&policy, 4096);
	buf_put_str(&text, HEAD "      - allow: https://ok.test/\n");
	while (text.n < LIMIT_POLICY_FILE_SIZE - 100)
		buf_put_str(&text,
		    "# a comment, one of very many of its kind\n");
	buf_put_str(&policy, HEAD);
	for (unsigned i = 0; i < 5; i++)
		buf_putf(&policy, "      - {include: big.yaml, name: a%u}\n",
		    i);
	big.text = buf_text(&text);
	bed_load_want(&b,
	    &(struct bed_want){ .policy = buf_text(&policy),
		.files = &big,
		.n_files = 1 });
	assert_null(b.program);
	assert_non_null(strstr(buf_text(&b.text),
	    "policy.yaml:9:19: more than 33554432 bytes in all files of this "
	    "policy\n"));
	bed_release(&b);
	buf_release(&text);
	buf_release(&policy);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(include_keeps_its_place),
		cmocka_unit_test(include_names_its_rules_and_files),
		cmocka_unit_test(include_carries_what_is_mapped),
		cmocka_unit_test(include_says_which_file_is_wrong),
		cmocka_unit_test(include_is_counted_each_time),
		cmocka_unit_test(include_is_limited_in_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
