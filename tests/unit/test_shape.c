/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/attr.h"
#include "policy/pathglob.h"
#include "policy/shape.h"

#define FRONT(i) ((i)*SHAPE_PART_INDEX | 1)
#define BACK(i) ((i)*SHAPE_PART_INDEX | SHAPE_PART_BACK | 1)
#define END SHAPE_PART_END

static const struct {
	const char *pattern;
	uint32_t front, back, part, part_n;
} rows[] = {
	{ "/", 1, 0, 0, 0 },
	{ "/a", 1, 0, 0, 0 },
	{ "/a/b/c", 7, 0, 0, 0 },
	{ "/a/b/", 7, 0, 0, 0 }, /* the last one is empty */
	{ "/**", 0, 0, 0, 0 },
	{ "/a/**", 1, 0, 0, 0 },
	{ "/*/b", 2, 0, 0, 0 },
	{ "/*/b/*/d", 10, 0, 0, 0 },
	{ "/**/b", 0, 1, 0, 0 },
	{ "/a/**/b/c", 1, 3, 0, 0 },
	{ "/a/**/m/**/b", 1, 1, 0, 0 },
	{ "/**/m/**", 0, 0, 0, 0 },
	{ "/v*", 0, 0, FRONT(0), 1 },
	{ "/a/v1-*", 1, 0, FRONT(1), 3 },
	{ "/*.json", 0, 0, FRONT(0) | END, 5 },
	{ "/a*bc", 0, 0, FRONT(0) | END, 2 },
	{ "/**/x/v1*", 0, 2, BACK(0), 2 },
	{ "/*a/b*", 0, 0, FRONT(0) | END, 1 }, /* the first alone */
	{ "/0/1/2/3/4/5/6/7/8/9/a/b/c/d/e/f/g", 0xffff, 0, 0, 0 },
	{ "/**/0/1/2/3/4/5/6/7/8", 0, 0xff, 0, 0 },
};

static struct slice
compile(const char *text, uint8_t *out)
{
	const char *why;
	size_t n;

	assert_true(pathglob_compile(slice_of_str(text), out, &n, &why));
	return slice_of(out, n);
}

static void
shape_is_what_stands_still(void **state)
{
	uint8_t out[128];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct shape s = shape_of(compile(rows[i].pattern, out), false);
		print_message("# %s\n", rows[i].pattern);
		assert_int_equal(s.kind, SHAPE_PLACES);
		assert_int_equal(s.front, rows[i].front);
		assert_int_equal(s.back, rows[i].back);
		assert_int_equal(s.part, rows[i].part);
		assert_int_equal(s.part_n, rows[i].part_n);
	}
	assert_int_equal(shape_of(compile("/a", out), true).kind, SHAPE_GIT);
}

/* Some text of few segments and letters, so that patterns match. */
static struct slice
random_text(uint64_t *random, const char *const *segments, size_t n, char *out,
    size_t size)
{
	size_t at = 0;

	*random = *random * 6364136223846793005U + 1442695040888963407U;
	uint64_t bits = *random >> 16;
	for (unsigned i = 0; i <= bits % 4; i++)
		at += (size_t)snprintf(out + at, size - at, "/%s",
		    segments[(bits >> (8 + 8 * i)) % n]);
	return slice_of(out, at);
}

/*
 * Whatever matches has the hash of the pattern, in every shape that the pattern
 * can hang under: this is what a look-up rests on.
 */
static void
shape_hashes_what_matches_alike(void **state)
{
	static const char *const globs[] = { "a", "b", "ab", "", "*", "**",
		"a*", "*b", "a*b", "**", "*" };
	static const char *const segments[] = { "a", "b", "ab", "aab", "abb",
		"", "ba" };
	char text[64], path[64];
	uint64_t random = 1;
	unsigned matched = 0;
	uint8_t out[64];

	(void)state;
	for (unsigned i = 0; i < 200000; i++) {
		struct slice t = random_text(&random, globs, COUNT_OF(globs),
		    text, sizeof(text));
		struct slice have = random_text(&random, segments,
		    COUNT_OF(segments), path, sizeof(path));
		struct shape_cut p, c;
		uint32_t one, two;
		(void)t;
		struct slice pattern = compile(text, out);
		if (!pathglob_match(pattern, have))
			continue;
		matched++;
		struct shape whole = shape_of(pattern, false);
		shape_cut(pattern, &p);
		shape_cut(have, &c);
		for (uint32_t less = 0; less < 8; less++) {
			struct shape s = whole;
			s.front &= less & 1 ? ~0U : 1;
			s.back &= less & 2 ? ~0U : 1;
			s.part_n = less & 4 ? s.part_n : s.part_n / 2;
			assert_true(shape_is_in(&s, &whole));
			assert_true(shape_hash(&s, 443, &p, &one));
			assert_true(shape_hash(&s, 443, &c, &two));
			assert_int_equal(one, two);
		}
	}
	assert_true(matched > 1000);
}

/* What looks at more than a pattern has is none of its shapes. */
static void
shape_is_in_no_smaller_one(void **state)
{
	struct shape s,
	    whole = { .kind = SHAPE_PLACES,
		    .front = 3,
		    .back = 1,
		    .part = FRONT(2),
		    .part_n = 4 };

	(void)state;
	s = whole;
	assert_true(shape_is_in(&s, &whole));
	s.kind = SHAPE_GIT;
	assert_false(shape_is_in(&s, &whole));
	s = whole;
	s.front = 4;
	assert_false(shape_is_in(&s, &whole));
	s = whole;
	s.back = 2;
	assert_false(shape_is_in(&s, &whole));
	s = whole;
	s.part_n = 5;
	assert_false(shape_is_in(&s, &whole));
	s = whole;
	s.part = FRONT(2) | END;
	assert_false(shape_is_in(&s, &whole));
	s = (struct shape){ .kind = SHAPE_ANY };
	assert_true(shape_is_in(&s, &whole));
	whole.kind = SHAPE_GIT;
	assert_false(shape_is_in(&s, &whole));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shape_is_what_stands_still),
		cmocka_unit_test(shape_hashes_what_matches_alike),
		cmocka_unit_test(shape_is_in_no_smaller_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
