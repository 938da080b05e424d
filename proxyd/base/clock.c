/* SPDX-License-Identifier: Apache-2.0 */
#include <time.h>

#include "base/clock.h"

static uint64_t set_ms, set_wall_us;

uint64_t
clock_ms(void)
{
	struct timespec t;

	if (set_ms != 0)
		return set_ms;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

uint64_t
clock_wall_us(void)
{
	struct timespec t;

	if (set_wall_us != 0)
		return set_wall_us;
	clock_gettime(CLOCK_REALTIME, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

void
clock_set(uint64_t ms, uint64_t wall_us)
{
	set_ms = ms;
	set_wall_us = wall_us;
}

void
clock_text(uint64_t wall_us, char text[CLOCK_TEXT_SIZE])
{
	time_t s = (time_t)(wall_us / 1000000);
	struct tm tm;

	gmtime_r(&s, &tm);
	size_t n = strftime(text, CLOCK_TEXT_SIZE, "%Y-%m-%dT%H:%M:%S", &tm);
	snprintf(text + n, CLOCK_TEXT_SIZE - n, ".%06uZ",
	    (unsigned)(wall_us % 1000000));
}
