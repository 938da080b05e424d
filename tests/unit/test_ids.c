/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/ids.h"

struct thing {
	struct ids_entry by_id;
	unsigned value;
};

static void
ids_finds_each_of_many(void **state UNUSED)
{
	static struct thing things[3 * IDS_BUCKETS];
	static struct ids ids;

	ids_init(&ids);
	assert_null(ids_any(&ids));
	for (unsigned i = 0; i < COUNT_OF(things); i++) {
		things[i].value = i;
		ids_put(&ids, &things[i].by_id, i + 7, &things[i]);
	}
	assert_int_equal(ids.n, COUNT_OF(things));
	for (unsigned i = 0; i < COUNT_OF(things); i++)
		assert_int_equal(((struct thing *)ids_find(&ids, i + 7))->value,
		    i);
	assert_null(ids_find(&ids, 6));
	assert_null(ids_find(&ids, UINT32_MAX));
	ids_remove(&ids, &things[IDS_BUCKETS].by_id);
	assert_null(ids_find(&ids, IDS_BUCKETS + 7));
	assert_non_null(ids_find(&ids, 7)); /* a neighbour in its bucket */
	for (size_t left = COUNT_OF(things) - 1; left != 0; left--) {
		struct thing *t = ids_any(&ids);
		assert_non_null(t);
		ids_remove(&ids, &t->by_id);
	}
	assert_null(ids_any(&ids));
}

static void
ids_that_are_gone_are_known_for_a_while(void **state UNUSED)
{
	static struct ids_gone gone;

	assert_false(ids_gone_has(&gone, 0, 5));
	ids_gone_put(&gone, 9, 1000);
	assert_true(ids_gone_has(&gone, 9, 1000));
	assert_true(ids_gone_has(&gone, 9, 999 + IDS_GONE_MS));
	assert_false(ids_gone_has(&gone, 9, 1000 + IDS_GONE_MS));
	assert_false(ids_gone_has(&gone, 8, 1000));
	for (uint32_t i = 0; i < IDS_GONE_MAX; i++)
		ids_gone_put(&gone, 100 + i, 1000);
	assert_false(ids_gone_has(&gone, 9, 1000));
	assert_true(ids_gone_has(&gone, 100, 1000));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ids_finds_each_of_many),
		cmocka_unit_test(ids_that_are_gone_are_known_for_a_while),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
