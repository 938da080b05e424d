/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/budget.h"

void
budget_init(struct budget *b, uint64_t per_s, uint64_t burst, uint64_t now_ms)
{
	*b = (struct budget){ per_s, burst, burst * 1000, now_ms };
}

bool
budget_take(struct budget *b, uint64_t now_ms)
{
	uint64_t passed = now_ms - b->last_ms;

	/* A clock that stood still for hours must not overflow. */
	if (passed > 1000 * b->burst)
		passed = 1000 * b->burst;
	b->last_ms = now_ms;
	b->milli += passed * b->per_s;
	if (b->milli > b->burst * 1000)
		b->milli = b->burst * 1000;
	if (b->milli < 1000)
		return false;
	b->milli -= 1000;
	return true;
}
