/* SPDX-License-Identifier: Apache-2.0 */
#include "row.h"
#include "wire/urlpath.h"

static const struct {
	const char *name;
	struct slice in, want;
	bool slash, dots;
} good[] = {
	{ "root", IN("/"), IN("/") },
	{ "plain", IN("/a/b.c"), IN("/a/b.c") },
	{ "trailing slash", IN("/a/"), IN("/a/") },
	{ "dots in a name", IN("/a../.b/..c/.../a.b"),
	    IN("/a../.b/..c/.../a.b") },
	{ "unreserved decoded", IN("/%61dmin/%2D%7e%5f%30"),
	    IN("/admin/-~_0") },
	{ "hex in upper case", IN("/%c3%84rzte%3a"), IN("/%C3%84rzte%3A") },
	{ "PT-11 UTF-8", IN("/wiki/%C3%84rzte"), IN("/wiki/%C3%84rzte") },
	{ "UTF-8 of three and four bytes",
	    IN("/%E0%A0%80%ED%9F%BF%EF%BF%BF%F0%90%80%80%F4%8F%BF%BF"),
	    IN("/%E0%A0%80%ED%9F%BF%EF%BF%BF%F0%90%80%80%F4%8F%BF%BF") },
	{ "PT-03 double", IN("/public/%252e%252e/secret"),
	    IN("/public/%252e%252e/secret") },
	{ "PT-04 slash", IN("/public%2fx"), IN("/public%2Fx"), .slash = true },
	{ "PT-04 dots beside a slash", IN("/public%2f..%2Fsecret"),
	    IN("/public%2F..%2Fsecret"), .slash = true, .dots = true },
	{ "dots before a slash", IN("/a/%2e%2Fb"), IN("/a/.%2Fb"),
	    .slash = true, .dots = true },
	{ "dots behind a slash", IN("/a%2f..;x/b"), IN("/a%2F..;x/b"),
	    .slash = true, .dots = true },
	{ "dots at the end behind a slash", IN("/a/b%2F.."), IN("/a/b%2F.."),
	    .slash = true, .dots = true },
	{ "PT-05 scope", IN("/@scope%2Fname"), IN("/@scope%2Fname"),
	    .slash = true },
	{ "PT-09 parameters", IN("/a;b=c/;/d"), IN("/a;b=c/;/d") },
	{ "three dots and parameters", IN("/...;/a"), IN("/...;/a") },
	{ "PT-30 sub-delimiters stay", IN("/%21burnt%21x/%40v/a%3Ab%2Bc"),
	    IN("/%21burnt%21x/%40v/a%3Ab%2Bc") },
	{ "escaped blank", IN("/a%20b"), IN("/a%20b") },
	{ "escaped question mark, fence, percent", IN("/%3f%23%25"),
	    IN("/%3F%23%25") },
	{ "a glob", IN("/repos/*/**"), IN("/repos/*/**") },
};

static void
urlpath_takes_each_good_path(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(good); i++) {
		struct slice in = exact(good[i].in);
		uint8_t *out = malloc(in.n);
		struct parse_fail fail = { .detail = "" };
		struct urlpath p, again;

		print_message("# %s\n", good[i].name);
		assert_int_equal(urlpath_canon(in, in.n, out, &p, &fail),
		    PARSE_DONE);
		assert_slice(p.text, good[i].want);
		assert_int_equal(p.has_encoded_slash, good[i].slash);
		assert_int_equal(p.has_encoded_dots, good[i].dots);

		struct slice first = exact(p.text);
		assert_int_equal(urlpath_canon(first, in.n, out, &again, &fail),
		    PARSE_DONE);
		assert_slice(again.text, first);
		drop(first);
		drop(in);
		free(out);
	}
}

