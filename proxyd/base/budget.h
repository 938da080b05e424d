/* SPDX-License-Identifier: Apache-2.0 */
/*
 * So many per time, with a burst: a bucket that fills at a rate.
 * Pure but for the clock, which is given.
 */
#ifndef BASE_BUDGET_H
#define BASE_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct budget {
	uint64_t n, window_ms; /* tokens that come in so much time */
	uint64_t burst;	       /* tokens that fit */
	uint64_t parts;	       /* tokens that are there, times window_ms */
	uint64_t debt;	       /* likewise, taken when they were not there */
	uint64_t last_ms;      /* when it was filled last */
};

/* Full to begin with: `per_s` tokens a second. */
void budget_init(struct budget *b, uint64_t per_s, uint64_t burst,
    uint64_t now_ms);

/*
 * The same with a window of its own, which as many fit as come in it; n times
 * window_ms is below 2^64.
 */
void budget_init_over(struct budget *b, uint64_t n, uint64_t window_ms,
    uint64_t now_ms);

/* Spend one; false: there is none. */
bool budget_take(struct budget *b, uint64_t now_ms);

/*
 * Spend `amount`.  False: it is not there, nothing was spent; it will be in
 * *wait_ms, or (UINT64_MAX) never, since it does not fit.
 */
bool budget_spend(struct budget *b, uint64_t amount, uint64_t now_ms,
    uint64_t *wait_ms);

/* It is gone already: spend it, and owe what is not there.  False: it owes. */
bool budget_owe(struct budget *b, uint64_t amount, uint64_t now_ms);

/* As many in the same time from now on; what is there and what is owed stays,
 * as far as it fits. */
void budget_set_rate(struct budget *b, uint64_t n);

/* Put back what was spent and not used. */
void budget_return(struct budget *b, uint64_t amount);

#endif
