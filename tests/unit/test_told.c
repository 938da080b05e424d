/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/clock.h"
#include "keep/told.h"

static void
put(struct told *t, uint64_t cookie, uint16_t port)
{
	const struct told_dial dial = { .cookie = cookie, .port = port };

	assert_true(told_put(t, &dial));
}

static void
told_remembers_dials_by_cookie(void **state)
{
	(void)state;
	enum err err;
	struct told *t = told_new(&err);

	assert_non_null(t);
	assert_null(told_find(t, 1));
	put(t, 1, 10);
	put(t, 1 + 4096, 11); /* a neighbour in its bucket */
	put(t, UINT64_MAX, 12);
	assert_int_equal(told_find(t, 1)->port, 10);
	assert_int_equal(told_find(t, 4097)->port, 11);
	assert_int_equal(told_find(t, UINT64_MAX)->port, 12);
	assert_null(told_find(t, 0));
	put(t, 1, 20);
	assert_int_equal(told_find(t, 1)->port, 20);
	told_free(t);
	told_free(NULL);
}

static void
told_forgets_what_was_not_used(void **state)
{
	(void)state;
	enum err err;
	struct told *t = told_new(&err);

	assert_non_null(t);
	for (uint64_t i = 1; i <= TOLD_MAX; i++)
		put(t, i, (uint16_t)i);
	assert_non_null(told_find(t, 1));
	assert_non_null(told_find(t, 3)); /* used: 2 is the oldest now */
	put(t, TOLD_MAX + 1, 1);
	put(t, TOLD_MAX + 2, 1);
	assert_non_null(told_find(t, 1));
	assert_null(told_find(t, 2));
	assert_non_null(told_find(t, 3));
	assert_null(told_find(t, 4));
	assert_non_null(told_find(t, TOLD_MAX + 2));
	for (uint64_t i = 0; i < 3 * TOLD_MAX; i++)
		put(t, 100000 + i, 1);
	assert_null(told_find(t, 1));
	told_free(t);
}

static void
told_forgets_a_sandbox_that_is_gone(void **state)
{
	(void)state;
	enum err err;
	struct told *t = told_new(&err);
	struct told_dial dial = { 0 };

	assert_non_null(t);
	for (uint32_t i = 1; i <= 100; i++) {
		dial.cookie = i;
		dial.sandbox = i % 2;
		assert_true(told_put(t, &dial));
	}
	told_forget(t, 1);
	for (uint32_t i = 1; i <= 100; i++)
		assert_int_equal(told_find(t, i) != NULL, i % 2 == 0);
	told_free(t);
}

static void
told_forgives_for_a_while(void **state)
{
	(void)state;
	enum err err;
	struct told *t = told_new(&err);

	assert_non_null(t);
	assert_false(told_may_have_forgotten(t));
	clock_set(1000, 1000);
	told_forgive(t, 2000);
	assert_true(told_may_have_forgotten(t));
	clock_set(2000, 1000);
	assert_false(told_may_have_forgotten(t));
	clock_set(0, 0);
	told_free(t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(told_remembers_dials_by_cookie),
		cmocka_unit_test(told_forgets_what_was_not_used),
		cmocka_unit_test(told_forgets_a_sandbox_that_is_gone),
		cmocka_unit_test(told_forgives_for_a_while),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
