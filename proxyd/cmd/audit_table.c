/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <unistd.h>

#include "audit/escape.h"
#include "base/clock.h"
#include "cmd/audit.h"

#define COLUMN_MAX 24 /* signs of sandbox and rule; longer ones push on */
#define VERDICT_WIDTH 7
#define REASON_WIDTH 18

/* What belongs to something else that is shown, unless --all. */
static bool
is_detail(const struct event *e)
{
	bool deny = slice_eq_str(event_text_of(e, FIELD_VERDICT), "deny");

	return e->kind == EVENT_CHECKPOINT || e->kind == EVENT_FLOW_BEGIN ||
	    e->kind == EVENT_REQUEST_BEGIN || e->kind == EVENT_PUSH_BEGIN ||
	    e->kind == EVENT_GIT_PROBE || e->kind == EVENT_QUESTION ||
	    ((e->kind == EVENT_FLOW_END || e->kind == EVENT_DIAL ||
		 e->kind == EVENT_RELEASE) &&
		!deny);
}

static bool
was_told(const struct audit_table *t, struct slice flow)
{
	for (size_t i = 0; i < TABLE_TOLD_MAX; i++)
		if (flow.n != 0 && slice_eq_str(flow, t->told[i]))
			return true;
	return false;
}

static void
remember(struct audit_table *t, const struct event *e)
{
	struct slice flow = event_text_of(e, FIELD_FLOW);

	if (e->kind == EVENT_REQUEST_END && flow.n < TABLE_TOLD_SIZE &&
	    slice_eq_str(event_text_of(e, FIELD_VERDICT), "deny"))
		snprintf(t->told[t->n_told++ % TABLE_TOLD_MAX], TABLE_TOLD_SIZE,
		    "%.*s", SLICE_ARG(flow));
}

bool
audit_table_wants(struct audit_table *t, const struct line *l)
{
	const struct audit_options *o = t->o;
	const struct event *e = &l->event;

	if (!audit_picks(&o->pick, l))
		return false;
	/* Who names an event means it. */
	if (o->all || o->json || o->pick.events != 0)
		return true;
	remember(t, e);
	return !is_detail(e) &&
	    !(e->kind == EVENT_FLOW_END &&
		was_told(t, event_text_of(e, FIELD_FLOW)));
}

static size_t
width_of(struct slice text)
{
	return text.n < COLUMN_MAX ? text.n : COLUMN_MAX;
}

/* A text and blanks up to `width`, two at least. */
static void
put_column(struct buf *out, struct slice text, size_t width)
{
	size_t from = out->n;

	escape_show(out, text);
	do
		buf_put_byte(out, ' ');
	while (out->n - from < width + 2 && !out->failed);
}

void
audit_put_url(struct buf *out, const struct event *e)
{
	struct slice host = event_text_of(e, FIELD_HOST);
	struct slice scheme = event_text_of(e, FIELD_SCHEME);
	bool https = slice_eq_str(scheme, "https");
	uint64_t port = event_number_of(e, FIELD_PORT);
	/* It said nothing that was understood: whether it was HTTP, who knows. */
	bool bare = event_has(e, FIELD_FACTS_KIND) && host.n == 0 &&
	    !event_has(e, FIELD_SNI) && !event_has(e, FIELD_METHOD);

	if (event_has(e, FIELD_METHOD)) {
		escape_show(out, e->text[FIELD_METHOD]);
		buf_put_byte(out, ' ');
	}
	if (host.n == 0)
		host = event_text_of(e, FIELD_SNI);
	if (host.n == 0)
		host = event_text_of(e, FIELD_DST_NAME);
	if (host.n == 0)
		host = event_text_of(e, FIELD_DST_ADDRESS);
	if (event_has(e, FIELD_SCHEME) && !bare) {
		if (event_number_of(e, FIELD_UPGRADE) != 0)
			scheme = https ? SLICE("wss") : SLICE("ws");
		escape_show(out, scheme);
		buf_put_str(out, "://");
	}
	bool v6 = host.n != 0 && memchr(host.p, ':', host.n) != NULL;
	buf_put_str(out, v6 ? "[" : "");
	escape_show(out, host);
	buf_put_str(out, v6 ? "]" : "");
	if (port != 0 && (bare || port != (https ? 443 : 80)))
		buf_putf(out, ":%" PRIu64, port);
	escape_show(out, event_text_of(e, FIELD_PATH));
	if (event_has(e, FIELD_QUERY)) {
		buf_put_byte(out, '?');
		escape_show(out, e->text[FIELD_QUERY]);
	}
}

