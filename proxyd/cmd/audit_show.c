/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A log for people.  All that is printed was a peer's choice: it is escaped,
 * and no colour stands but those of ours.
 */
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <unistd.h>

#include "audit/escape.h"
#include "audit/line.h"
#include "base/clock.h"
#include "base/mem.h"
#include "cmd/audit.h"
#include "cmd/cmd.h"

#define COLUMN_MAX 24 /* signs of sandbox and rule; longer ones push on */
#define VERDICT_WIDTH 7
#define REASON_WIDTH 18
#define TAIL_MAX 100000 /* lines that `tail -n` can ask for */
#define TOLD_MAX 64	/* flows that are remembered, the last ones */
#define TOLD_SIZE 48	/* bytes of a flow's name */
#define FOLLOW_MS 200	/* `tail -f` looks this often */

struct table {
	const struct audit_options *o;
	bool colour;
	size_t sandbox, rule; /* widths of the columns */
	struct buf out, store;
	uint64_t n_bad; /* lines that are no records */
	off_t at, next; /* where the line at hand begins and ends */
	off_t *starts;	/* of `tail`: where the last wanted lines begin */
	size_t n_starts, seen;
	/* Flows in which a denied request was shown: their end says it again. */
	char told[TOLD_MAX][TOLD_SIZE];
	size_t n_told;
};

static bool
has_text(const struct event *e, enum event_field f, const char *want)
{
	return want == NULL || slice_eq_str(event_text_of(e, f), want);
}

/* What belongs to something else that is shown, unless --all. */
static bool
is_detail(const struct event *e)
{
	bool deny = slice_eq_str(event_text_of(e, FIELD_VERDICT), "deny");

	return e->kind == EVENT_CHECKPOINT || e->kind == EVENT_FLOW_BEGIN ||
	    e->kind == EVENT_REQUEST_BEGIN ||
	    ((e->kind == EVENT_FLOW_END || e->kind == EVENT_DIAL ||
		 e->kind == EVENT_RELEASE) &&
		!deny);
}

static bool
was_told(const struct table *t, struct slice flow)
{
	for (size_t i = 0; i < TOLD_MAX; i++)
		if (flow.n != 0 && slice_eq_str(flow, t->told[i]))
			return true;
	return false;
}

static void
remember(struct table *t, const struct event *e)
{
	struct slice flow = event_text_of(e, FIELD_FLOW);

	if (e->kind == EVENT_REQUEST_END && flow.n < TOLD_SIZE &&
	    slice_eq_str(event_text_of(e, FIELD_VERDICT), "deny"))
		snprintf(t->told[t->n_told++ % TOLD_MAX], TOLD_SIZE, "%.*s",
		    SLICE_ARG(flow));
}

static bool
is_wanted(const struct table *t, const struct event *e)
{
	const struct audit_options *o = t->o;

	return has_text(e, FIELD_SANDBOX, o->sandbox) &&
	    has_text(e, FIELD_REASON, o->reason) &&
	    has_text(e, FIELD_VERDICT, o->verdict) &&
	    (o->all || o->json ||
		(!is_detail(e) &&
		    !(e->kind == EVENT_FLOW_END &&
			was_told(t, event_text_of(e, FIELD_FLOW)))));
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
	bool https = slice_eq_str(event_text_of(e, FIELD_SCHEME), "https");
	uint64_t port = event_number_of(e, FIELD_PORT);

	if (event_has(e, FIELD_METHOD)) {
		escape_show(out, e->text[FIELD_METHOD]);
		buf_put_byte(out, ' ');
	}
	if (host.n == 0)
		host = event_text_of(e, FIELD_SNI);
	if (host.n == 0)
		host = event_text_of(e, FIELD_DST_ADDRESS);
	escape_show(out, event_text_of(e, FIELD_SCHEME));
	buf_put_str(out, event_has(e, FIELD_SCHEME) ? "://" : "");
	escape_show(out, host);
	if (port != 0 && port != (https ? 443 : 80))
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
	if (e->kind == EVENT_PROGRAM)
		put_name(out, " policy ", e, FIELD_POLICY);
	put_name(out, " duenna ", e, FIELD_VERSION);
	put_name(out, " ", e, FIELD_COMMAND);
	put_name(out, " with ", e, FIELD_CREDENTIAL);
	put_name(out, " to ", e, FIELD_PEER_ADDRESS);
	put_count(out, " -> ", e, FIELD_STATUS);
	put_count(out, " x", e, FIELD_COUNTED);
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
	return slice_eq_str(e->text[FIELD_VERDICT], "deny") ? "\033[31m" :
							      "\033[32m";
}

static void
print_row(struct table *t, const struct line *l)
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

static void
print_head(struct table *t)
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

