/* SPDX-License-Identifier: Apache-2.0 */
/* --event, --reason, --since and the rest: which records are wanted. */
#include <errno.h>

#include "audit/escape.h"
#include "base/ascii.h"
#include "base/clock.h"
#include "base/nearest.h"
#include "base/reason.h"
#include "cmd/audit.h"

#define SECOND_US UINT64_C(1000000)

/* A name of a closed list, by its number. */
typedef const char *name_of(size_t i);

static const char *
event_at(size_t i)
{
	return event_name((enum event_kind)i);
}

static const char *
reason_at(size_t i)
{
	return reason_name((enum reason)i);
}

static const char *
verdict_at(size_t i)
{
	return i == 0 ? "allow" : i == 1 ? "deny" : "report";
}

/* What is there instead, and the whole list. */
static bool
refuse(const char *option, const char *value, name_of *name, size_t n)
{
	struct nearest near = nearest_to(slice_of_str(value));
	size_t column = 80;
	struct buf shown;

	buf_init(&shown, 4096);
	escape_show(&shown, slice_first(slice_of_str(value), 64));
	for (size_t i = 0; i < n; i++)
		nearest_look(&near, slice_of_str(name(i)));
	fprintf(stderr, "duenna: audit: %s: there is no `%s`" NEAREST_FMT,
	    option, buf_text(&shown), NEAREST_ARG(near));
	buf_release(&shown);
	fputs("\nOne of:", stderr);
	for (size_t i = 0; i < n; i++) {
		size_t width = strlen(name(i)) + 1;
		column = column + width > 78 ? 3 : column + width;
		fprintf(stderr, "%s%s", column == 3 ? "\n    " : " ", name(i));
		column += column == 3 ? width : 0;
	}
	fputc('\n', stderr);
	return false;
}

static bool
take_event(struct audit_pick *p, const char *value)
{
	enum event_kind kind = event_find(slice_of_str(value));

	if (kind == EVENT_COUNT)
		return refuse("--event", value, event_at, EVENT_COUNT);
	p->events |= 1U << kind;
	return true;
}

static bool
take_reason(struct audit_pick *p, const char *value)
{
	enum reason reason = reason_find(slice_of_str(value));

	if (reason == REASON_COUNT)
		return refuse("--reason", value, reason_at, REASON_COUNT);
	p->reasons[reason] = true;
	p->has_reason = true;
	return true;
}

static bool
take_verdict(struct audit_pick *p, const char *value)
{
	if (strcmp(value, "allow") != 0 && strcmp(value, "deny") != 0 &&
	    strcmp(value, "report") != 0)
		return refuse("--verdict", value, verdict_at, 3);
	p->verdict = value;
	return true;
}

/* Digits off the front; false: there are none, or too many. */
static bool
take_number(const char **text, unsigned long long *v)
{
	char *end;

	if (!ascii_is_digit((uint8_t) * *text))
		return false;
	errno = 0;
	*v = strtoull(*text, &end, 10);
	*text = end;
	return errno == 0;
}

/* "90s", "15m", "2h", "7d": that long ago. */
static bool
take_ago(const char *text, uint64_t *us)
{
	static const struct {
		char unit;
		uint64_t seconds;
	} units[] = { { 's', 1 }, { 'm', 60 }, { 'h', 3600 }, { 'd', 86400 } };
	uint64_t now = clock_wall_us();
	unsigned long long n;

	if (!take_number(&text, &n) || text[0] == '\0' || text[1] != '\0')
		return false;
	for (size_t i = 0; i < COUNT_OF(units); i++) {
		uint64_t unit = units[i].seconds * SECOND_US;
		if (text[0] != units[i].unit)
			continue;
		*us = n > now / unit ? 0 : now - n * unit;
		return true;
	}
	return false;
}