static void
put_name(struct buf *out, const char *before, const struct event *e,
    enum event_field field)
{
	if (!event_has(e, field))
		return;
	buf_put_str(out, before);
	escape_show(out, e->text[field]);
}

static void
put_count(struct buf *out, const char *before, const struct event *e,
    enum event_field field)
{
	if (event_has(e, field))
		buf_putf(out, "%s%" PRIu64, before, e->number[field]);
}

/* Types of DNS questions by name: those that there is an answer to. */
static void
put_qtype(struct buf *out, const struct event *e)
{
	uint64_t qtype = event_number_of(e, FIELD_QTYPE);

	if (qtype == 1)
		buf_put_str(out, " A");
	else if (qtype == 28)
		buf_put_str(out, " AAAA");
	else
		put_count(out, " type ", e, FIELD_QTYPE);
}

/* The ref of a push; its ids are in the record. */
static void
put_ref(struct buf *out, const struct event *e)
{
	struct slice rest = event_text_of(e, FIELD_GIT_COMMAND);

	for (int i = 0; i < 2 && rest.n != 0; i++) {
		const uint8_t *blank = memchr(rest.p, ' ', rest.n);
		if (blank == NULL)
			break;
		rest = slice_from(rest, (size_t)(blank - rest.p) + 1);
	}
	if (rest.n == 0)
		return;
	buf_put_byte(out, ' ');
	escape_show(out, rest);
}

/* Of a push git shows a refusal only in a report, which has 200. */
static bool
is_refused_push(const struct event *e)
{
	static const char service[] = "/git-receive-pack";
	const size_t n = sizeof(service) - 1;
	struct slice path = event_text_of(e, FIELD_PATH);

	return e->kind == EVENT_REQUEST_END &&
	    slice_eq_str(event_text_of(e, FIELD_VERDICT), "deny") &&
	    e->number[FIELD_STATUS] == 200 && path.n > n &&
	    slice_eq_str(slice_from(path, path.n - n), service);
}

static void
put_status(struct buf *out, const struct event *e)
{
	if (event_has(e, FIELD_GRPC_STATUS)) /* the other is 200 then */
		put_count(out, " -> gRPC ", e, FIELD_GRPC_STATUS);
	else if (event_has(e, FIELD_STATUS) && is_refused_push(e))
		buf_put_str(out, " -> refused, by a report");
	else
		put_count(out, " -> ", e, FIELD_STATUS);
}

/* What stands behind the columns: what was asked for, and what came of it. */
static void
put_what(struct buf *out, const struct event *e)
{
	bool where = event_has(e, FIELD_HOST) || event_has(e, FIELD_SNI) ||
	    event_has(e, FIELD_DST_ADDRESS);

	if (e->kind != EVENT_REQUEST_END)
		buf_put_str(out, event_name(e->kind));
	if (e->kind != EVENT_REQUEST_END && where)
		buf_put_byte(out, ' ');
	if (where)
		audit_put_url(out, e);
	put_qtype(out, e);
	put_ref(out, e);
	put_name(out, " -> ", e, FIELD_GIT_RESULT);
	if (e->kind == EVENT_PROGRAM)
		put_name(out, " policy ", e, FIELD_POLICY);
	put_name(out, " duenna ", e, FIELD_VERSION);
	put_name(out, " ", e, FIELD_COMMAND);
	put_name(out, " with ", e, FIELD_CREDENTIAL);
	put_name(out, " to ", e, FIELD_PEER_ADDRESS);
	put_status(out, e);
	if (e->kind == EVENT_GAP)
		put_count(out, ", records missing: ", e, FIELD_COUNTED);
	else
		put_count(out, " x", e, FIELD_COUNTED);
	/* Their paths were not kept apart: record/denials.h. */
	if (event_has(e, FIELD_COUNTED) && event_has(e, FIELD_PATH))
		buf_put_str(out, ", this one the first");
	put_count(out, " exit ", e, FIELD_EXIT);
	put_name(out, " [", e, FIELD_DETAIL);
	buf_put_str(out, event_has(e, FIELD_DETAIL) ? "]" : "");
}

