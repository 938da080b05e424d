/* SPDX-License-Identifier: Apache-2.0 */
/* Globs of query values; whole conditions are rows of test_policy.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <time.h>

#include <cmocka.h>

#include "base/attr.h"
#include "policy/querycond.h"
#include "policy_bed.h"

static struct slice
compile(const char *text, uint8_t room[QUERYCOND_GLOB_MAX])
{
	const char *why = "";
	size_t n;

	assert_true(querycond_compile(slice_of_str(text), room, &n, &why));
	return slice_of(room, n);
}

static const struct {
	const char *glob, *raw;
	bool match;
} rows[] = {
	{ "", "", true },
	{ "", "x", false },
	{ "a", "a", true },
	{ "a", "A", false },
	{ "a", "%61", true },
	{ "*", "", false },
	{ "*", "abc", true },
	{ "*", "a/b", false },
	{ "*", "a%2Fb", false },
	{ "**", "", true },
	{ "**", "a/b", true },
	{ "runs/*", "runs/1", true },
	{ "runs/*", "runs/", false },
	{ "runs/**", "runs/", true },
	{ "runs/**", "runs/1/2", true },
	{ "runs/**", "run", false },
	{ "a*b", "ab", false },
	{ "a*b", "axb", true },
	{ "a*b", "axbb", true },
	{ "a**b", "ab", true },
	{ "a**b", "a/b", true },
	{ "*b*", "abc", true },
	{ "*b*", "bc", false },
	{ "**b**", "b", true },
	{ "a b", "a+b", true },
	{ "a b", "a%20b", true },
	{ "a+b", "a+b", false },
	{ "a+b", "a%2Bb", true },
	{ "%2A", "*", true },
	{ "%2A", "%2a", true },
	{ "%2A", "x", false },
	{ "**", "a%00b", false },
	{ "**", "a%0Ab", false },
	{ "caf%C3%A9", "caf%C3%A9", true },
};

static void
querycond_matches_each_glob(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint8_t room[QUERYCOND_GLOB_MAX];
		struct slice glob = compile(rows[i].glob, room);
		print_message("# %s %s\n", rows[i].glob, rows[i].raw);
		assert_int_equal(querycond_glob(glob,
				     slice_of_str(rows[i].raw)),
		    rows[i].match);
	}
}

static void
querycond_refuses_bad_globs(void **state)
{
	uint8_t room[QUERYCOND_GLOB_MAX];
	char text[300];
	const char *why = "";
	size_t n;

	(void)state;
	assert_false(querycond_compile(SLICE("%"), room, &n, &why));
	assert_false(querycond_compile(SLICE("%4"), room, &n, &why));
	assert_false(querycond_compile(SLICE("%zz"), room, &n, &why));
	assert_false(querycond_compile(SLICE("%01"), room, &n, &why));
	memset(text, 'a', sizeof(text));
	assert_true(querycond_compile(slice_of(text, 255), room, &n, &why));
	assert_false(querycond_compile(slice_of(text, 256), room, &n, &why));
}

/* A second value must not lift a deny, nor a stranger's key. */
static void
querycond_of_a_deny_looks_at_each_value(void **state)
{
	static const char policy[] =
	    "version: 1\n"
	    "policies:\n"
	    "  p:\n"
	    "    rules:\n"
	    "      - deny: https://a.test/**\n"
	    "        query: {action: [delete], safe: absent}\n"
	    "      - allow: https://a.test/**\n";
	static const struct {
		const char *url;
		bool allow;
	} cases[] = {
		{ "https://a.test/?action=delete", false },
		{ "https://a.test/?action=delete&action=x", false },
		{ "https://a.test/?action=x&action=delete", false },
		{ "https://a.test/?%61ction=delete&x=1", false },
		{ "https://a.test/?action=delete&safe=1", true },
		{ "https://a.test/?action=x", true },
		{ "https://a.test/", true },
	};
	struct bed b;

	(void)state;
	bed_load(&b, NULL, policy);
	assert_non_null(b.program);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct facts f = bed_request(b.program, "GET", cases[i].url);
		print_message("# %s\n", cases[i].url);
		assert_int_equal(policy_decide(b.program, &f).allow,
		    cases[i].allow);
	}
	bed_release(&b);
}

static void
querycond_is_bounded(void **state)
{
	static char glob[200], raw[16384];
	uint8_t room[QUERYCOND_GLOB_MAX];
	struct timespec from, to;

	(void)state;
	for (size_t i = 0; i + 2 < sizeof(glob); i++)
		glob[i] = i % 2 == 0 ? '*' : 'a';
	memset(raw, 'a', sizeof(raw) - 2);
	raw[sizeof(raw) - 2] = 'b';
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	assert_false(querycond_glob(compile(glob, room), slice_of_str(raw)));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	assert_true(to.tv_sec - from.tv_sec < 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(querycond_matches_each_glob),
		cmocka_unit_test(querycond_refuses_bad_globs),
		cmocka_unit_test(querycond_of_a_deny_looks_at_each_value),
		cmocka_unit_test(querycond_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
