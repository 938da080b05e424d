/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/gitref.h"
#include "row.h"

static const char *const good[] = { "refs/heads/main", "refs/heads/agent/x",
	"refs/tags/v1.0", "refs/heads/_x", "refs/heads/a@b", "refs/heads/a+b=c",
	"refs/notes/commits", "refs/heads/a.b", "refs/heads/HEAD/x",
	"refs/heads/x-", "refs/heads/JDK-PACK", "refs/x" };

static const char *const bad[] = { "", "HEAD", "main", "refs", "refs/",
	"refs/heads/", "refs/heads/x/", "/refs/heads/x", "refs//x",
	"refs/heads//x", "refs/heads/.x", "refs/heads/x.", "refs/heads/x.lock",
	"refs/heads/x.lock/y", "refs/heads/a..b", "refs/heads/../x",
	"refs/heads/-x", "refs/heads/--mirror", "refs/heads/@",
	"refs/heads/a@{b", "refs/heads/a b", "refs/heads/a~1", "refs/heads/a^",
	"refs/heads/a:b", "refs/heads/a?", "refs/heads/a*", "refs/heads/a[",
	"refs/heads/a\\b", "refs/heads/a;b", "refs/heads/$(id)",
	"refs/heads/%2e%2e", "refs/heads/a'b", "refs/heads/\xc3\xa4",
	"refs/heads/\xe2\x80\xae"
	"a",
	"refs/heads/a\x1b[31m", "refs/heads/a\n", "refs/heads/a\x7f",
	"refs/heads/HEAD", "Refs/heads/x", "refsheads/x", "refs/heads/+x",
	"refs/heads/=x" };

static void
gitref_takes_what_every_reader_reads_alike(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(good); i++) {
		print_message("# %s\n", good[i]);
		assert_true(gitref_is_good(slice_of_str(good[i])));
	}
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		print_message("# not %zu\n", i);
		struct slice ref = exact(slice_of_str(bad[i]));
		assert_false(gitref_is_good(ref));
		drop(ref);
	}
	assert_false(gitref_is_good(SLICE("refs/heads/a\0b")));
}

static void
gitref_has_at_most_200_bytes(void **state)
{
	(void)state;
	struct slice ref = repeat(SLICE("refs/heads/"), 'a', 190);
	assert_true(gitref_is_good(slice_first(ref, 200)));
	assert_false(gitref_is_good(ref));
	drop(ref);
}

static void
gitref_globs_have_stars(void **state)
{
	(void)state;
	assert_true(gitref_is_short(SLICE("agent/**"), true));
	assert_true(gitref_is_short(SLICE("**"), true));
	assert_true(gitref_is_short(SLICE("v*"), true));
	assert_false(gitref_is_short(SLICE("v*"), false));
	assert_false(gitref_is_short(SLICE("HEAD"), true));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gitref_takes_what_every_reader_reads_alike),
		cmocka_unit_test(gitref_has_at_most_200_bytes),
		cmocka_unit_test(gitref_globs_have_stars),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
