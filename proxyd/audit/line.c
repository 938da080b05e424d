/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/line.h"
#include "audit/escape.h"
#include "base/ascii.h"
#include "base/clock.h"

static const char hash_key[] = ",\"hash\":\"";

/* What stands before each field's value. */
static const struct slice prefixes[FIELD_COUNT] = {
#define TEXT "\""
#define NUMBER ""
#define BOOL ""
#define X(id, key, type)                           \
	{ (const uint8_t *)(",\"" key "\":" type), \
		sizeof(",\"" key "\":" type) - 1 },
	FIELD_LIST(X)
#undef X
#undef TEXT
#undef NUMBER
#undef BOOL
};

static void
put_field(struct buf *out, const struct event *e, enum event_field field)
{
	buf_put(out, prefixes[field]);
	if (event_field_is_text(field)) {
		escape_put(out, e->text[field]);
		buf_put_byte(out, '"');
	} else if (event_field_is_bool(field)) {
		buf_put_str(out, e->number[field] != 0 ? "true" : "false");
	} else {
		buf_put_number(out, e->number[field]);
	}
}

void
line_put(struct buf *out, uint64_t seq, uint64_t wall_us, const struct event *e)
{
	char time[CLOCK_TEXT_SIZE];

	clock_text(wall_us, time);
	buf_put(out, SLICE("{\"seq\":"));
	buf_put_number(out, seq);
	buf_put(out, SLICE(",\"time\":\""));
	buf_put_str(out, time);
	buf_put(out, SLICE("\",\"event\":\""));
	buf_put_str(out, event_name(e->kind));
	buf_put_byte(out, '"');
	for (int f = 0; f < FIELD_COUNT; f++)
		if (event_has(e, (enum event_field)f))
			put_field(out, e, (enum event_field)f);
}

void
line_put_hash(struct buf *out, const char hash[LINE_HASH_HEX + 1])
{
	buf_put_str(out, hash_key);
	buf_put_str(out, hash);
	buf_put(out, SLICE("\"}\n"));
}

static bool
take(struct slice *in, const char *literal)
{
	struct slice want = slice_of_str(literal);

	if (!slice_has_prefix(*in, want))
		return false;
	*in = slice_from(*in, want.n);
	return true;
}

static bool
take_number(struct slice *in, uint64_t *v)
{
	size_t i = 0;

	for (*v = 0; i < in->n && ascii_is_digit(in->p[i]); i++) {
		unsigned digit = in->p[i] - '0';
		if (*v > (UINT64_MAX - digit) / 10)
			return false;
		*v = *v * 10 + digit;
	}
	*in = slice_from(*in, i);
	return i != 0;
}

static bool
take_time(struct slice *in, uint64_t *wall_us)
{
	struct slice text = slice_first(*in, CLOCK_TEXT_SIZE - 1);

	*in = slice_from(*in, text.n);
	return clock_read(text, wall_us);
}

/* `"key":`, what stands before a value. */
static bool
take_key(struct slice *in, enum event_field *field)
{
	const uint8_t *end;
	size_t n;

	if (!take(in, ",\"") || in->n == 0)
		return false;
	end = memchr(in->p, '"', in->n);
	n = end == NULL ? in->n : (size_t)(end - in->p);
	*field = event_field_find(slice_first(*in, n));
	*in = slice_from(*in, n);
	return *field != FIELD_COUNT && take(in, "\":");
}

/* Texts are written to `room`, which has place for all of `in`. */
static bool
take_value(struct slice *in, uint8_t **room, struct event *e,
    enum event_field field)
{
	uint64_t v;
	size_t n;

	if (event_field_is_text(field)) {
		if (!take(in, "\"") || !escape_take(in, *room, &n))
			return false;
		event_text(e, field, slice_of(*room, n));
		*room += n;
		return n <= event_field_max(field);
	}
	if (event_field_is_bool(field)) {
		bool is_true = take(in, "true");
		event_bool(e, field, is_true);
		return is_true || take(in, "false");
	}
	if (!take_number(in, &v))
		return false;
	event_number(e, field, v);
	return true;
}

static bool
take_head(struct slice *in, struct line *l)
{
	const uint8_t *end;
	enum event_kind kind;

	if (!take(in, "{\"seq\":") || !take_number(in, &l->seq) ||
	    !take(in, ",\"time\":\"") || !take_time(in, &l->wall_us) ||
	    !take(in, "\",\"event\":\"") || in->n == 0)
		return false;
	end = memchr(in->p, '"', in->n);
	if (end == NULL)
		return false;
	kind = event_find(slice_first(*in, (size_t)(end - in->p)));
	*in = slice_from(*in, (size_t)(end - in->p) + 1);
	if (kind == EVENT_COUNT)
		return false;
	event_init(&l->event, kind);
	return true;
}

/* Written again it must be the same: one record has one spelling. */
static bool
is_canonical(struct slice in, const struct line *l)
{
	char hash[LINE_HASH_HEX + 1] = { 0 };
	struct buf again;
	bool same;

	memcpy(hash, l->hash.p, LINE_HASH_HEX);
	buf_init(&again, LINE_SIZE_MAX);
	line_put(&again, l->seq, l->wall_us, &l->event);
	line_put_hash(&again, hash);
	same = !again.failed && again.n == in.n + 1 &&
	    memcmp(again.p, in.p, in.n) == 0;
	buf_release(&again);
	return same;
}

bool
line_read(struct slice in, struct buf *store, struct line *l,
    const char **detail)
{
	struct slice rest = in;
	enum event_field field;
	uint8_t *room;

	buf_clear(store);
	*l = (struct line){ 0 };
	*detail = "line is too long";
	if (in.n >= LINE_SIZE_MAX || (room = buf_room(store, in.n + 1)) == NULL)
		return false;
	*detail = "sequence number, time and event come first";
	if (!take_head(&rest, l))
		return false;
	while (!slice_has_prefix(rest, slice_of_str(hash_key))) {
		*detail = "unknown key";
		if (!take_key(&rest, &field))
			return false;
		*detail = "value is not of its field's type";
		if (!take_value(&rest, &room, &l->event, field))
			return false;
	}
	l->covered = slice_first(in, in.n - rest.n);
	*detail = "hash is not 64 digits at the end";
	(void)take(&rest, hash_key);
	l->hash = slice_first(rest, LINE_HASH_HEX);
	rest = slice_from(rest, l->hash.n);
	if (l->hash.n != LINE_HASH_HEX || !slice_eq_str(rest, "\"}"))
		return false;
	*detail = "not as duenna writes it";
	return is_canonical(in, l);
}
