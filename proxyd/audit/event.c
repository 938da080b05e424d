/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <inttypes.h>
#include <stdio.h>

#include "audit/event.h"
#include "base/rd.h"
#include "base/wr.h"
#include "crypto/digest.h"

enum type {
	TEXT,
	NUMBER,
	BOOL,
};

/* Room for "...(18446744073709551615 bytes, sha256:" 64 digits ")". */
#define CUT_SIZE 112

#define QTYPE_HTTPS 65

static const struct {
	const char *name, *meaning;
} kinds[EVENT_COUNT] = {
#define X(id, text, why) [EVENT_##id] = { text, why },
	EVENT_LIST(X)
#undef X
};

static const struct {
	const char *key;
	enum type type;
} fields[FIELD_COUNT] = {
#define X(id, text, kind) [FIELD_##id] = { text, kind },
	FIELD_LIST(X)
#undef X
};

#define F(id) (1ULL << FIELD_##id)
#define DECIDED (F(VERDICT) | F(REASON))
#define EXCHANGED (F(SANDBOX) | F(FLOW) | F(EXCHANGE) | F(FACTS_KIND))

/* What an event of a kind must have. */
static const uint64_t needs[EVENT_COUNT] = {
	[EVENT_START] = F(VERSION) | F(KEY) | F(MACHINE_KEY) | F(KEY_SIGNATURE),
	[EVENT_STOP] = 0,
	[EVENT_PROGRAM] = F(SANDBOX) | F(POLICY) | F(PROGRAM) | F(GENERATION),
	[EVENT_ATTACH] = F(SANDBOX),
	[EVENT_DETACH] = F(SANDBOX),
	[EVENT_FLOW_BEGIN] = F(SANDBOX) | F(FLOW),
	[EVENT_FLOW_END] = F(SANDBOX) | F(FLOW) | F(REASON),
	[EVENT_REQUEST_BEGIN] = EXCHANGED | DECIDED,
	[EVENT_REQUEST_END] = EXCHANGED | DECIDED,
	[EVENT_PUSH_BEGIN] = EXCHANGED | DECIDED | F(GIT_COMMAND),
	[EVENT_PUSH_END] = EXCHANGED | DECIDED | F(GIT_COMMAND),
	[EVENT_GIT_PROBE] = EXCHANGED | DECIDED,
	[EVENT_DIAL] = DECIDED | F(HOST) | F(PORT) | F(FLOW),
	[EVENT_RELEASE] = DECIDED | F(CREDENTIAL) | F(FLOW),
	[EVENT_QUESTION] = F(SANDBOX) | F(FLOW) | F(EXCHANGE) | F(HOST) |
	    F(PORT) | F(METHOD) | F(PATH) | F(COOKIE_SOCKET),
	[EVENT_DNS] = DECIDED | F(SANDBOX),
	[EVENT_DROP] = F(SANDBOX) | F(REASON) | F(COUNTED),
	[EVENT_CHECKPOINT] = F(COUNTED) | F(COVERED) | F(SIGNATURE),
	[EVENT_GAP] = F(COUNTED),
	[EVENT_ALARM] = F(DETAIL),
};

const char *
event_name(enum event_kind kind)
{
	return kind < EVENT_COUNT ? kinds[kind].name : "unknown";
}

const char *
event_meaning(enum event_kind kind)
{
	return kind < EVENT_COUNT ? kinds[kind].meaning : "unknown";
}

enum event_kind
event_find(struct slice name)
{
	for (int k = 0; k < EVENT_COUNT; k++)
		if (slice_eq_str(name, kinds[k].name))
			return (enum event_kind)k;
	return EVENT_COUNT;
}

const char *
event_field_key(enum event_field field)
{
	assert(field < FIELD_COUNT);
	return fields[field].key;
}

bool
event_field_is_text(enum event_field field)
{
	return fields[field].type == TEXT;
}