/* "2026-11-30", "…T09:08Z", "…T09:08:07Z", or a `time` of a record. */
static bool
take_instant(const char *text, uint64_t *us)
{
	static const char rest[] = "T00:00:00.000000Z";
	char whole[CLOCK_TEXT_SIZE];
	size_t n = strlen(text);

	if (n >= sizeof(whole))
		return false;
	memcpy(whole, text, n + 1);
	/* A day, minutes, seconds: 10, 16, 19 signs before a `Z`. */
	if (n == 17 || n == 20) {
		if (whole[--n] != 'Z')
			return false;
	} else if (n != 10 && n != 27) {
		return false;
	}
	if (n != 27)
		memcpy(whole + n, rest + (n - 10), sizeof(rest) - (n - 10));
	return clock_read(slice_of_str(whole), us);
}

static bool
take_time(const char *option, const char *value, uint64_t *us)
{
	if (take_ago(value, us) || take_instant(value, us))
		return true;
	fprintf(stderr,
	    "duenna: audit: %s wants a time in UTC, such as 2026-11-30 or "
	    "2026-11-30T09:08:07Z,\nor how long ago: 90s, 15m, 2h, 7d\n",
	    option);
	return false;
}

static bool
take_limit(struct audit_pick *p, const char *value)
{
	if (take_number(&value, &p->max) && *value == '\0' && p->max != 0)
		return true;
	fputs("duenna: audit: --limit wants a number above 0\n", stderr);
	return false;
}

bool
audit_pick_take(struct audit_pick *p, enum audit_pick_option option,
    const char *value)
{
	switch (option) {
	case PICK_EVENT:
		return take_event(p, value);
	case PICK_REASON:
		return take_reason(p, value);
	case PICK_VERDICT:
		return take_verdict(p, value);
	case PICK_DENIED:
		p->verdict = "deny";
		return true;
	case PICK_SANDBOX:
		p->sandbox = value;
		return true;
	case PICK_RULE:
		p->rule = value;
		return true;
	case PICK_HOST:
		p->host = value;
		return true;
	case PICK_FLOW:
		p->flow = value;
		return true;
	case PICK_SINCE:
		return take_time("--since", value, &p->since_us);
	case PICK_UNTIL:
		return take_time("--until", value, &p->until_us);
	case PICK_LIMIT:
		return take_limit(p, value);
	}
	return false;
}

static bool
has_text(const struct event *e, enum event_field f, const char *want)
{
	return want == NULL || slice_eq_str(event_text_of(e, f), want);
}

/* NAME itself; `*.NAME` what is below it. */
static bool
is_host(struct slice host, const char *want)
{
	struct slice name = slice_of_str(want);

	if (slice_has_prefix(name, SLICE("*."))) {
		name = slice_from(name, 1);
		if (host.n <= name.n)
			return false;
		host = slice_from(host, host.n - name.n);
	}
	return ascii_eq_fold(host, name);
}

/* Whichever of the places has a name or an address. */
static bool
has_host(const struct event *e, const char *want)
{
	static const enum event_field places[] = { FIELD_HOST, FIELD_SNI,
		FIELD_DST_NAME, FIELD_DST_ADDRESS, FIELD_PEER_ADDRESS };

	for (size_t i = 0; i < COUNT_OF(places); i++)
		if (event_has(e, places[i]) &&
		    is_host(e->text[places[i]], want))
			return true;
	return false;
}

bool
audit_picks(const struct audit_pick *p, const struct line *l)
{
	const struct event *e = &l->event;

	if (p->events != 0 && (p->events & 1U << e->kind) == 0)
		return false;
	if (p->has_reason) {
		enum reason r = reason_find(event_text_of(e, FIELD_REASON));
		if (r == REASON_COUNT || !p->reasons[r])
			return false;
	}
	return l->wall_us >= p->since_us &&
	    (p->until_us == 0 || l->wall_us < p->until_us) &&
	    has_text(e, FIELD_VERDICT, p->verdict) &&
	    has_text(e, FIELD_SANDBOX, p->sandbox) &&
	    has_text(e, FIELD_RULE, p->rule) &&
	    has_text(e, FIELD_FLOW, p->flow) &&
	    (p->host == NULL || has_host(e, p->host));
}
