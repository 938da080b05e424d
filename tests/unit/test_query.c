/* SPDX-License-Identifier: Apache-2.0 */
#include "row.h"
#include "wire/query.h"

static const struct {
	const char *name;
	struct slice in;
	enum parse want;
	const char *detail;
	size_t at;
} cases[] = {
	{ "empty", IN(""), PARSE_DONE, "", 0 },
	{ "pairs", IN("a=1&b=%20&c&&d=?/:@'[]"), PARSE_DONE, "", 0 },
	{ "escaped Latin-1 is no path", IN("q=%e4"), PARSE_DONE, "", 0 },
	{ "blank", IN("a b"), PARSE_BAD, "byte that must be escaped", 1 },
	{ "NUL", IN("a\0"), PARSE_BAD, "byte that must be escaped", 1 },
	{ "DEL", IN("\x7f"), PARSE_BAD, "byte that must be escaped", 0 },
	{ "high byte", IN("a=\xe4"), PARSE_BAD, "byte that must be escaped",
	    2 },
	{ "fragment", IN("a#b"), PARSE_BAD, "byte that no query has", 1 },
	{ "backslash", IN("a\\"), PARSE_BAD, "byte that no query has", 1 },
	{ "no hex", IN("a=%zz"), PARSE_BAD, "escape without two hex digits",
	    2 },
	{ "cut escape", IN("a=%4"), PARSE_BAD, "escape without two hex digits",
	    2 },
	{ "escaped NUL", IN("a=%00"), PARSE_BAD, "escaped NUL", 2 },
};

static void
query_check_judges_each_case(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct slice in = exact(cases[i].in);
		struct parse_fail fail = { .detail = "" };

		print_message("# %s\n", cases[i].name);
		assert_int_equal(query_check(in, &fail), cases[i].want);
		assert_string_equal(fail.detail, cases[i].detail);
		assert_int_equal(fail.at, cases[i].at);
		if (cases[i].want == PARSE_BAD)
			assert_int_equal(fail.reason, REASON_HTTP_PATH_INVALID);
		drop(in);
	}
}

static void
query_pairs_are_split_before_decoding(void **state)
{
	struct slice rest = SLICE("&path=/public%26path=/secret&&k&e=&=v&");
	struct query_pair p;

	(void)state;
	assert_true(query_take(&rest, &p));
	assert_slice(p.key, SLICE("path"));
	assert_slice(p.value, SLICE("/public%26path=/secret"));
	assert_true(p.has_value);
	assert_true(query_take(&rest, &p));
	assert_slice(p.key, SLICE("k"));
	assert_false(p.has_value);
	assert_int_equal(p.value.n, 0);
	assert_true(query_take(&rest, &p));
	assert_slice(p.key, SLICE("e"));
	assert_true(p.has_value);
	assert_true(query_take(&rest, &p));
	assert_int_equal(p.key.n, 0);
	assert_slice(p.value, SLICE("v"));
	assert_false(query_take(&rest, &p));
}

/* PT-31: one key in two spellings is there twice. */
static void
query_counts_a_key_in_any_spelling(void **state)
{
	struct slice q = SLICE("type=2&typ%65=3&Type=4&type%3d=5&types=6&t");

	(void)state;
	assert_int_equal(query_count(q, SLICE("type")), 2);
	assert_int_equal(query_count(q, SLICE("type=")), 1);
	assert_int_equal(query_count(q, SLICE("absent")), 0);
}

static void
query_compares_decoded(void **state)
{
	(void)state;
	assert_true(query_eq(SLICE("a+b"), SLICE("%61%20b")));
	assert_false(query_eq(SLICE("a+b"), SLICE("a%2Bb")));
	assert_false(query_eq(SLICE("a"), SLICE("ab")));
	assert_true(query_is(SLICE("a+b"), SLICE("a b")));
	assert_false(query_is(SLICE("a+b"), SLICE("a b ")));
	assert_false(query_is(SLICE("a+bc"), SLICE("a b")));
	assert_true(query_is(SLICE("100%"), SLICE("100%")));
}

static void
query_knows_the_one_spelling(void **state)
{
	(void)state;
	assert_true(query_is_canonical(SLICE("a-b_c.d~1%5B%2F")));
	assert_false(query_is_canonical(SLICE("%61")));
	assert_false(query_is_canonical(SLICE("%5b")));
	assert_false(query_is_canonical(SLICE("%B5%b5")));
	assert_false(query_is_canonical(SLICE("a+b")));
	assert_false(query_is_canonical(SLICE("a[")));
}

static void
query_put_escapes_all_but_unreserved(void **state)
{
	(void)state;
	uint8_t room[256];
	struct wr w = wr_of(room, sizeof(room));
	struct slice odd = IN("aZ09-._~ +&=#%\x7f\xff/?");

	query_put(&w, SLICE("k&"), odd);
	assert_true(slice_eq_str(wr_slice(&w),
	    "k%26=aZ09-._~%20%2B%26%3D%23%25%7F%FF%2F%3F"));
	assert_int_equal(query_put_size(SLICE("k&"), odd), w.n);
	/* Read again it is what it was. */
	struct slice rest = wr_slice(&w);
	struct query_pair pair;
	assert_true(query_take(&rest, &pair));
	assert_true(query_is(pair.key, SLICE("k&")));
	assert_true(query_is(pair.value, odd));
	assert_true(query_is_fold(pair.key, SLICE("K&")));
	assert_false(query_is_fold(pair.key, SLICE("K")));
	assert_false(query_is_fold(pair.key, SLICE("K&x")));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(query_check_judges_each_case),
		cmocka_unit_test(query_pairs_are_split_before_decoding),
		cmocka_unit_test(query_counts_a_key_in_any_spelling),
		cmocka_unit_test(query_compares_decoded),
		cmocka_unit_test(query_knows_the_one_spelling),
		cmocka_unit_test(query_put_escapes_all_but_unreserved),
	};

	return cmocka_run_group_tests_name("query", tests, NULL, NULL);
}
