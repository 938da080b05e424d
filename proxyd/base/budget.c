/* SPDX-License-Identifier: Apache-2.0 */
#include "base/budget.h"

void
budget_init(struct budget *b, uint64_t per_s, uint64_t burst, uint64_t now_ms)
{
	*b = (struct budget){ per_s, 1000, burst, burst * 1000, 0, now_ms };
}

void
budget_init_over(struct budget *b, uint64_t n, uint64_t window_ms,
    uint64_t now_ms)
{
	*b = (struct budget){ n, window_ms, n, n * window_ms, 0, now_ms };
}

/* Debts are paid first. */
static void
put(struct budget *b, uint64_t parts)
{
	uint64_t paid = parts < b->debt ? parts : b->debt;

	b->debt -= paid;
	b->parts += parts - paid;
}

/* What would make it full. */
static uint64_t
room(const struct budget *b)
{
	return b->burst * b->window_ms - b->parts + b->debt;
}

static void
fill(struct budget *b, uint64_t now_ms)
{
	uint64_t passed = now_ms - b->last_ms;

	b->last_ms = now_ms;
	/* A clock that stood still for hours must not overflow. */
	put(b, passed > room(b) / b->n ? room(b) : passed * b->n);
}

bool
budget_take(struct budget *b, uint64_t now_ms)
{
	uint64_t wait_ms;

	return budget_spend(b, 1, now_ms, &wait_ms);
}

bool
budget_spend(struct budget *b, uint64_t amount, uint64_t now_ms,
    uint64_t *wait_ms)
{
	fill(b, now_ms);
	*wait_ms = UINT64_MAX;
	if (amount > b->burst)
		return false;
	uint64_t parts = amount * b->window_ms;
	if (parts > b->parts) {
		*wait_ms = (parts - b->parts + b->debt + b->n - 1) / b->n;
		return false;
	}
	b->parts -= parts;
	*wait_ms = 0;
	return true;
}

bool
budget_owe(struct budget *b, uint64_t amount, uint64_t now_ms)
{
	uint64_t parts = amount * b->window_ms;
	uint64_t there;

	fill(b, now_ms);
	there = parts < b->parts ? parts : b->parts;
	b->parts -= there;
	b->debt += parts - there;
	return b->debt == 0;
}

void
budget_set_rate(struct budget *b, uint64_t n)
{
	b->n = n;
	b->burst = n;
	if (b->parts > n * b->window_ms)
		b->parts = n * b->window_ms;
}

void
budget_return(struct budget *b, uint64_t amount)
{
	put(b,
	    amount > room(b) / b->window_ms ? room(b) : amount * b->window_ms);
}
