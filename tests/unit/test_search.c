/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "cred/search.h"

static struct search *
make(const char *const *patterns, size_t n)
{
	struct search *s = search_new(n, 4096);

	assert_non_null(s);
	for (size_t i = 0; i < n; i++)
		assert_true(search_add(s, slice_of_str(patterns[i])));
	search_finish(s);
	return s;
}

static const char *const patterns[] = { "abcdefgh", "abcdefghij", "bcdefghx",
	"needle-in-the-hay" };

static const struct {
	const char *name, *window;
	size_t from;
	bool last;
	enum search_result result;
	size_t at, n;
} rows[] = {
	{ "nothing", "zzzzzzzzzzzzzzzzzzzzz", 0, false, SEARCH_NONE, 0, 0 },
	{ "empty", "", 0, false, SEARCH_NONE, 0, 0 },
	{ "at the start", "abcdefgh.....", 0, false, SEARCH_HIT, 0, 8 },
	{ "the longest", "..abcdefghij..", 0, false, SEARCH_HIT, 2, 10 },
	{ "at the end, last", "..abcdefgh", 0, true, SEARCH_HIT, 2, 8 },
	{ "at the end, may grow", "..abcdefgh", 0, false, SEARCH_HOLD, 2, 0 },
	{ "cannot grow", "..abcdefghx", 0, false, SEARCH_HIT, 2, 8 },
	{ "from behind", "abcdefgh..needle-in-the-hay", 1, false, SEARCH_HIT,
	    10, 17 },
	{ "a beginning", "....needle", 0, false, SEARCH_HOLD, 4, 0 },
	{ "a beginning, last", "....needle", 0, true, SEARCH_NONE, 0, 0 },
	{ "one byte of it", ".........n", 0, false, SEARCH_HOLD, 9, 0 },
	{ "only a byte", "n", 0, false, SEARCH_HOLD, 0, 0 },
	{ "the earlier beginning", "..needle-in-abc", 0, false, SEARCH_HOLD, 12,
	    0 },
};

static void
search_answers_each_window(void **state)
{
	(void)state;
	struct search *s = make(patterns, COUNT_OF(patterns));

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct search_hit hit = { 0 };
		print_message("# %s\n", rows[i].name);
		assert_int_equal(search_next(s, slice_of_str(rows[i].window),
				     rows[i].from, rows[i].last, &hit),
		    rows[i].result);
		if (rows[i].result != SEARCH_NONE)
			assert_int_equal(hit.at, rows[i].at);
		if (rows[i].result == SEARCH_HIT)
			assert_int_equal(hit.n, rows[i].n);
	}
	search_free(s);
}

static void
search_without_patterns_finds_nothing(void **state)
{
	(void)state;
	struct search *s = search_new(2, 100);
	struct search_hit hit;

	assert_true(search_add(s, SLICE("short")));
	search_finish(s);
	assert_true(search_is_empty(s));
	assert_int_equal(search_next(s, SLICE("short"), 0, false, &hit),
	    SEARCH_NONE);
	search_free(s);
	search_free(NULL);
}

static void
search_keeps_to_its_room(void **state)
{
	(void)state;
	struct search *s = search_new(2, 20);

	assert_true(search_add(s, SLICE("0123456789")));
	assert_true(search_add(s, SLICE("0123456789"))); /* the same */
	assert_false(search_add(s, SLICE("0123456789a")));
	assert_true(search_add(s, SLICE("9876543210")));
	assert_false(search_add(s, SLICE("abcdefgh")));
	search_free(s);
}

/* The longest of the patterns that `text` begins with, in bytes; 0: none. */
static size_t
longest_at(struct slice text, const struct slice *p, size_t n_patterns)
{
	size_t n = 0;

	for (size_t i = 0; i < n_patterns; i++)
		if (p[i].n > n && slice_has_prefix(text, p[i]))
			n = p[i].n;
	return n;
}

/* Random texts over a small alphabet, against a search without any wit. */
static void
search_agrees_with_a_plain_one(void **state)
{
	(void)state;
	uint32_t seed = 1;

	for (int round = 0; round < 3000; round++) {
		uint8_t text[120];
		struct slice p[3];
		struct search *s = search_new(3, 200);
		for (size_t i = 0; i < sizeof(text); i++) {
			seed = seed * 1103515245 + 12345;
			text[i] = (uint8_t)('a' + (seed >> 16) % 2);
		}
		for (size_t i = 0; i < 3; i++) {
			seed = seed * 1103515245 + 12345;
			p[i] = slice_of(text + (seed >> 16) % 100,
			    8 + (seed >> 24) % 12);
			assert_true(search_add(s, p[i]));
		}
		search_finish(s);
		struct slice window = slice_of(text, 90);
		struct search_hit hit = { 0 };
		size_t at = 0, n = 0;
		for (; at < window.n && n == 0; at++)
			n = longest_at(slice_from(window, at), p, COUNT_OF(p));
		assert_int_equal(search_next(s, window, 0, true, &hit),
		    n == 0 ? SEARCH_NONE : SEARCH_HIT);
		if (n != 0) {
			assert_int_equal(hit.at, at - 1);
			assert_int_equal(hit.n, n);
		}
		search_free(s);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(search_answers_each_window),
		cmocka_unit_test(search_without_patterns_finds_nothing),
		cmocka_unit_test(search_keeps_to_its_room),
		cmocka_unit_test(search_agrees_with_a_plain_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
