/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "base/limits.h"
#include "flow/phase.h"

#define TO(phase) (1U << PHASE_##phase)

static const struct {
	const char *name;
	unsigned next; /* set of phases */
	uint64_t limit_ms;
} phases[PHASE_COUNT] = {
	[PHASE_ENTRY] = { "ENTRY",
	    TO(PEEK) | TO(SERVE) | TO(REFUSE) | TO(CLOSE), LIMIT_ENTRY_MS },
	/* From accept, not set anew; the first byte has a shorter one. */
	[PHASE_PEEK] = { "PEEK", TO(JUDGE) | TO(CLOSE), LIMIT_FIRST_BYTE_MS },
	[PHASE_JUDGE] = { "JUDGE",
	    TO(CHOOSE) | TO(SHAKE) | TO(SERVE) | TO(DIAL) | TO(REFUSE) |
		TO(CLOSE),
	    0 },
	[PHASE_DIAL] = { "DIAL", TO(PASS) | TO(CLOSE), LIMIT_DIAL_MS },
	/* Set anew with each byte that moves. */
	[PHASE_PASS] = { "PASS", TO(CLOSE), LIMIT_IDLE_MS },
	[PHASE_CHOOSE] = { "CHOOSE", TO(SHAKE) | TO(REFUSE) | TO(CLOSE),
	    LIMIT_DIAL_MS },
	[PHASE_SHAKE] = { "SHAKE", TO(SERVE) | TO(REFUSE) | TO(CLOSE),
	    LIMIT_DIAL_MS },
	/* Each exchange has limits of its own. */
	[PHASE_SERVE] = { "SERVE", TO(REFUSE) | TO(CLOSE), 0 },
	[PHASE_REFUSE] = { "REFUSE", TO(CLOSE), LIMIT_REFUSE_MS },
	[PHASE_CLOSE] = { "CLOSE", 0, 0 },
};

const char *
phase_name(enum phase p)
{
	assert(p < PHASE_COUNT);
	return phases[p].name;
}

uint64_t
phase_limit_ms(enum phase p)
{
	assert(p < PHASE_COUNT);
	return phases[p].limit_ms;
}

bool
phase_may_follow(enum phase from, enum phase to)
{
	return (phases[from].next & 1U << to) != 0;
}
