/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What was blocked in the last run of a log, grouped: what `run` says at its
 * end.  A process of its own reads the log there, since peers chose its texts.
 *
 * A name without a rule is one thing, however often it was met: its questions
 * (A and AAAA are one) count only where nothing was sent to it, and requests to
 * it are not told apart by what follows the name.
 */
#include <inttypes.h>
#include <unistd.h>

#include "audit/escape.h"
#include "base/json.h"
#include "base/mem.h"
#include "cmd/audit.h"
#include "cmd/cmd.h"

#define GROUPS_MAX 512	/* kinds of refusals that are told apart */
#define ROWS_MAX 10	/* of those, shown: the most frequent */
#define WHAT_SIZE 160	/* bytes of what was asked for; the rest is cut */
#define HOST_SIZE 256	/* bytes of a name, and a NUL */
#define REASON_WIDTH 18 /* columns */
#define TYPE_AAAA 28	/* RFC 3596 */

struct group {
	char reason[32], what[WHAT_SIZE];
	char host[HOST_SIZE]; /* of a name without a rule; else empty */
	bool alarm, question;
	bool reported; /* let through, since it is not enforced */
	uint64_t n;
	uint64_t n_aaaa; /* of a question: those not in `n` */
};

struct report {
	struct group groups[GROUPS_MAX];
	size_t n;
	/* Summed up by finish(). */
	uint64_t n_denied, n_reported, n_alarms;
	/* Those that found no group. */
	uint64_t n_other, n_other_reported, n_other_alarms;
	/* A denied request stands for its flow, whose end repeats it. */
	char told[48];
};

/* Is it the name that was refused, whatever was asked of it? */
static bool
is_of_name(const struct event *e)
{
	static const enum reason of_name[] = { REASON_DNS_DENIED,
		REASON_TLS_SNI_DENIED, REASON_HTTP_HOST_DENIED };
	enum reason r = reason_find(event_text_of(e, FIELD_REASON));

	for (size_t i = 0; i < COUNT_OF(of_name); i++)
		if (r == of_name[i])
			return true;
	return false;
}

static struct group *
find_group(struct report *r, const struct group *like)
{
	for (size_t i = 0; i < r->n; i++) {
		struct group *g = &r->groups[i];
		if (g->alarm == like->alarm && g->question == like->question &&
		    g->reported == like->reported &&
		    strcmp(g->reason, like->reason) == 0 &&
		    strcmp(g->what, like->what) == 0)
			return g;
	}
	if (r->n == GROUPS_MAX)
		return NULL;
	r->groups[r->n] = *like;
	return &r->groups[r->n++];
}

static void
count(struct report *r, const struct event *e, const struct group *like)
{
	uint64_t n =
	    event_has(e, FIELD_COUNTED) ? event_number_of(e, FIELD_COUNTED) : 1;
	struct group *g = find_group(r, like);

	if (g == NULL)
		*(like->alarm	       ? &r->n_other_alarms :
			like->reported ? &r->n_other_reported :
					 &r->n_other) += n;
	else if (g->question && event_number_of(e, FIELD_QTYPE) == TYPE_AAAA)
		g->n_aaaa += n;
	else
		g->n += n;
}

/* Denials of requests, of connections without one, questions and packets. */
static bool
is_counted(struct report *r, const struct event *e)
{
	struct slice flow = event_text_of(e, FIELD_FLOW);

	if (e->kind == EVENT_DROP ||
	    (e->kind == EVENT_REQUEST_END && event_is_reported(e)))
		return true;
	if (!event_is_denial(e))
		return false;
	if (e->kind == EVENT_REQUEST_END) {
		snprintf(r->told, sizeof(r->told), "%.*s", SLICE_ARG(flow));
		return true;
	}
	return e->kind == EVENT_DNS ||
	    (e->kind == EVENT_FLOW_END &&
		(flow.n == 0 || !slice_eq_str(flow, r->told)));
}

static struct slice
host_of(const struct event *e)
{
	struct slice host = event_text_of(e, FIELD_HOST);

	return host.n != 0 ? host : event_text_of(e, FIELD_SNI);
}

/* The URL, as far as the record tells it of all that it stands for. */
static void
put_url(struct buf *what, const struct event *e, bool of_name)
{
	const uint64_t path =
	    UINT64_C(1) << FIELD_PATH | UINT64_C(1) << FIELD_QUERY;
	bool many = event_has(e, FIELD_COUNTED) && event_has(e, FIELD_PATH);
	struct event part = *e;

	if (of_name)
		part.set &= ~(path | UINT64_C(1) << FIELD_METHOD);
	else if (many)
		part.set &= ~path;
	audit_put_url(what, &part);
	if (many && !of_name)
		buf_put_str(what, "/…");
}

static void
put_what(struct buf *what, const struct event *e, bool of_name)
{
	put_url(what, e, of_name);
	if (what->n == 0 && event_has(e, FIELD_DETAIL))
		escape_show(what, e->text[FIELD_DETAIL]);
	if (e->kind == EVENT_DROP)
		buf_put_str(what, " packets");
}