static const char *
colour_of(const struct event *e)
{
	if (e->kind == EVENT_ALARM || e->kind == EVENT_GAP)
		return "\033[33m";
	if (!event_has(e, FIELD_VERDICT))
		return "\033[2m";
	if (event_is_reported(e))
		return "\033[33m";
	return slice_eq_str(e->text[FIELD_VERDICT], "deny") ? "\033[31m" :
							      "\033[32m";
}

static void
print_row(struct audit_table *t, const struct line *l)
{
	const struct event *e = &l->event;
	char time[CLOCK_TEXT_SIZE];
	struct buf *out = &t->out;

	buf_clear(out);
	clock_text(l->wall_us, time);
	buf_putf(out, "%.8s  ", time + 11);
	put_column(out, event_text_of(e, FIELD_SANDBOX), t->sandbox);
	if (t->colour)
		buf_put_str(out, colour_of(e));
	put_column(out,
	    e->kind == EVENT_ALARM ? SLICE("alarm") :
				     event_text_of(e, FIELD_VERDICT),
	    VERDICT_WIDTH);
	if (t->colour)
		buf_put_str(out, "\033[0m");
	put_column(out,
	    slice_eq_str(event_text_of(e, FIELD_REASON), "allow") ?
		(struct slice){ 0 } :
		event_text_of(e, FIELD_REASON),
	    REASON_WIDTH);
	put_column(out, event_text_of(e, FIELD_RULE), t->rule);
	put_what(out, e);
	buf_put_byte(out, '\n');
	fputs(buf_text(out), stdout);
}

void
audit_table_head(struct audit_table *t)
{
	buf_clear(&t->out);
	put_column(&t->out, SLICE("time"), 8);
	put_column(&t->out, SLICE("sandbox"), t->sandbox);
	put_column(&t->out, SLICE("verdict"), VERDICT_WIDTH);
	put_column(&t->out, SLICE("reason"), REASON_WIDTH);
	put_column(&t->out, SLICE("rule"), t->rule);
	buf_put_str(&t->out, "what\n");
	fputs(buf_text(&t->out), stdout);
}

void
audit_table_measure(struct audit_table *t, const struct line *l)
{
	size_t sandbox = width_of(event_text_of(&l->event, FIELD_SANDBOX));
	size_t rule = width_of(event_text_of(&l->event, FIELD_RULE));

	t->sandbox = sandbox > t->sandbox ? sandbox : t->sandbox;
	t->rule = rule > t->rule ? rule : t->rule;
}

void
audit_table_row(struct audit_table *t, const struct line *l, struct slice in)
{
	t->n_rows++;
	if (t->o->json)
		printf("%.*s\n", SLICE_ARG(in));
	else
		print_row(t, l);
}

void
audit_table_init(struct audit_table *t, const struct audit_options *o)
{
	const char *no_color = getenv("NO_COLOR");

	*t = (struct audit_table){ .o = o, .sandbox = 7, .rule = 4 };
	t->colour =
	    isatty(STDOUT_FILENO) && (no_color == NULL || no_color[0] == '\0');
	buf_init(&t->out, LINE_SIZE_MAX);
}

void
audit_table_release(struct audit_table *t)
{
	buf_release(&t->out);
}