static const struct {
	const char *name;
	struct slice in;
	const char *detail;
	size_t at;
} bad[] = {
	{ "empty", IN(""), "path does not begin with a slash", 0 },
	{ "no slash", IN("x"), "path does not begin with a slash", 0 },
	{ "PT-01 dots", IN("/public/../secret"), "dot segment", 8 },
	{ "PT-01 dot and dots", IN("/public/./../secret"), "dot segment", 8 },
	{ "PT-01 dots at the end", IN("/public/.."), "dot segment", 8 },
	{ "one dot at the end", IN("/."), "dot segment", 1 },
	{ "PT-02 escaped dots", IN("/public/%2e%2e/secret"), "dot segment", 8 },
	{ "PT-02 upper case", IN("/public/%2E%2E/secret"), "dot segment", 8 },
	{ "mixed", IN("/public/.%2e/secret"), "dot segment", 8 },
	{ "PT-04 dots with a slash elsewhere", IN("/public%2Fx/%2e%2e/secret"),
	    "dot segment", 12 },
	{ "PT-04 escaped backslash", IN("/public%5c..%5csecret"), "backslash",
	    7 },
	{ "PT-06 backslash", IN("/public\\..\\secret"), "backslash", 7 },
	{ "PT-07 empty segment", IN("/public//../secret"), "empty segment", 8 },
	{ "PT-07 two slashes", IN("//secret"), "empty segment", 1 },
	{ "PT-07 inside", IN("/public//x"), "empty segment", 8 },
	{ "PT-07 three slashes", IN("///"), "empty segment", 1 },
	{ "two slashes alone", IN("//"), "empty segment", 1 },
	{ "two slashes at the end", IN("/a//"), "empty segment", 3 },
	{ "PT-08 authority", IN("//evil.test/x"), "empty segment", 1 },
	{ "PT-09 parameters", IN("/public/..;/secret"), "dot segment", 8 },
	{ "PT-09 one with a value", IN("/public/..;x=1/secret"), "dot segment",
	    8 },
	{ "one dot with parameters", IN("/a/.;/b"), "dot segment", 3 },
	{ "escaped parameters", IN("/a/%2e.%3bx/b"), "dot segment", 3 },
	{ "PT-10 escaped NUL", IN("/secret%00"), "control", 7 },
	{ "PT-10 NUL", IN("/secret\0x"), "control", 7 },
	{ "tab", IN("/a\tb"), "control", 2 },
	{ "escaped DEL", IN("/a%7F"), "control", 2 },
	{ "escaped LF", IN("/a%0a"), "control", 2 },
	{ "blank", IN("/a b"), "byte that must be escaped", 2 },
	{ "PT-11 high byte", IN("/\xc3\x84"), "byte that must be escaped", 1 },
	{ "PT-11 percent at the end", IN("/%"), "escape without two hex digits",
	    1 },
	{ "percent and one digit", IN("/%4"), "escape without two hex digits",
	    1 },
	{ "PT-11 no hex", IN("/%zz"), "escape without two hex digits", 1 },
	{ "no hex behind hex", IN("/%4g"), "escape without two hex digits", 1 },
	{ "PT-11 0xff", IN("/%ff"), "escapes are not UTF-8", 1 },
	{ "PT-11 overlong", IN("/%c0%af"), "escapes are not UTF-8", 1 },
	{ "PT-11 surrogate", IN("/%ed%a0%80"), "escapes are not UTF-8", 4 },
	{ "overlong of three", IN("/%e0%9f%80"), "escapes are not UTF-8", 4 },
	{ "overlong of four", IN("/%f0%8f%80%80"), "escapes are not UTF-8", 4 },
	{ "above U+10FFFF", IN("/%f4%90%80%80"), "escapes are not UTF-8", 4 },
	{ "a continuation first", IN("/%80"), "escapes are not UTF-8", 1 },
	{ "a letter inside", IN("/%c3x%84"), "escapes are not UTF-8", 4 },
	{ "a slash inside", IN("/%c3/"), "escapes are not UTF-8", 4 },
	{ "cut", IN("/%e2%82"), "escapes are not UTF-8", 7 },
	{ "PT-12 fragment", IN("/index#.png"), "end of a path inside of it",
	    6 },
	{ "query", IN("/a?b"), "end of a path inside of it", 2 },
};

static void
urlpath_refuses_each_bad_path(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct slice in = exact(bad[i].in);
		uint8_t out[64];
		struct parse_fail fail = { .detail = "" };
		struct urlpath p;

		print_message("# %s\n", bad[i].name);
		assert_int_equal(urlpath_canon(in, 64, out, &p, &fail),
		    PARSE_BAD);
		assert_string_equal(fail.detail, bad[i].detail);
		assert_int_equal(fail.at, bad[i].at);
		assert_int_equal(fail.reason, REASON_HTTP_PATH_INVALID);
		drop(in);
	}
}

/* PT-24: the limit from both sides, and many segments. */
static void
urlpath_has_a_limit(void **state)
{
	struct slice in = repeat(SLICE("/"), 'a', 8191);
	uint8_t *out = malloc(200000);
	struct parse_fail fail;
	struct urlpath p;

	(void)state;
	assert_int_equal(urlpath_canon(in, 8192, out, &p, &fail), PARSE_DONE);
	assert_int_equal(urlpath_canon(in, 8191, out, &p, &fail), PARSE_BAD);
	assert_int_equal(fail.reason, REASON_LIMIT_BYTES);
	assert_string_equal(fail.detail, URLPATH_TOO_LONG);
	assert_int_equal(fail.at, 8191);
	drop(in);

	in = repeat(SLICE("/"), '.', 100000);
	assert_int_equal(urlpath_canon(in, 200000, out, &p, &fail), PARSE_DONE);
	drop(in);
	free(out);
}

/* PT-11: every byte, plain and escaped. */
static void
urlpath_judges_every_byte(void **state)
{
	(void)state;
	for (unsigned c = 0; c < 256; c++) {
		uint8_t plain[] = "/a?b", escaped[8], out[8];
		struct parse_fail fail;
		struct urlpath p;

		plain[2] = (uint8_t)c;
		bool want = c > ' ' && c < 0x7f && c != '\\' && c != '#' &&
		    c != '?' && c != '%';
		assert_int_equal(urlpath_canon(slice_of(plain, 4), 8, out, &p,
				     &fail),
		    want ? PARSE_DONE : PARSE_BAD);

		snprintf((char *)escaped, sizeof(escaped), "/a%%%02xb", c);
		want = c >= ' ' && c < 0x7f && c != '\\';
		assert_int_equal(urlpath_canon(slice_of(escaped, 6), 8, out, &p,
				     &fail),
		    want ? PARSE_DONE : PARSE_BAD);
	}
}

/* PT-30: both spellings of a sub-delimiter are one character, %2F is not /. */
static void
urlpath_chars_are_equal_in_both_spellings(void **state)
{
	struct slice a = SLICE("/!x@%2F%25"), b = SLICE("/%21x%40");

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(urlpath_take_char(&a), urlpath_take_char(&b));
	assert_int_equal(urlpath_take_char(&b), -1);
	assert_int_equal(urlpath_take_char(&a), URLPATH_ENCODED_SLASH);
	assert_int_equal(urlpath_take_char(&a), '%');
	assert_int_equal(urlpath_take_char(&a), -1);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(urlpath_takes_each_good_path),
		cmocka_unit_test(urlpath_refuses_each_bad_path),
		cmocka_unit_test(urlpath_has_a_limit),
		cmocka_unit_test(urlpath_judges_every_byte),
		cmocka_unit_test(urlpath_chars_are_equal_in_both_spellings),
	};

	return cmocka_run_group_tests_name("urlpath", tests, NULL, NULL);
}
