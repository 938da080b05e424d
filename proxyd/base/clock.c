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
clock_coarse_ms(void)
{
	struct timespec t;

	if (set_ms != 0)
		return set_ms;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
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

/*
 * Days since 1970-01-01 of a date of the Gregorian calendar, and back.  Not by
 * gmtime() and timegm(): those read /etc/localtime, which no role may open.
 * Years begin in March here, so that the leap day is the last of a year; an era
 * has 400 of them.
 */
#define ERA_DAYS 146097
#define EPOCH_DAYS 719468 /* 0000-03-01 to 1970-01-01 */

struct date {
	unsigned year, month, day; /* 1.., 1..12, 1..31 */
};

static struct date
date_of(uint64_t days)
{
	uint64_t since = days + EPOCH_DAYS;
	unsigned in_era = (unsigned)(since % ERA_DAYS);
	unsigned year =
	    (in_era - in_era / 1460 + in_era / 36524 - in_era / 146096) / 365;
	unsigned in_year = in_era - (365 * year + year / 4 - year / 100);
	unsigned month = (5 * in_year + 2) / 153; /* 0: March */
	struct date d = {
		.year = (unsigned)(since / ERA_DAYS) * 400 + year,
		.month = month < 10 ? month + 3 : month - 9,
		.day = in_year - (153 * month + 2) / 5 + 1,
	};

	if (d.month <= 2)
		d.year++;
	return d;
}

static uint64_t
days_of(struct date d)
{
	unsigned year = d.month <= 2 ? d.year - 1 : d.year;
	unsigned month = d.month > 2 ? d.month - 3 : d.month + 9;
	unsigned in_year = (153 * month + 2) / 5 + d.day - 1;
	unsigned in_era = year % 400;

	return (uint64_t)(year / 400) * ERA_DAYS + in_era * 365 + in_era / 4 -
	    in_era / 100 + in_year - EPOCH_DAYS;
}

/* Microseconds of a day, and of the parts of one. */
#define DAY_US 86400000000ULL
#define SECOND_US 1000000U

/* The last `n` digits of `v`. */
static void
put_digits(char *to, size_t n, unsigned v)
{
	for (size_t i = n; i-- > 0; v /= 10)
		to[i] = (char)('0' + v % 10);
}

void
clock_text(uint64_t wall_us, char text[CLOCK_TEXT_SIZE])
{
	struct date d = date_of(wall_us / DAY_US);
	unsigned s = (unsigned)(wall_us % DAY_US / SECOND_US);

	/* A line of the log has one: printf would be a tenth of its cost. */
	memcpy(text, "0000-00-00T00:00:00.000000Z", CLOCK_TEXT_SIZE);
	put_digits(text, 4, d.year);
	put_digits(text + 5, 2, d.month);
	put_digits(text + 8, 2, d.day);
	put_digits(text + 11, 2, s / 3600);
	put_digits(text + 14, 2, s / 60 % 60);
	put_digits(text + 17, 2, s % 60);
	put_digits(text + 20, 6, (unsigned)(wall_us % SECOND_US));
}

/* The number in `n` digits of `text`. */
static bool
number_at(struct slice text, size_t at, size_t n, unsigned *v)
{
	*v = 0;
	for (size_t i = at; i < at + n; i++) {
		if (text.p[i] < '0' || text.p[i] > '9')
			return false;
		*v = *v * 10 + (text.p[i] - '0');
	}
	return true;
}

bool
clock_read(struct slice text, uint64_t *wall_us)
{
	unsigned hour, minute, second, us;
	struct date d;
	char again[CLOCK_TEXT_SIZE];

	if (text.n != CLOCK_TEXT_SIZE - 1 || !number_at(text, 0, 4, &d.year) ||
	    !number_at(text, 5, 2, &d.month) ||
	    !number_at(text, 8, 2, &d.day) || !number_at(text, 11, 2, &hour) ||
	    !number_at(text, 14, 2, &minute) ||
	    !number_at(text, 17, 2, &second) || !number_at(text, 20, 6, &us))
		return false;
	if (d.year < 1970 || d.month < 1 || d.month > 12 || d.day < 1)
		return false;
	*wall_us = days_of(d) * DAY_US +
	    (uint64_t)(hour * 3600 + minute * 60 + second) * SECOND_US + us;
	/* The thirtieth of February, the 61st second: not what we write. */
	clock_text(*wall_us, again);
	return slice_eq_str(text, again);
}
