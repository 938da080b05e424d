/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a value of each type may be, and that a rule with it matches what it
 * names and nothing beside.  What is refused is in tests/golden/policy-errors
 * (cf-34).
 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "load/parameter.h"
#include "policy_bed.h"

static const struct {
	enum parameter_type type;
	const char *text, *want;
} values[] = {
	{ PARAMETER_SEGMENT, "x", "x" },
	{ PARAMETER_SEGMENT, "a-b._~!$&'()+,;=:@", "a-b._~!$&'()+,;=:@" },
	{ PARAMETER_SEGMENT, "...", "..." },
	{ PARAMETER_SEGMENT, ".github", ".github" },
	{ PARAMETER_REPOSITORY, "acme/widgets", "acme/widgets" },
	{ PARAMETER_REPOSITORY, "Acme/.github", "Acme/.github" },
	{ PARAMETER_REPOSITORY, "~user/x.y_z", "~user/x.y_z" },
	{ PARAMETER_REF, "main", "main" },
	{ PARAMETER_REF, "fix/42/a@b", "fix/42/a@b" },
	{ PARAMETER_HOST, "API.Example.COM", "api.example.com" },
	{ PARAMETER_HOST, "xn--bcher-kva.example", "xn--bcher-kva.example" },
	{ PARAMETER_NAME, "-0-", "-0-" },
};

static void
parameter_value_is_canonical(void **state)
{
	struct arena arena = { 0 };
	const char *expected;
	struct slice value;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(values); i++) {
		print_message("# %s\n", values[i].text);
		assert_true(parameter_value(values[i].type,
		    slice_of_str(values[i].text), &arena, &value, &expected));
		assert_true(slice_eq_str(value, values[i].want));
	}
	arena_release(&arena);
}

/* No value of any type has a byte that a pattern reads as more than itself. */
static void
parameter_value_has_no_byte_of_a_pattern(void **state)
{
	static const char bad[] = "*%?#{}\\\"<>|^` \t\n\x7f\x80\xff";
	const char *expected;
	struct slice value;

	(void)state;
	for (unsigned t = 0; t < PARAMETER_TYPES; t++)
		for (size_t i = 0; i < sizeof(bad); i++) {
			char text[] = { 'a', '/', 'a', bad[i], 'a', '\0' };
			size_t from = t == PARAMETER_REPOSITORY ? 0 : 2;
			struct arena arena = { 0 };
			assert_false(parameter_value((enum parameter_type)t,
			    slice_of(text + from, 5 - from), &arena, &value,
			    &expected));
			arena_release(&arena);
		}
}

static const char policy[] =
    "version: 1\n"
    "policies:\n"
    "  agent:\n"
    "    parameters:\n"
    "      repo: {type: repository, default: acme/widgets}\n"
    "      branch: {type: ref, default: fix/42}\n"
    "      host: {type: host, default: API.ok.test}\n"
    "      part: {type: segment, default: 'a@b'}\n"
    "    rules:\n"
    "      - allow: https://ok.test/repos/${repo}/git/${branch}\n"
    "      - deny: https://${host}/${sandbox}/secret\n"
    "      - allow: https://${host}/${sandbox}/${tenant}/${part}/**\n"
    "      - allow: https://${host}/${sandbox}/*\n"
    "      - allow: https://q.test/\n"
    "        query: {ref: ['${branch}'], raw: ['%24{x}']}\n";

static const struct {
	const char *url;
	bool allow;
} requests[] = {
	{ "https://ok.test/repos/acme/widgets/git/fix/42", true },
	{ "https://ok.test/repos/acme/widgets/git/fix/43", false },
	{ "https://ok.test/repos/acme/widgets/git/fix", false },
	{ "https://ok.test/repos/acme/other/git/fix/42", false },
	{ "https://api.ok.test/agent-0000/default/a@b/x/y", true },
	{ "https://api.ok.test/agent-0000/default/a%40b/x", true },
	{ "https://api.ok.test/agent-0000/default/ab/x", false },
	{ "https://api.ok.test/agent-0000/public", true },
	{ "https://api.ok.test/agent-0000/secret", false },
	{ "https://api.ok.test/agent-0001/public", false },
	{ "https://q.test/?ref=fix/42&raw=$%7Bx%7D", true },
	{ "https://q.test/?ref=fix/42x&raw=$%7Bx%7D", false },
};

static void
parameters_stand_for_what_they_name(void **state)
{
	struct bed b;

	(void)state;
	bed_load(&b, NULL, policy);
	assert_string_equal(buf_text(&b.text), "");
	assert_non_null(b.program);
	for (size_t i = 0; i < COUNT_OF(requests); i++) {
		struct facts f = bed_request(b.program, "GET", requests[i].url);
		print_message("# %s\n", requests[i].url);
		assert_int_equal(policy_decide(b.program, &f).allow,
		    requests[i].allow);
	}
	/* What is shown of a rule has the values. */
	assert_true(slice_eq_str(program_rule(b.program, 0).text,
	    "https://ok.test/repos/acme/widgets/git/fix/42"));
	bed_release(&b);
}

static void
parameters_that_no_rule_uses_are_a_warning(void **state)
{
	struct bed b;

	(void)state;
	bed_load(&b, NULL,
	    "version: 1\n"
	    "policies:\n"
	    "  p:\n"
	    "    parameters: {repo: {type: repository, default: a/b}}\n"
	    "    rules: [{allow: https://ok.test/}]\n");
	assert_string_equal(buf_text(&b.text),
	    "policy.yaml:4:18: warning: parameter `repo` is used by no rule\n");
	bed_release(&b);
}

/* The owner's configuration has none: it is not a policy. */
static void
parameters_are_an_error_in_the_owners_files(void **state)
{
	struct bed b;

	(void)state;
	bed_load(&b,
	    "version: 1\n"
	    "credentials:\n"
	    "  t:\n"
	    "    kind: token\n"
	    "    secret: {env: T}\n"
	    "    only: https://ok.test/${repo}/**\n",
	    "version: 1\npolicies: {p: {rules: []}}\n");
	assert_null(b.owner);
	assert_non_null(strstr(buf_text(&b.text),
	    "owner.yaml:6:11: parameters (`${…}`) stand in the rules of a "
	    "policy only\n"));
	bed_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parameter_value_is_canonical),
		cmocka_unit_test(parameter_value_has_no_byte_of_a_pattern),
		cmocka_unit_test(parameters_stand_for_what_they_name),
		cmocka_unit_test(parameters_that_no_rule_uses_are_a_warning),
		cmocka_unit_test(parameters_are_an_error_in_the_owners_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