static void
measure(struct table *t, const struct line *l, struct slice in UNUSED)
{
	size_t sandbox = width_of(event_text_of(&l->event, FIELD_SANDBOX));
	size_t rule = width_of(event_text_of(&l->event, FIELD_RULE));

	t->sandbox = sandbox > t->sandbox ? sandbox : t->sandbox;
	t->rule = rule > t->rule ? rule : t->rule;
}

static void
print_line(struct table *t, const struct line *l, struct slice in)
{
	if (t->o->json)
		printf("%.*s\n", SLICE_ARG(in));
	else
		print_row(t, l);
}

typedef void on_line(struct table *t, const struct line *l, struct slice in);

/* Every wanted record from where `r` stands to the end, or to a cut line. */
static enum reader_got
walk(struct table *t, struct reader *r, on_line *each)
{
	enum reader_got got;
	struct slice in;

	while (
	    (got = reader_take(r, &in)) == READER_LINE || got == READER_LONG) {
		const char *detail;
		struct line l;
		t->at = (off_t)r->offset;
		t->next = (off_t)r->next;
		if (got == READER_LONG ||
		    !line_read(in, &t->store, &l, &detail))
			t->n_bad++;
		else if (is_wanted(t, &l.event)) {
			remember(t, &l.event);
			each(t, &l, in);
		}
	}
	return got;
}

static bool
walk_from(struct table *t, int fd, off_t from, on_line *each)
{
	enum reader_got got;
	struct reader r;

	t->n_bad = 0;
	if (lseek(fd, from, SEEK_SET) < 0) {
		fprintf(stderr, "duenna: audit: %s: %s\n", t->o->file,
		    strerror(errno));
		return false;
	}
	reader_init(&r, fd);
	got = walk(t, &r, each);
	reader_release(&r);
	if (got == READER_FAILED)
		fprintf(stderr, "duenna: audit: %s: %s\n", t->o->file,
		    strerror(errno));
	return got != READER_FAILED;
}

static void
table_init(struct table *t, const struct audit_options *o)
{
	const char *no_color = getenv("NO_COLOR");

	*t = (struct table){ .o = o, .sandbox = 7, .rule = 4 };
	t->colour =
	    isatty(STDOUT_FILENO) && (no_color == NULL || no_color[0] == '\0');
	buf_init(&t->out, LINE_SIZE_MAX);
	buf_init(&t->store, LINE_SIZE_MAX + 1);
}

static void
table_release(struct table *t)
{
	buf_release(&t->out);
	buf_release(&t->store);
}

int
audit_show(const struct audit_options *o)
{
	struct table t;
	int fd = audit_open(o->file);
	bool good;

	if (fd < 0)
		return CMD_NO;
	table_init(&t, o);
	good = o->json || walk_from(&t, fd, 0, measure);
	if (good && !o->json)
		print_head(&t);
	good = good && walk_from(&t, fd, 0, print_line);
	if (t.n_bad != 0)
		fprintf(stderr,
		    "duenna: audit: lines that are no records: %" PRIu64 "; "
		    "`duenna audit verify` says which\n",
		    t.n_bad);
	good = good && t.n_bad == 0;
	table_release(&t);
	close(fd);
	return good ? 0 : CMD_NO;
}

static void
note_start(struct table *t, const struct line *l UNUSED, struct slice in UNUSED)
{
	t->starts[t->seen++ % t->n_starts] = t->at;
}

/* Where the last `n` lines that are wanted begin. */
static off_t
find_tail(struct table *t, int fd, unsigned long n)
{
	off_t from;

	t->n_starts = n + 1;
	t->starts = mem_array(t->n_starts, sizeof(*t->starts));
	(void)walk_from(t, fd, 0, note_start);
	from = n == 0	 ? t->next :
	    t->seen <= n ? 0 :
			   t->starts[(t->seen - n) % t->n_starts];
	free(t->starts);
	return from;
}

/* Print what comes, for ever; a line that is not whole yet waits. */
static bool
follow(struct table *t, int fd, off_t from)
{
	enum reader_got got;
	struct reader r;

	for (;;) {
		if (lseek(fd, from, SEEK_SET) < 0)
			return false;
		reader_init(&r, fd);
		got = walk(t, &r, print_line);
		from += (off_t)(got == READER_CUT ? r.offset : r.next);
		reader_release(&r);
		if (got == READER_FAILED || !t->o->follow)
			return got != READER_FAILED;
		if (fflush(stdout) != 0)
			return false;
		(void)poll(NULL, 0, FOLLOW_MS);
	}
}

int
audit_tail(const struct audit_options *o)
{
	unsigned long n = o->lines < TAIL_MAX ? o->lines : TAIL_MAX;
	struct table t;
	int fd = audit_open(o->file);
	bool good;

	if (fd < 0)
		return CMD_NO;
	table_init(&t, o);
	good = walk_from(&t, fd, 0, measure) &&
	    follow(&t, fd, find_tail(&t, fd, n));
	table_release(&t);
	close(fd);
	return good ? 0 : CMD_NO;
}
