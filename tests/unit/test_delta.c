/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "git/delta.h"

/* SLICE() for the table of a static object */
#define S(text)                                              \
	{                                                    \
		(const uint8_t *)("" text), sizeof(text) - 1 \
	}

static const struct {
	const char *name;
	struct slice base, delta;
	const char *want; /* NULL: it cannot be applied */
} deltas[] = {
	{ "insert", S("abc"), S("\3\2\2xy"), "xy" },
	{ "copy", S("abc"), S("\3\2\x91\1\2"), "bc" },
	{ "copy from the start", S("abc"), S("\3\2\x90\2"), "ab" },
	{ "copy and insert", S("abc"), S("\3\4\x90\3\1d"), "abcd" },
	{ "all offset bytes", S("abc"), S("\3\1\xff\1\0\0\0\1\0\0"), "b" },
	{ "sizes in more bytes than they need", S("abc"), S("\x83\0\x81\0\1x"),
	    "x" },
	{ "nothing", S("abc"), S("\x83\x80\0\0"), "" },
	{ "nothing, too short for git", S("abc"), S("\3\0"), NULL },
	{ "base of another size", S("abc"), S("\2\1\1x"), NULL },
	{ "too much", S("abc"), S("\3\1\2xy"), NULL },
	{ "too little", S("abc"), S("\3\3\2xy"), NULL },
	{ "reserved", S("abc"), S("\3\1\0\1x"), NULL },
	{ "copy behind the end", S("abc"), S("\3\2\x91\2\2"), NULL },
	{ "copy from behind it", S("abc"), S("\3\1\x91\4\1"), NULL },
	{ "copy of 64 KiB", S("abc"), S("\3\1\x80"), NULL },
	{ "insert that is cut", S("abc"), S("\3\2\2x"), NULL },
	{ "copy that is cut", S("abc"), S("\3\2\x91\1"), NULL },
	{ "no head", S("abc"), S("\3"), NULL },
	{ "size too large", S("abc"),
	    S("\3\x81\x80\x80\x80\x80\x80\x80\x80\x80\x80\0\1x"), NULL },
};

static void
delta_applies_each_case(void **state UNUSED)
{
	for (size_t i = 0; i < COUNT_OF(deltas); i++) {
		const char *want = deltas[i].want;
		size_t n = want == NULL ? 0 : strlen(want), used;
		struct delta_head head = { 0 };
		struct parse_fail fail;
		uint8_t out[8] = { 0 };

		print_message("# %s\n", deltas[i].name);
		if (want == NULL &&
		    delta_head_take(deltas[i].delta, &head, &used, &fail) ==
			PARSE_DONE)
			n = (size_t)head.size;
		assert_int_equal(delta_apply(deltas[i].base, deltas[i].delta,
				     out, n),
		    want != NULL);
		if (want != NULL)
			assert_memory_equal(out, want, n);
	}
}

static void
delta_copies_64_kib_by_a_length_of_0(void **state UNUSED)
{
	static uint8_t base[65537], out[65536];
	struct slice delta = SLICE("\x81\x80\x04\x80\x80\x04\x81\1");

	for (size_t i = 0; i < sizeof(base); i++)
		base[i] = (uint8_t)(i * 7);
	assert_true(
	    delta_apply(slice_of(base, sizeof(base)), delta, out, sizeof(out)));
	assert_memory_equal(out, base + 1, sizeof(out));
}

static void
delta_head_waits_for_both_sizes(void **state UNUSED)
{
	struct slice in =
	    SLICE("\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x85\1tail");
	struct delta_head head;
	struct parse_fail fail = { 0 };
	size_t used;

	for (size_t n = 0; n < 11; n++)
		assert_int_equal(delta_head_take(slice_first(in, n), &head,
				     &used, &fail),
		    PARSE_MORE);
	assert_int_equal(delta_head_take(in, &head, &used, &fail), PARSE_DONE);
	assert_int_equal(used, 11);
	assert_true(head.base_size == INT64_MAX);
	assert_int_equal(head.size, 133);
	in = SLICE("\x80\x80\x80\x80\x80\x80\x80\x80\x80\1");
	assert_int_equal(delta_head_take(in, &head, &used, &fail), PARSE_BAD);
	assert_string_equal(fail.detail, "size in a delta is too large");
	assert_int_equal(fail.at, 9);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(delta_applies_each_case),
		cmocka_unit_test(delta_copies_64_kib_by_a_length_of_0),
		cmocka_unit_test(delta_head_waits_for_both_sizes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
