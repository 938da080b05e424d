/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/budget.h"
#include "flow/phase.h"

static void
budget_has_a_burst_and_then_a_rate(void **state)
{
	(void)state;
	struct budget b;

	budget_init(&b, 10, 3, 1000);
	for (int i = 0; i < 3; i++)
		assert_true(budget_take(&b, 1000));
	assert_false(budget_take(&b, 1000));
	assert_false(budget_take(&b, 1099));
	assert_true(budget_take(&b, 1100));
	assert_false(budget_take(&b, 1100));
	/* A long time gives the burst and no more. */
	for (int i = 0; i < 3; i++)
		assert_true(budget_take(&b, UINT64_MAX / 2));
	assert_false(budget_take(&b, UINT64_MAX / 2));
}

static void
budget_says_when_and_takes_back(void **state)
{
	(void)state;
	uint64_t wait_ms;
	struct budget b;

	budget_init_over(&b, 1000, 60000, 5);
	assert_false(budget_spend(&b, 1001, 5, &wait_ms));
	assert_true(wait_ms == UINT64_MAX);
	assert_true(budget_spend(&b, 1000, 5, &wait_ms));
	assert_false(budget_spend(&b, 500, 5, &wait_ms));
	assert_int_equal(wait_ms, 30000);
	assert_false(budget_spend(&b, 500, 30004, &wait_ms));
	assert_int_equal(wait_ms, 1);
	assert_true(budget_spend(&b, 500, 30005, &wait_ms));
	budget_return(&b, 200);
	assert_true(budget_spend(&b, 200, 30005, &wait_ms));
	/* Never fuller than full. */
	budget_return(&b, 5000);
	assert_false(budget_spend(&b, 1001, 30005, &wait_ms));
	assert_true(budget_spend(&b, 1000, 30005, &wait_ms));
}

/* What was used without asking is paid before anything is to be had again. */
static void
budget_owes(void **state)
{
	(void)state;
	uint64_t wait_ms;
	struct budget b;

	budget_init_over(&b, 100, 1000, 0);
	assert_true(budget_owe(&b, 100, 0));
	assert_false(budget_owe(&b, 200, 0));
	assert_false(budget_spend(&b, 1, 2000, &wait_ms));
	assert_int_equal(wait_ms, 10);
	assert_true(budget_spend(&b, 1, 2010, &wait_ms));
	assert_false(budget_owe(&b, 50, 2010));
	budget_return(&b, 50);
	assert_false(budget_spend(&b, 1, 2010, &wait_ms));
	budget_return(&b, 1);
	assert_true(budget_spend(&b, 1, 2010, &wait_ms));
	/* The largest that a policy can say. */
	budget_init_over(&b, 1ULL << 40, 3600000, 0);
	assert_true(budget_spend(&b, 1ULL << 40, UINT64_MAX / 2, &wait_ms));
	assert_false(budget_spend(&b, 1, UINT64_MAX / 2, &wait_ms));
}

/* Every phase of a flow reaches the end, and the end is final. */
static void
phase_table_reaches_close_from_everywhere(void **state)
{
	(void)state;
	for (int p = 0; p < PHASE_COUNT; p++) {
		bool last = p == PHASE_CLOSE;
		assert_true(
		    last || phase_may_follow((enum phase)p, PHASE_CLOSE));
		assert_non_null(phase_name((enum phase)p));
		for (int q = 0; q < PHASE_COUNT && last; q++)
			assert_false(
			    phase_may_follow((enum phase)p, (enum phase)q));
		assert_false(phase_may_follow((enum phase)p, PHASE_ENTRY));
		assert_int_equal(phase_may_follow((enum phase)p, PHASE_PEEK),
		    p == PHASE_ENTRY);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(budget_has_a_burst_and_then_a_rate),
		cmocka_unit_test(budget_says_when_and_takes_back),
		cmocka_unit_test(budget_owes),
		cmocka_unit_test(phase_table_reaches_close_from_everywhere),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