bool
event_field_is_bool(enum event_field field)
{
	return fields[field].type == BOOL;
}

size_t
event_field_max(enum event_field field)
{
	if (field == FIELD_PATH)
		return EVENT_PATH_MAX;
	return field == FIELD_QUERY ? EVENT_QUERY_MAX : EVENT_TEXT_MAX;
}

enum event_field
event_field_find(struct slice key)
{
	for (int f = 0; f < FIELD_COUNT; f++)
		if (slice_eq_str(key, fields[f].key))
			return (enum event_field)f;
	return FIELD_COUNT;
}

bool
event_needs(enum event_kind kind, enum event_field field)
{
	return (needs[kind] & 1ULL << field) != 0;
}

void
event_init(struct event *e, enum event_kind kind)
{
	*e = (struct event){ .kind = kind };
}

void
event_text(struct event *e, enum event_field field, struct slice value)
{
	assert(fields[field].type == TEXT);
	e->set |= 1ULL << field;
	e->text[field] = value;
}

void
event_str(struct event *e, enum event_field field, const char *value)
{
	event_text(e, field, slice_of_str(value));
}

void
event_number(struct event *e, enum event_field field, uint64_t value)
{
	assert(fields[field].type == NUMBER);
	e->set |= 1ULL << field;
	e->number[field] = value;
}

void
event_bool(struct event *e, enum event_field field, bool value)
{
	assert(fields[field].type == BOOL);
	e->set |= 1ULL << field;
	e->number[field] = value ? 1 : 0;
}

void
event_reason(struct event *e, enum reason reason)
{
	event_str(e, FIELD_REASON, reason_name(reason));
}

bool
event_has(const struct event *e, enum event_field field)
{
	return (e->set & 1ULL << field) != 0;
}

/*
 * Browsers ask for type HTTPS of each name that they open, and go on without
 * (RFC 9460, section 3): an allowed page would count as blocked.
 */
static bool
is_passing_question(const struct event *e, struct slice reason)
{
	return event_has(e, FIELD_QTYPE) &&
	    event_number_of(e, FIELD_QTYPE) == QTYPE_HTTPS &&
	    slice_eq_str(reason, reason_name(REASON_DNS_QTYPE));
}

bool
event_is_denial(const struct event *e)
{
	struct slice reason = event_text_of(e, FIELD_REASON);

	return slice_eq_str(event_text_of(e, FIELD_VERDICT), "deny") &&
	    !slice_eq_str(reason, reason_name(REASON_CLIENT_ABORT)) &&
	    !is_passing_question(e, reason);
}

bool
event_is_reported(const struct event *e)
{
	return slice_eq_str(event_text_of(e, FIELD_VERDICT), "report");
}

struct slice
event_text_of(const struct event *e, enum event_field field)
{
	return event_has(e, field) ? e->text[field] : (struct slice){ 0 };
}

uint64_t
event_number_of(const struct event *e, enum event_field field)
{
	return event_has(e, field) ? e->number[field] : 0;
}

static const char *
check_decision(const struct event *e, enum event_field *field)
{
	struct slice verdict = event_text_of(e, FIELD_VERDICT);
	enum reason reason = reason_find(event_text_of(e, FIELD_REASON));

	*field = FIELD_REASON;
	if (event_has(e, FIELD_REASON) && reason == REASON_COUNT)
		return "reason is not of the list";
	*field = FIELD_FAULT;
	if (event_has(e, FIELD_FAULT) &&
	    reason_find(event_text_of(e, FIELD_FAULT)) == REASON_COUNT)
		return "fault is not of the list";
	*field = FIELD_VERDICT;
	if (!event_has(e, FIELD_VERDICT))
		return event_has(e, FIELD_FACTS_KIND) ?
		    "facts without verdict" :
		    NULL;
	if (!slice_eq_str(verdict, "allow") && !slice_eq_str(verdict, "deny") &&
	    !slice_eq_str(verdict, "report"))
		return "verdict is neither allow nor deny nor report";
	if (!event_has(e, FIELD_REASON) ||
	    slice_eq_str(verdict, "allow") != reason_is_allow(reason))
		return "verdict and reason contradict each other";
	*field = FIELD_PROGRAM;
	if (event_has(e, FIELD_FACTS_KIND) && !event_has(e, FIELD_PROGRAM) &&
	    reason != REASON_POLICY_NONE)
		return "facts without program";
	return NULL;
}

