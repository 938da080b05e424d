/* SPDX-License-Identifier: Apache-2.0 */
/* Monotonic and wall time; tests can set both. */
#ifndef BASE_CLOCK_H
#define BASE_CLOCK_H

#include <stdint.h>

#include "base/slice.h"

/* Milliseconds that only grow; the start is arbitrary. */
uint64_t clock_ms(void);

/* The same, up to a tick of the kernel (1 to 10 ms) behind, and cheaper. */
uint64_t clock_coarse_ms(void);

/* Microseconds since 1970, UTC. */
uint64_t clock_wall_us(void);

/* Tests only: stand still at these values; both 0 give the real ones back. */
void clock_set(uint64_t ms, uint64_t wall_us);

#define CLOCK_TEXT_SIZE 28 /* "2026-11-30T09:08:07.123456Z" and a NUL */

/* `wall_us` as RFC 3339 with microseconds, in UTC. */
void clock_text(uint64_t wall_us, char text[CLOCK_TEXT_SIZE]);

/* From exactly what clock_text() writes; false: it is not. */
bool clock_read(struct slice text, uint64_t *wall_us);

#endif
