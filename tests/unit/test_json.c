/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* With ours in one file: no name is in both. */
#include <jansson.h>

#include "base/json.h"

static const struct {
	const char *name;
	struct slice in;
	const char *want;
} cases[] = {
	{ "plain", { (const uint8_t *)"abc", 3 }, "\"abc\"" },
	{ "quote and backslash", { (const uint8_t *)"a\"\\", 3 },
	    "\"a\\\"\\\\\"" },
	{ "line ends", { (const uint8_t *)"\r\n\t", 3 }, "\"\\r\\n\\t\"" },
	{ "NUL, ESC, DEL", { (const uint8_t *)"\0\x1b\x7f", 3 },
	    "\"\\u0000\\u001b\\u007f\"" },
	{ "valid UTF-8", { (const uint8_t *)"\xc3\xa4", 2 }, "\"\xc3\xa4\"" },
	{ "cut UTF-8", { (const uint8_t *)"\xc3", 1 }, "\"\\u00c3\"" },
	{ "overlong", { (const uint8_t *)"\xc0\xaf", 2 },
	    "\"\\u00c0\\u00af\"" },
	{ "surrogate", { (const uint8_t *)"\xed\xa0\x80", 3 },
	    "\"\\u00ed\\u00a0\\u0080\"" },
	{ "C1 control", { (const uint8_t *)"\xc2\x9b", 2 },
	    "\"\\u00c2\\u009b\"" },
	{ "line separator", { (const uint8_t *)"\xe2\x80\xa8", 3 },
	    "\"\\u00e2\\u0080\\u00a8\"" },
	{ "right to left", { (const uint8_t *)"\xe2\x80\xae", 3 },
	    "\"\\u00e2\\u0080\\u00ae\"" },
	{ "four bytes", { (const uint8_t *)"\xf0\x9f\x99\x82", 4 },
	    "\"\xf0\x9f\x99\x82\"" },
};

static void
json_text_is_one_printable_line(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct buf b;
		struct json j;
		print_message("# %s\n", cases[i].name);
		buf_init(&b, 256);
		json_init(&j, &b);
		json_text(&j, cases[i].in);
		assert_string_equal(buf_text(&b), cases[i].want);
		buf_release(&b);
	}
}

static void
json_places_the_commas(void **state)
{
	struct buf b;
	struct json j;

	(void)state;
	buf_init(&b, 256);
	json_init(&j, &b);
	json_object_begin(&j);
	json_key_number(&j, "a", 1);
	json_key(&j, "b");
	json_array_begin(&j);
	json_bool(&j, true);
	json_none(&j);
	json_object_begin(&j);
	json_object_end(&j);
	json_array_end(&j);
	json_key_str(&j, "c", "d");
	json_object_end(&j);
	assert_string_equal(buf_text(&b),
	    "{\"a\":1,\"b\":[true,null,{}],\"c\":\"d\"}");
	json_t *read = json_loadb((const char *)b.p, b.n, 0, NULL);
	assert_non_null(read);
	assert_int_equal(json_object_size(read), 3);
	assert_true(
	    json_is_null(json_array_get(json_object_get(read, "b"), 1)));
	json_decref(read);
	buf_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(json_text_is_one_printable_line),
		cmocka_unit_test(json_places_the_commas),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
