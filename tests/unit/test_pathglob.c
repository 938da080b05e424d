/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <time.h>

#include <cmocka.h>

#include "base/attr.h"
#include "policy/pathglob.h"

static struct slice
compile(const char *text, uint8_t *room)
{
	const char *why = "";
	size_t n;

	assert_true(pathglob_compile(slice_of_str(text), room, &n, &why));
	return slice_of(room, n);
}

static const struct {
	const char *pattern, *path;
	bool match;
} rows[] = {
	{ "/", "/", true },
	{ "/", "/a", false },
	{ "/a", "/a", true },
	{ "/a", "/a/", false },
	{ "/a", "/A", false },
	{ "/a", "/ab", false },
	{ "/**", "/", true },
	{ "/**", "/a", true },
	{ "/**", "/a/b/", true },
	{ "/a/**", "/a", true },
	{ "/a/**", "/a/", true },
	{ "/a/**", "/a/b/c", true },
	{ "/a/**", "/ab", false },
	{ "/a/*", "/a/b", true },
	{ "/a/*", "/a", false },
	{ "/a/*", "/a/", false },
	{ "/a/*", "/a/b/c", false },
	{ "/a/*/c", "/a/b/c", true },
	{ "/a/*/c", "/a//c", false },
	{ "/a*", "/a", false },
	{ "/a*", "/ab", true },
	{ "/*a", "/ba", true },
	{ "/*a", "/a", false },
	{ "/*a", "/aa", true },
	{ "/*a", "/baab", false },
	{ "/a*b*c", "/axbxc", true },
	{ "/a*b*c", "/abxc", false },
	{ "/a*b*c", "/axbc", false },
	{ "/a*b*c", "/axbbxc", true },
	{ "/*-*", "/a-b-c", true },
	{ "/*-*", "/-a", false },
	{ "/**/z", "/z", true },
	{ "/**/z", "/a/z", true },
	{ "/**/z", "/a/z/", false },
	{ "/**/z", "/z/z/z", true },
	{ "/a/**/z", "/a/z", true },
	{ "/a/**/z", "/a/b/c/z", true },
	{ "/a/**/z", "/az", false },
	{ "/a/**/b/**/c", "/a/x/b/y/c", true },
	{ "/a/**/b/**/c", "/a/b/c", true },
	{ "/a/**/b/**/c", "/a/c/b", false },
	{ "/a/**/b/*", "/a/b/b", true },
	{ "/a/**/b/*", "/a/b", false },
	{ "/**/a/**", "/x/a", true },
	{ "/**/a/**", "/x/b", false },
	{ "/**/", "/", true },
	{ "/**/", "/a/b/", true },
	{ "/**/", "/a", false },
	{ "/a%2Fb", "/a%2Fb", true },
	{ "/*", "/a%2Fb", true },
	{ "/a/b", "/a%2Fb", false },
	{ "/%2A", "/*", true },
	{ "/%2A", "/%2A", true },
	{ "/%2A", "/x", false },
	{ "/a!b:c@d", "/a%21b%3Ac%40d", true },
	{ "/a%21b", "/a!b", true },
	{ "/a%25b", "/a%25b", true },
	{ "/%C3%84", "/%C3%84", true },
};

static void
pathglob_matches_each_row(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint8_t a[256], b[256];
		struct slice pattern = compile(rows[i].pattern, a);
		struct slice path =
		    pathglob_fold(slice_of_str(rows[i].path), b);
		print_message("# %s %s\n", rows[i].pattern, rows[i].path);
		assert_int_equal(pathglob_match(pattern, path), rows[i].match);
	}
}

static void
pathglob_refuses_stars_that_are_neither(void **state)
{
	static const char *const bad[] = { "/a**", "/**a", "/a/b**/c", "/***",
		"/a***b", "/****" };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		uint8_t room[64];
		const char *why = "";
		size_t n;
		print_message("# %s\n", bad[i]);
		assert_false(
		    pathglob_compile(slice_of_str(bad[i]), room, &n, &why));
		assert_string_not_equal(why, "");
	}
}

static const struct {
	const char *a, *b;
	bool covers;
} covers[] = {
	{ "/**", "/**", true },
	{ "/**", "/a/*/b", true },
	{ "/**", "/", true },
	{ "/a/**", "/a/b/**", true },
	{ "/a/**", "/a", true },
	{ "/a/b/**", "/a/**", false },
	{ "/a/*", "/a/b", true },
	{ "/a/*", "/a/*", true },
	{ "/a/*", "/a/x*", true },
	{ "/a/x*", "/a/*", false },
	{ "/a/*", "/a/**", false },
	{ "/*/**", "/**", false },
	{ "/a/**/z", "/a/b/z", true },
	{ "/a/**/z", "/a/**", false },
	{ "/a", "/*", false },
	{ "/*a*", "/*aa*", true },
};

static void
pathglob_covers_only_what_it_must(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(covers); i++) {
		uint8_t a[256], b[256];
		print_message("# %s %s\n", covers[i].a, covers[i].b);
		assert_int_equal(pathglob_covers(compile(covers[i].a, a),
				     compile(covers[i].b, b)),
		    covers[i].covers);
	}
}

/* What a covers b promises: whatever b matches, a does. */
static void
pathglob_covers_is_sound(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		for (size_t k = 0; k < COUNT_OF(rows); k++) {
			uint8_t a[256], b[256], c[256];
			struct slice one = compile(rows[i].pattern, a);
			struct slice two = compile(rows[k].pattern, b);
			struct slice path =
			    pathglob_fold(slice_of_str(rows[k].path), c);
			if (pathglob_covers(one, two) &&
			    pathglob_match(two, path))
				assert_true(pathglob_match(one, path));
		}
}

/* PT-24: no pattern and path take long together. */
static void
pathglob_is_bounded(void **state)
{
	static uint8_t pattern[1024], path[8192], room[1024];
	const char *why = "";
	size_t n = 0, m = 0;

	(void)state;
	while (n + 6 < sizeof(pattern)) {
		memcpy(pattern + n, "/**/a*", 6);
		n += 6;
	}
	while (m + 2 < sizeof(path)) {
		memcpy(path + m, "/a", 2);
		m += 2;
	}
	struct timespec from, to;
	size_t used;
	assert_true(pathglob_compile(slice_of(pattern, n), room, &used, &why));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	assert_false(pathglob_match(slice_of(room, used), slice_of(path, m)));
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	assert_true(to.tv_sec - from.tv_sec < 2);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pathglob_matches_each_row),
		cmocka_unit_test(pathglob_refuses_stars_that_are_neither),
		cmocka_unit_test(pathglob_covers_only_what_it_must),
		cmocka_unit_test(pathglob_covers_is_sound),
		cmocka_unit_test(pathglob_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
