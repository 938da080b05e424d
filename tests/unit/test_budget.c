/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "flow/budget.h"
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
		assert_false(phase_may_follow((enum phase)p, PHASE_PEEK));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(budget_has_a_burst_and_then_a_rate),
		cmocka_unit_test(phase_table_reaches_close_from_everywhere),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
