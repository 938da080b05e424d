/* SPDX-License-Identifier: Apache-2.0 */
/*
 * So many per time, with a burst: a bucket that fills at a rate.
 * Pure but for the clock, which is given.
 */
#ifndef FLOW_BUDGET_H
#define FLOW_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct budget {
	uint64_t per_s;	  /* tokens that come in a second */
	uint64_t burst;	  /* tokens that fit */
	uint64_t milli;	  /* thousandths of tokens that are there */
	uint64_t last_ms; /* when it was filled last */
};

/* Full to begin with. */
void budget_init(struct budget *b, uint64_t per_s, uint64_t burst,
    uint64_t now_ms);

/* Spend one; false: there is none. */
bool budget_take(struct budget *b, uint64_t now_ms);

#endif