static bool
take(const struct line *l, struct slice in UNUSED, off_t at UNUSED, void *arg)
{
	const struct event *e = &l->event;
	struct report *r = arg;
	struct group like = { .alarm = e->kind == EVENT_ALARM,
		.question = e->kind == EVENT_DNS,
		.reported = event_is_reported(e) };
	struct buf what;

	/* A start that is no restart of the scribe begins another run. */
	if (e->kind == EVENT_START && event_number_of(e, FIELD_REPEATED) == 0)
		r->n = r->n_other = r->n_other_reported = r->n_other_alarms = 0;
	if (!like.alarm && !is_counted(r, e))
		return true;
	buf_init(&what, LINE_SIZE_MAX);
	bool of_name = !like.alarm && !like.reported && is_of_name(e);
	put_what(&what, e, of_name);
	snprintf(like.what, sizeof(like.what), "%s", buf_text(&what));
	snprintf(like.reason, sizeof(like.reason), "%.*s",
	    SLICE_ARG(event_text_of(e, FIELD_REASON)));
	if (of_name)
		snprintf(like.host, sizeof(like.host), "%.*s",
		    SLICE_ARG(host_of(e)));
	count(r, e, &like);
	buf_release(&what);
	return true;
}

/* Was something sent to the name that this question is of? */
static bool
was_met(const struct report *r, const struct group *question)
{
	for (size_t i = 0; i < r->n; i++)
		if (!r->groups[i].question && question->host[0] != '\0' &&
		    strcmp(r->groups[i].host, question->host) == 0)
			return true;
	return false;
}

static int
by_count(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->n != y->n)
		return x->n < y->n ? 1 : -1;
	return strcmp(x->what, y->what);
}

/* Questions that count for nothing go; the rest is summed up and sorted. */
static void
finish(struct report *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n; i++) {
		struct group *g = &r->groups[i];
		g->n = g->n > g->n_aaaa ? g->n : g->n_aaaa;
		if (g->question && was_met(r, g))
			g->n = 0;
	}
	r->n_denied = r->n_other;
	r->n_reported = r->n_other_reported;
	r->n_alarms = r->n_other_alarms;
	for (size_t i = 0; i < r->n; i++) {
		const struct group *g = &r->groups[i];
		*(g->alarm	    ? &r->n_alarms :
			g->reported ? &r->n_reported :
				      &r->n_denied) += g->n;
		if (g->n != 0)
			r->groups[n++] = *g;
	}
	r->n = n;
	qsort(r->groups, r->n, sizeof(r->groups[0]), by_count);
}

static void
print_text(const struct report *r)
{
	bool other = r->n_other + r->n_other_reported + r->n_other_alarms != 0;

	printf("blocked: %" PRIu64 ", alarms: %" PRIu64, r->n_denied,
	    r->n_alarms);
	if (r->n_reported != 0)
		printf(", not enforced: %" PRIu64, r->n_reported);
	putchar('\n');
	for (size_t i = 0; i < r->n && i < ROWS_MAX; i++)
		printf("%6" PRIu64 "x %-*s %s%s\n", r->groups[i].n,
		    REASON_WIDTH, r->groups[i].reason,
		    r->groups[i].alarm	      ? "ALARM " :
			r->groups[i].reported ? "LET THROUGH " :
						"",
		    r->groups[i].what);
	if (r->n > ROWS_MAX || other)
		printf("       … and %zu kinds more: duenna audit report "
		       "--json\n",
		    (r->n > ROWS_MAX ? r->n - ROWS_MAX : 0) + other);
}

static void
print_json(const struct report *r)
{
	struct buf out;
	struct json j;

	buf_init(&out, 1 << 20);
	json_init(&j, &out);
	json_object_begin(&j);
	json_key_number(&j, "blocked", r->n_denied);
	json_key_number(&j, "alarms", r->n_alarms);
	json_key_number(&j, "reported", r->n_reported);
	json_key(&j, "groups");
	json_array_begin(&j);
	for (size_t i = 0; i < r->n; i++) {
		json_object_begin(&j);
		json_key_number(&j, "count", r->groups[i].n);
		json_key_str(&j, "reason", r->groups[i].reason);
		json_key_bool(&j, "alarm", r->groups[i].alarm);
		json_key_bool(&j, "reported", r->groups[i].reported);
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
	struct audit_walk w = { .path = o->file, .fd = audit_open(o->file) };
	struct report *r;

	if (w.fd < 0)
		return CMD_NO;
	r = mem_alloc(sizeof(*r));
	bool is_log = audit_walk(&w, take, r) && w.n_records != 0;
	finish(r);
	if (!is_log)
		fprintf(stderr, "duenna: audit: %s holds no record\n", o->file);
	else if (o->json)
		print_json(r);
	else
		print_text(r);
	free(r);
	close(w.fd);
	return is_log ? 0 : CMD_NO;
}
