/* SPDX-License-Identifier: Apache-2.0 */
#include "row.h"
#include "wire/pktline.h"

static const struct {
	const char *name;
	struct slice in;
	enum parse want;
	enum pktline_kind kind;
	size_t used;
	const char *detail;
	size_t at;
} cases[] = {
	{ "flush", IN("0000"), PARSE_DONE, PKTLINE_FLUSH, 4, "", 0 },
	{ "delimiter", IN("0001x"), PARSE_DONE, PKTLINE_DELIM, 4, "", 0 },
	{ "response end", IN("0002"), PARSE_DONE, PKTLINE_RESPONSE_END, 4, "",
	    0 },
	{ "reserved", IN("0003"), PARSE_BAD, 0, 0, "reserved length", 0 },
	{ "empty data", IN("0004"), PARSE_DONE, PKTLINE_DATA, 4, "", 0 },
	{ "one byte", IN("0005a0000"), PARSE_DONE, PKTLINE_DATA, 5, "", 0 },
	{ "GT-52 upper case", IN("000Aabcdef"), PARSE_DONE, PKTLINE_DATA, 10,
	    "", 0 },
	{ "NUL in the payload", IN("0007a\0b"), PARSE_DONE, PKTLINE_DATA, 7, "",
	    0 },
	{ "half a length", IN("00"), PARSE_MORE, 0, 0, "", 0 },
	{ "nothing", IN(""), PARSE_MORE, 0, 0, "", 0 },
	{ "half a payload", IN("0006a"), PARSE_MORE, 0, 0, "", 0 },
	{ "bad at once", IN("0g"), PARSE_BAD, 0, 0, "length is not hex", 1 },
	{ "a sign", IN("+0a0"), PARSE_BAD, 0, 0, "length is not hex", 0 },
	{ "a blank", IN("00 4"), PARSE_BAD, 0, 0, "length is not hex", 2 },
	{ "the longest", IN("fff0"), PARSE_MORE, 0, 0, "", 0 },
	{ "too long", IN("fff1"), PARSE_BAD, 0, 0, "length over the limit", 0 },
	{ "GT-47 ffff", IN("ffff"), PARSE_BAD, 0, 0, "length over the limit",
	    0 },
};

static void
pktline_takes_each_case(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct slice in = exact(cases[i].in);
		struct pktline line = { 0 };
		struct parse_fail fail = { .detail = "" };
		size_t used = 0;

		print_message("# %s\n", cases[i].name);
		assert_int_equal(pktline_take(in, &line, &used, &fail),
		    cases[i].want);
		assert_int_equal(line.kind, cases[i].kind);
		assert_int_equal(used, cases[i].used);
		assert_string_equal(fail.detail, cases[i].detail);
		assert_int_equal(fail.at, cases[i].at);
		if (used > PKTLINE_HEAD)
			assert_slice(line.data,
			    slice_from(slice_first(in, used), PKTLINE_HEAD));
		drop(in);
	}
}

static void
pktline_prefix_is_never_worse(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		for (size_t n = 0; n < cases[i].in.n; n++) {
			struct slice in = exact(slice_first(cases[i].in, n));
			struct parse_fail fail;
			struct pktline line;
			size_t used;
			enum parse got = pktline_take(in, &line, &used, &fail);
			if (cases[i].want == PARSE_BAD)
				assert_int_not_equal(got, PARSE_DONE);
			else if (n < cases[i].used || cases[i].used == 0)
				assert_int_equal(got, PARSE_MORE);
			drop(in);
		}
}

static void
pktline_of_the_largest_size_is_taken(void **state)
{
	struct slice in = repeat(SLICE("fff0"), 'x', PKTLINE_MAX - 4);
	struct parse_fail fail;
	struct pktline line;
	size_t used;

	(void)state;
	assert_int_equal(pktline_take(slice_first(in, in.n - 1), &line, &used,
			     &fail),
	    PARSE_MORE);
	assert_int_equal(pktline_take(in, &line, &used, &fail), PARSE_DONE);
	assert_int_equal(used, PKTLINE_MAX);
	assert_int_equal(line.data.n, PKTLINE_MAX - PKTLINE_HEAD);
	drop(in);
}

static void
pktline_head_is_read_back(void **state)
{
	static uint8_t bytes[PKTLINE_MAX];
	struct parse_fail fail;
	struct pktline line;
	size_t used;

	(void)state;
	for (size_t n = 0; n <= PKTLINE_MAX - PKTLINE_HEAD; n++) {
		pktline_head(n, bytes);
		assert_int_equal(pktline_take(slice_of(bytes, sizeof(bytes)),
				     &line, &used, &fail),
		    PARSE_DONE);
		assert_int_equal(line.kind, PKTLINE_DATA);
		assert_int_equal(line.data.n, n);
	}
	pktline_head(6, bytes);
	assert_slice(slice_of(bytes, 4), SLICE("000a"));
}

static void
pktline_chomps_one_lf(void **state)
{
	(void)state;
	assert_slice(pktline_chomp(SLICE("")), SLICE(""));
	assert_slice(pktline_chomp(SLICE("\n")), SLICE(""));
	assert_slice(pktline_chomp(SLICE("a")), SLICE("a"));
	assert_slice(pktline_chomp(SLICE("a\n\n")), SLICE("a\n"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pktline_takes_each_case),
		cmocka_unit_test(pktline_prefix_is_never_worse),
		cmocka_unit_test(pktline_of_the_largest_size_is_taken),
		cmocka_unit_test(pktline_head_is_read_back),
		cmocka_unit_test(pktline_chomps_one_lf),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
