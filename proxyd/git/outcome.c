/* SPDX-License-Identifier: Apache-2.0 */
#include "git/outcome.h"
#include "git/put.h"

#define BAND_REPORT 1
#define BAND_LAST 3

int
outcome_init(struct outcome *o, const struct push *push)
{
	*o = (struct outcome){ .push = push };
	lines_init(&o->outer);
	lines_init(&o->inner);
	buf_init(&o->text, OUTCOME_TEXT_MAX);
	o->refs = calloc(push->n_commands + 1, sizeof(*o->refs));
	return o->refs == NULL ? -1 : 0;
}

void
outcome_release(struct outcome *o)
{
	lines_release(&o->outer);
	lines_release(&o->inner);
	buf_release(&o->text);
	free(o->refs);
	o->refs = NULL;
}

/* The command of a ref, or n_commands. */
static size_t
find(const struct push *p, struct slice ref)
{
	size_t i = 0;

	while (i < p->n_commands && !slice_eq(push_command(p, i).ref, ref))
		i++;
	return i;
}

static void
note(struct outcome *o, struct slice ref, enum outcome_is is, struct slice why)
{
	size_t i = find(o->push, ref), at = o->text.n;

	/* The first word counts: a server cannot take it back in the record. */
	if (i == o->push->n_commands || o->refs[i].is != OUTCOME_UNKNOWN)
		return;
	o->refs[i].is = is;
	put_clean(&o->text, why, OUTCOME_REASON_MAX, true);
	if (o->text.failed) {
		o->text.failed = false;
		o->text.n = at;
	}
	o->refs[i].why =
	    (struct push_span){ (uint32_t)at, (uint32_t)(o->text.n - at) };
}

/* "ok REF", "ng REF why"; "option ..." behind an `ok` says nothing new. */
static void
take_status(struct outcome *o, struct slice text)
{
	bool ok = slice_has_prefix(text, SLICE("ok "));
	struct slice rest = slice_from(text, 3);
	size_t n = 0;

	if (slice_has_prefix(text, SLICE("option ")))
		return;
	if (!ok && !slice_has_prefix(text, SLICE("ng "))) {
		o->is_odd = true;
		return;
	}
	while (n < rest.n && (ok || rest.p[n] != ' '))
		n++;
	note(o, slice_first(rest, n), ok ? OUTCOME_OK : OUTCOME_NG,
	    slice_from(rest, n + 1));
}

static void
take_report_line(struct outcome *o, const struct pktline *line, bool first)
{
	struct slice text = pktline_chomp(line->data);

	if (line->kind == PKTLINE_FLUSH)
		o->has_ended = true;
	else if (line->kind != PKTLINE_DATA)
		o->is_odd = true;
	else if (first)
		o->is_odd = !slice_has_prefix(text, SLICE("unpack "));
	else
		take_status(o, text);
	if (first)
		o->unpacked = slice_eq(text, SLICE("unpack ok"));
}

static void
take_report(struct outcome *o, struct slice in)
{
	struct parse_fail fail;
	struct pktline line;

	while (!o->is_odd && !o->has_ended) {
		enum parse got = lines_take(&o->inner, &in, &line, &fail);
		if (got == PARSE_BAD)
			o->is_odd = true;
		if (got != PARSE_DONE)
			return;
		bool first = !o->begun;
		o->begun = true;
		take_report_line(o, &line, first);
	}
}

static void
take_band(struct outcome *o, const struct pktline *line)
{
	if (line->kind == PKTLINE_FLUSH)
		return;
	if (line->kind != PKTLINE_DATA || line->data.n == 0 ||
	    line->data.p[0] == 0 || line->data.p[0] > BAND_LAST)
		o->is_odd = true;
	else if (line->data.p[0] == BAND_REPORT)
		take_report(o, slice_from(line->data, 1));
}

void
outcome_take(struct outcome *o, struct slice in)
{
	struct parse_fail fail;
	struct pktline line;

	if ((o->push->caps & PUSH_SIDE_BAND_64K) == 0) {
		take_report(o, in);
		return;
	}
	while (!o->is_odd && !o->has_ended) {
		enum parse got = lines_take(&o->outer, &in, &line, &fail);
		if (got == PARSE_BAD)
			o->is_odd = true;
		if (got != PARSE_DONE)
			return;
		take_band(o, &line);
	}
}

enum outcome_is
outcome_of(const struct outcome *o, size_t i, struct slice *why)
{
	const struct outcome_ref *r = &o->refs[i];

	*why = slice_of(o->text.p + r->why.at, r->why.n);
	if (r->why.n == 0)
		*why = (struct slice){ 0 };
	return r->is;
}
