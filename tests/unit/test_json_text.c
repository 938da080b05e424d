/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "certs/json_text.h"

static void
json_text_is_whole_or_it_is_not(void **state)
{
	(void)state;
	static const char *const whole[] = { "{}", " [] ", "null", "-1.5e+3",
		"\"\"", "\"a\\\"b\\\\\"", "[1, 2 ,[3]]",
		"{\"a\":{\"b\":[true,false]} , \"c\":\"}\"}" };
	static const char *const not_whole[] = { "", " ", "{", "[1,]", "[1 2]",
		"{\"a\"}", "{\"a\":}", "{\"a\":1,}", "{a:1}", "\"", "\"\\\"",
		"\"\n\"", "[}", "{]", "{} {}", "truefalse", "// c\n{}", "nul" };

	for (size_t i = 0; i < COUNT_OF(whole); i++) {
		print_message("# %s\n", whole[i]);
		assert_true(json_text_is_whole(slice_of_str(whole[i])));
	}
	for (size_t i = 0; i < COUNT_OF(not_whole); i++)
		assert_false(json_text_is_whole(slice_of_str(not_whole[i])));
}

static void
json_text_has_a_deepest_level(void **state)
{
	(void)state;
	char text[200];

	memset(text, '[', 100);
	memset(text + 100, ']', 100);
	assert_true(json_text_is_whole(slice_of(text + 68, 64)));
	assert_false(json_text_is_whole(slice_of(text + 67, 66)));
	assert_false(json_text_is_whole(slice_of(text, 100)));
}

static void
json_text_finds_a_member(void **state)
{
	(void)state;
	struct slice text = SLICE(
	    "{ \"ab\":1, \"a\" : [ {\"a\":9} ] ,\"b\\u0061\":3, \"x\":\"a\"}");
	struct slice value;

	assert_true(json_text_member(text, "a", &value));
	assert_true(slice_eq_str(value, "[ {\"a\":9} ]"));
	assert_true(json_text_member(text, "ab", &value));
	assert_true(slice_eq_str(value, "1"));
	assert_false(json_text_member(text, "ba", &value));
	assert_false(json_text_member(text, "", &value));
	assert_false(json_text_member(SLICE("{}"), "a", &value));
	assert_false(json_text_member(SLICE("[\"a\"]"), "a", &value));
	assert_true(json_text_member(SLICE("{\"a\":1,\"a\":2}"), "a", &value));
	assert_true(slice_eq_str(value, "2"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_text_is_whole_or_it_is_not),
		cmocka_unit_test(json_text_has_a_deepest_level),
		cmocka_unit_test(json_text_finds_a_member),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