const char *
event_check(const struct event *e, enum event_field *field)
{
	for (int f = 0; f < FIELD_COUNT; f++) {
		*field = (enum event_field)f;
		if (event_needs(e->kind, *field) && !event_has(e, *field))
			return "a field is missing";
	}
	return check_decision(e, field);
}

static void
put_text(struct wr *w, enum event_field field, struct slice text)
{
	size_t max = event_field_max(field);
	char tail[CUT_SIZE], name[DIGEST_NAME_SIZE];

	if (text.n <= max) {
		wr_slice16(w, text);
		return;
	}
	digest_name(text, name);
	int n =
	    snprintf(tail, sizeof(tail), "...(%zu bytes, %s)", text.n, name);
	assert(n > 0 && (size_t)n < sizeof(tail));
	wr_u16(w, (uint16_t)max);
	wr_bytes(w, slice_first(text, max - (size_t)n));
	wr_bytes(w, slice_of(tail, (size_t)n));
}

/* So that event_encode never fails: all texts at their longest. */
_Static_assert(1 + EVENT_PATH_MAX + EVENT_QUERY_MAX + 30 * EVENT_TEXT_MAX +
	    FIELD_COUNT * 9 <=
	EVENT_SIZE_MAX,
    "an event has at most 30 short texts");
#define X(id, text, kind) +((kind) == TEXT)
enum {
	N_TEXTS = FIELD_LIST(X)
};
#undef X
_Static_assert(N_TEXTS - 2 <= 30, "see above");

size_t
event_encode(const struct event *e, uint8_t *out, size_t max)
{
	struct wr w = wr_of(out, max);

	wr_u8(&w, (uint8_t)e->kind);
	/* Half of the fields of a request are there: from one to the next. */
	for (uint64_t left = e->set; left != 0; left &= left - 1) {
		int i = __builtin_ctzll(left);
		enum event_field field = (enum event_field)i;
		wr_u8(&w, (uint8_t)i);
		if (fields[i].type == TEXT)
			put_text(&w, field, e->text[i]);
		else if (fields[i].type == NUMBER)
			wr_u64(&w, e->number[i]);
		else
			wr_u8(&w, e->number[i] != 0);
	}
	assert(!w.bad || max < EVENT_SIZE_MAX);
	return w.bad ? 0 : w.n;
}

static bool
take_value(struct rd *r, struct event *e, enum event_field field)
{
	if (fields[field].type == TEXT) {
		event_text(e, field, rd_slice16(r));
		return e->text[field].n <= event_field_max(field);
	}
	if (fields[field].type == NUMBER) {
		event_number(e, field, rd_u64(r));
		return true;
	}
	uint8_t v = rd_u8(r);
	event_bool(e, field, v == 1);
	return v <= 1;
}

bool
event_decode(struct slice in, struct event *e)
{
	struct rd r = rd_of(in);
	unsigned kind = rd_u8(&r);
	int last = -1;

	if (r.bad || kind >= EVENT_COUNT || in.n > EVENT_SIZE_MAX)
		return false;
	event_init(e, (enum event_kind)kind);
	while (!r.bad && r.in.n != 0) {
		int field = rd_u8(&r);
		/* In order and once: one event has one encoding. */
		if (field <= last || field >= FIELD_COUNT)
			return false;
		last = field;
		if (!take_value(&r, e, (enum event_field)field))
			return false;
	}
	return !r.bad;
}
