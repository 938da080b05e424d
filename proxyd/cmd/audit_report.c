/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was blocked in the last run of a log, grouped: what `run` says at its
 * end.  A process of its own reads the log there, since peers chose its texts.
 */
#include <inttypes.h>
#include <unistd.h>

#include "audit/escape.h"
#include "audit/line.h"
#include "base/json.h"
#include "base/mem.h"
#include "cmd/audit.h"
#include "cmd/cmd.h"

#define GROUPS_MAX 512	/* kinds of refusals that are told apart */
#define ROWS_MAX 10	/* of those, shown: the most frequent */
#define WHAT_SIZE 160	/* bytes of what was asked for; the rest is cut */
#define REASON_WIDTH 18 /* columns */

struct group {
	char reason[32], what[WHAT_SIZE];
	bool alarm;
	uint64_t n;
};

struct report {
	struct group groups[GROUPS_MAX];
	size_t n;
	uint64_t n_denied, n_alarms, n_other; /* other: found no group */
	uint64_t n_records;
	struct buf store;
	/* A denied request stands for its flow, whose end repeats it. */
	char told[48];
};

static void
count(struct report *r, const struct event *e, bool alarm, const char *what)
{
	uint64_t n =
	    event_has(e, FIELD_COUNTED) ? event_number_of(e, FIELD_COUNTED) : 1;
	struct slice reason = event_text_of(e, FIELD_REASON);

	*(alarm ? &r->n_alarms : &r->n_denied) += n;
	for (size_t i = 0; i < r->n; i++) {
		struct group *g = &r->groups[i];
		if (g->alarm == alarm && slice_eq_str(reason, g->reason) &&
		    strcmp(g->what, what) == 0) {
			g->n += n;
			return;
		}
	}
	if (r->n == GROUPS_MAX) {
		r->n_other += n;
		return;
	}
	struct group *g = &r->groups[r->n++];
	*g = (struct group){ .alarm = alarm, .n = n };
	snprintf(g->reason, sizeof(g->reason), "%.*s", SLICE_ARG(reason));
	snprintf(g->what, sizeof(g->what), "%s", what);
}

/* Denials of requests, of connections without one, questions and packets. */
static bool
is_denial(struct report *r, const struct event *e)
{
	struct slice flow = event_text_of(e, FIELD_FLOW);

	if (e->kind == EVENT_DROP)
		return true;
	if (!slice_eq_str(event_text_of(e, FIELD_VERDICT), "deny"))
		return false;
	if (e->kind == EVENT_REQUEST_END) {
		snprintf(r->told, sizeof(r->told), "%.*s", SLICE_ARG(flow));
		return true;
	}
	return e->kind == EVENT_DNS ||
	    (e->kind == EVENT_FLOW_END &&
		(flow.n == 0 || !slice_eq_str(flow, r->told)));
}

static void
take(struct report *r, const struct event *e)
{
	bool alarm = e->kind == EVENT_ALARM;
	struct buf what;

	/* A start that is no restart of the scribe begins another run. */
	if (e->kind == EVENT_START && event_number_of(e, FIELD_REPEATED) == 0) {
		r->n = 0;
		r->n_denied = r->n_alarms = r->n_other = 0;
	}
	if (!alarm && !is_denial(r, e))
		return;
	buf_init(&what, LINE_SIZE_MAX);
	if (e->kind == EVENT_DNS)
		buf_put_str(&what, "dns ");
	audit_put_url(&what, e);
	if (what.n == 0 && event_has(e, FIELD_DETAIL))
		escape_show(&what, e->text[FIELD_DETAIL]);
	if (e->kind == EVENT_DROP)
		buf_put_str(&what, " packets");
	count(r, e, alarm, buf_text(&what));
	buf_release(&what);
}

static int
by_count(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	return x->n == y->n ? 0 : x->n < y->n ? 1 : -1;
}

static void
print_text(const struct report *r)
{
	printf("blocked: %" PRIu64 ", alarms: %" PRIu64 "\n", r->n_denied,
	    r->n_alarms);
	for (size_t i = 0; i < r->n && i < ROWS_MAX; i++)
		printf("%6" PRIu64 "x %-*s %s%s\n", r->groups[i].n,
		    REASON_WIDTH, r->groups[i].reason,
		    r->groups[i].alarm ? "ALARM " : "", r->groups[i].what);
	if (r->n > ROWS_MAX || r->n_other != 0)
		printf("       … and %zu kinds more\n",
		    (r->n > ROWS_MAX ? r->n - ROWS_MAX : 0) +
			(r->n_other != 0));
}

static void
print_json(const struct report *r)
{
	struct buf out;
	struct json j;

	buf_init(&out, 1 << 20);
	json_init(&j, &out);
	json_object(&j);
	json_key_number(&j, "blocked", r->n_denied);
	json_key_number(&j, "alarms", r->n_alarms);
	json_key(&j, "groups");
	json_array(&j);
	for (size_t i = 0; i < r->n; i++) {
		json_object(&j);
		json_key_number(&j, "count", r->groups[i].n);
		json_key_str(&j, "reason", r->groups[i].reason);
		json_key_bool(&j, "alarm", r->groups[i].alarm);
		json_key_str(&j, "what", r->groups[i].what);
		json_object_end(&j);
	}
	json_array_end(&j);
	json_object_end(&j);
	puts(buf_text(&out));
	buf_release(&out);
}

int
audit_report(const struct audit_options *o)
{
	int fd = audit_open(o->file);
	enum reader_got got;
	struct reader reader;
	struct slice in;

	if (fd < 0)
		return CMD_NO;
	struct report *r = mem_alloc(sizeof(*r));
	buf_init(&r->store, LINE_SIZE_MAX + 1);
	reader_init(&reader, fd);
	while ((got = reader_take(&reader, &in)) == READER_LINE ||
	    got == READER_LONG) {
		const char *detail;
		struct line l;
		if (got != READER_LINE ||
		    !line_read(in, &r->store, &l, &detail))
			continue;
		r->n_records++;
		take(r, &l.event);
	}
	bool is_log = r->n_records != 0;
	if (!is_log)
		fprintf(stderr, "duenna: audit: %s holds no record\n", o->file);
	qsort(r->groups, r->n, sizeof(r->groups[0]), by_count);
	if (is_log && o->json)
		print_json(r);
	else if (is_log)
		print_text(r);
	reader_release(&reader);
	buf_release(&r->store);
	free(r);
	close(fd);
	return is_log ? 0 : CMD_NO;
}
