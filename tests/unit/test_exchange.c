/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "http/exchange.h"

static bool
is_end(enum exchange_phase p)
{
	return p == EXCHANGE_DONE || p == EXCHANGE_GONE;
}

/* Every phase reaches an end, and the ends are final. */
static void
exchange_table_reaches_an_end_from_everywhere(void **state)
{
	(void)state;
	for (int p = 0; p < EXCHANGE_PHASE_COUNT; p++) {
		enum exchange_phase from = (enum exchange_phase)p;
		bool ends = false;
		for (int q = 0; q < EXCHANGE_PHASE_COUNT; q++) {
			enum exchange_phase to = (enum exchange_phase)q;
			bool may = exchange_may_follow(from, to);
			assert_false(is_end(from) && may);
			assert_false(to == EXCHANGE_HEAD && may);
			ends = ends || (may && is_end(to));
		}
		assert_true(ends || is_end(from));
		assert_non_null(exchange_phase_name(from));
	}
}

/* No way to an upstream but through the verdict and the credential. */
static void
exchange_table_has_no_way_round_the_verdict(void **state)
{
	(void)state;
	for (int p = 0; p < EXCHANGE_PHASE_COUNT; p++) {
		enum exchange_phase from = (enum exchange_phase)p;
		assert_true(!exchange_may_follow(from, EXCHANGE_SEND) ||
		    from == EXCHANGE_ATTACH);
		assert_true(!exchange_may_follow(from, EXCHANGE_TUNNEL) ||
		    from == EXCHANGE_SEND);
		assert_true(!exchange_may_follow(from, EXCHANGE_ATTACH) ||
		    from == EXCHANGE_REACH);
		assert_true(!exchange_may_follow(from, EXCHANGE_REACH) ||
		    from == EXCHANGE_JUDGE || from == EXCHANGE_READ ||
		    from == EXCHANGE_SEND || from == EXCHANGE_ATTACH);
		assert_true(!exchange_may_follow(from, EXCHANGE_READ) ||
		    from == EXCHANGE_JUDGE);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exchange_table_reaches_an_end_from_everywhere),
		cmocka_unit_test(exchange_table_has_no_way_round_the_verdict),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
