/* SPDX-License-Identifier: Apache-2.0 */
/* `expires:` of a rule: a moment as RFC 3339 writes it, with its zone. */
#include "base/ascii.h"
#include "load/read_policy.h"

#define DAY_S 86400
#define SHAPE "0000-00-00T00:00:00" /* 0: a digit; the zone stands behind */

struct moment {
	unsigned year, month, day, hour, minute, second;
	int offset_s; /* of its zone from UTC */
};

static unsigned
number_at(struct slice text, size_t at, size_t n)
{
	unsigned v = 0;

	for (size_t i = at; i < at + n; i++)
		v = v * 10 + (unsigned)(text.p[i] - '0');
	return v;
}

static bool
has_shape(struct slice text, const char *shape)
{
	if (text.n != strlen(shape))
		return false;
	for (size_t i = 0; i < text.n; i++)
		if (shape[i] == '0' ? !ascii_is_digit(text.p[i]) :
				      text.p[i] != (uint8_t)shape[i])
			return false;
	return true;
}

/* `Z`, `+01:00`, `-08:30`; what is behind -00:00 nobody knows (RFC 3339 4.3). */
static bool
read_zone(struct slice text, int *offset_s)
{
	*offset_s = 0;
	if (slice_eq_str(text, "Z"))
		return true;
	if (!has_shape(text, "+00:00") && !has_shape(text, "-00:00"))
		return false;
	unsigned hours = number_at(text, 1, 2), minutes = number_at(text, 4, 2);
	if (hours > 23 || minutes > 59)
		return false;
	*offset_s = (int)(hours * 3600 + minutes * 60);
	if (text.p[0] == '+')
		return true;
	*offset_s = -*offset_s;
	return *offset_s != 0;
}

static unsigned
days_of(unsigned month, unsigned year)
{
	static const uint8_t days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31,
		30, 31 };
	bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);

	return days[month - 1] + (month == 2 && leap ? 1U : 0U);
}

/* What is wrong with it, or NULL. */
static const char *
check(const struct moment *m)
{
	if (m->year == 0)
		return "there is no year 0";
	if (m->month < 1 || m->month > 12)
		return "there is no such month";
	if (m->day < 1 || m->day > days_of(m->month, m->year))
		return "there is no such day in that month";
	if (m->hour > 23 || m->minute > 59 || m->second > 59)
		return "there is no such time of day";
	return NULL;
}

/* Seconds since 1970; what is before is 1, which is as much the past. */
static uint64_t
seconds_of(const struct moment *m)
{
	int64_t days = 0;

	for (unsigned y = 1970; y < m->year; y++)
		days += days_of(2, y) == 29 ? 366 : 365;
	for (unsigned i = 1; i < m->month; i++)
		days += days_of(i, m->year);
	days += m->day - 1;
	int64_t s = days * DAY_S + m->hour * 3600 + m->minute * 60 + m->second -
	    m->offset_s;
	return m->year < 1970 || s < 1 ? 1 : (uint64_t)s;
}

static bool
read_moment(const struct read *r, const struct doc_node *node, uint64_t *at_s)
{
	const size_t n = strlen(SHAPE);
	struct slice text;
	struct moment m;

	if (!read_scalar(r, node, "a time such as `2027-01-31T12:00:00Z`",
		&text))
		return false;
	if (text.n <= n || !has_shape(slice_first(text, n), SHAPE) ||
	    !read_zone(slice_from(text, n), &m.offset_s))
		return read_refuse(r, node,
		    "`%.*s` is no time with its zone: expected such as "
		    "`2027-01-31T12:00:00Z` or `2027-01-31T12:00:00+01:00`",
		    SLICE_ARG(slice_first(text, 64)));
	m.year = number_at(text, 0, 4);
	m.month = number_at(text, 5, 2);
	m.day = number_at(text, 8, 2);
	m.hour = number_at(text, 11, 2);
	m.minute = number_at(text, 14, 2);
	m.second = number_at(text, 17, 2);
	const char *wrong = check(&m);
	if (wrong != NULL)
		return read_refuse(r, node, "`%.*s`: %s", SLICE_ARG(text),
		    wrong);
	*at_s = seconds_of(&m);
	return true;
}

bool
read_rule_expires(struct read_policy *p, const struct doc_node *node,
    struct load_rule *rule)
{
	const struct doc_node *expires = read_find(node, "expires");
	uint64_t now_s = p->in->now_s;

	if (expires == NULL)
		return true;
	if (!read_moment(&p->r, expires, &rule->expires_s))
		return false;
	if (now_s == 0 || rule->expires_s > now_s + DAY_S)
		return true;
	load_warn(p->r.report, read_at(&p->r, expires),
	    rule->expires_s <= now_s ?
		"the rule has expired: it is as if it were not there" :
		"the rule expires within a day");
	return true;
}
