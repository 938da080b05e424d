/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/limits.h"
#include "policy/inside.h"
#include "policy/walk.h"
#include "policy_bed.h"

static const char policy[] =
    "version: 1\n"
    "policies:\n"
    "  p:\n"
    "    rules:\n"
    "      - allow: ['https://*.a.test/1', 'https://x.a.test/2']\n"
    "      - deny: https://**.a.test/**\n"
    "      - allow: https://x.a.test/**\n"
    "      - deny: https://**.a.test/**\n"
    "        methods: [GET]\n"
    "      - allow: https://**/**\n";

/* Routes of all patterns that match come in the order of the file. */
static void
walk_keeps_the_order_of_the_file(void **state)
{
	static const uint32_t all[] = { 0, 1, 2, 3, 4, 5 };
	struct host_matches found;
	struct walk w;
	struct bed b;

	(void)state;
	bed_load(&b, NULL, policy);
	assert_non_null(b.program);
	const struct image *m = &b.program->image;
	hostset_match(m, SLICE("x.a.test"), &found);
	walk_init(&w, m, &found, NULL);
	for (size_t i = 0; i < COUNT_OF(all); i++)
		assert_int_equal(walk_next(&w), all[i]);
	assert_int_equal(walk_next(&w), IMAGE_NONE);
	assert_true(walk_is_deny(m, 2));
	assert_true(walk_is_total(m, 2));
	assert_false(walk_is_total(m, 4)); /* GET alone */
	assert_false(walk_is_total(m, 5)); /* no deny */

	/* A label that wildcards do not cover: of them the deny rules alone. */
	hostset_match(m, SLICE("_y.a.test"), &found);
	walk_init(&w, m, &found, NULL);
	assert_int_equal(walk_next(&w), 2);
	assert_int_equal(walk_next(&w), 4);
	assert_int_equal(walk_next(&w), IMAGE_NONE);
	bed_release(&b);
}

static void
walk_prepares_a_path(void **state)
{
	static const struct {
		const char *path;
		bool slash, dots;
	} rows[] = {
		{ "/a", false, false },
		{ "/a%25b", false, false },
		{ "/a%2Fb", true, false },
		{ "/a%2F..%2Fb", true, true },
		{ "/a%2F.", true, true },
		{ "/%252F", false, false },
	};
	static uint8_t folded[LIMIT_PATH_SIZE], big[LIMIT_PATH_SIZE + 1];
	struct walk_request r;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct facts f = { .path = slice_of_str(rows[i].path),
			.method = SLICE("GET") };
		walk_prepare(&r, &f, folded);
		print_message("# %s\n", rows[i].path);
		assert_int_equal(r.encoded_slash, rows[i].slash);
		assert_int_equal(r.encoded_dots, rows[i].dots);
	}
	memset(big, 'a', sizeof(big));
	big[0] = '/';
	struct facts f = { .path = slice_of(big, sizeof(big)) };
	walk_prepare(&r, &f, folded);
	assert_int_equal(r.path.n, 0); /* it matches nothing */
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(walk_keeps_the_order_of_the_file),
		cmocka_unit_test(walk_prepares_a_path),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
