/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "audit/escape.h"

static void
put(struct buf *b, struct slice text)
{
	buf_clear(b);
	escape_put(b, text);
}

/* LG-01: whatever the byte, printable ASCII comes out and the byte back. */
static void
escape_brings_every_byte_back(void **state UNUSED)
{
	struct buf b;
	uint8_t text[3], back[64];
	size_t n;

	buf_init(&b, 1024);
	for (unsigned c = 0; c < 65536; c++) {
		text[0] = 'a';
		text[1] = (uint8_t)(c >> 8);
		text[2] = (uint8_t)c;
		put(&b, slice_of(text, 3));
		for (size_t i = 0; i < b.n; i++)
			assert_true(b.p[i] >= 0x20 && b.p[i] < 0x7f);
		buf_put_byte(&b, '"');
		struct slice in = buf_slice(&b);
		assert_true(escape_take(&in, back, &n));
		assert_int_equal(in.n, 0);
		assert_true(slice_eq(slice_of(back, n), slice_of(text, 3)));
	}
	buf_release(&b);
}

static void
escape_writes_what_the_header_says(void **state UNUSED)
{
	const struct {
		const char *name;
		struct slice text;
		const char *want;
	} rows[] = {
		{ "plain", SLICE("a/b?c=~"), "a/b?c=~" },
		{ "quote, backslash", SLICE("\"\\"), "\\\"\\\\" },
		{ "controls", SLICE("\r\n\0\x1b\x7f"),
		    "\\u000d\\u000a\\u0000\\u001b\\u007f" },
		{ "two bytes", SLICE("\xc3\xbc"), "\\u00fc" },
		{ "three bytes", SLICE("\xe2\x82\xac"), "\\u20ac" },
		{ "four bytes", SLICE("\xf0\x9f\x98\x80"), "\\ud83d\\ude00" },
		{ "no UTF-8", SLICE("\xff\xc3"), "\\uefff\\uefc3" },
		{ "overlong", SLICE("\xc0\x80"), "\\uefc0\\uef80" },
		{ "surrogate", SLICE("\xed\xa0\x80"), "\\uefed\\uefa0\\uef80" },
		{ "above the last", SLICE("\xf4\x90\x80\x80"),
		    "\\ueff4\\uef90\\uef80\\uef80" },
		{ "of our own area", SLICE("\xee\xbe\x80"),
		    "\\uefee\\uefbe\\uef80" },
	};
	struct buf b;

	buf_init(&b, 1024);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		print_message("# %s\n", rows[i].name);
		put(&b, rows[i].text);
		assert_string_equal(buf_text(&b), rows[i].want);
	}
	buf_release(&b);
}

static void
escape_take_refuses_what_is_no_text(void **state UNUSED)
{
	const struct slice rows[] = {
		SLICE(""),
		SLICE("no end"),
		SLICE("a\nb\""),
		SLICE("\xc3\xbc\""),
		SLICE("\\n\""),
		SLICE("\\"),
		SLICE("\\u12\""),
		SLICE("\\u00g0\""),
		SLICE("\\ud83d\""),
		SLICE("\\ude00\""),
		SLICE("\\ud83dx\""),
		SLICE("\\ud83d\\u0041\""),
	};
	uint8_t out[64];
	size_t n;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct slice in = rows[i];
		assert_false(escape_take(&in, out, &n));
	}
}

/* LG-05 */
static void
escape_show_lets_no_control_reach_a_terminal(void **state UNUSED)
{
	struct buf b;

	buf_init(&b, 1024);
	escape_show(&b,
	    SLICE("a\x1b[2J\n\xc2\x9b\xe2\x80\xae\xc3\xbc\xff\x7f"));
	assert_string_equal(buf_text(&b),
	    "a\\x1b[2J\\x0a\\xc2\\x9b\\xe2\\x80\\xae\xc3\xbc\\xff\\x7f");
	buf_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(escape_brings_every_byte_back),
		cmocka_unit_test(escape_writes_what_the_header_says),
		cmocka_unit_test(escape_take_refuses_what_is_no_text),
		cmocka_unit_test(escape_show_lets_no_control_reach_a_terminal),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
