/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A log for other programs.  `otlp`: requests of OpenTelemetry's log protocol
 * in JSON (ExportLogsServiceRequest, opentelemetry-proto 1.5), one a line, as
 * collectors read files and take them by HTTP.  `csv`: RFC 4180, a column a
 * field.
 */
#include <inttypes.h>
#include <unistd.h>

#include "audit/escape.h"
#include "base/clock.h"
#include "cmd/audit.h"
#include "cmd/cmd.h"

#define RECORDS_A_LINE 128
#define OUT_MAX ((RECORDS_A_LINE + 1) * (size_t)(LINE_SIZE_MAX + 16384))

#define OWN "duenna." /* before keys of ours that have no namespace */

/* SeverityNumber of the protocol's logs.proto. */
enum severity {
	SEVERITY_INFO = 9,
	SEVERITY_WARN = 13,
	SEVERITY_ERROR = 17,
};

struct export
{
	const struct audit_options *o;
	struct buf out;
	size_t in_line;	 /* records of the line that is being made */
	uint64_t n_rows; /* in all */
	bool (*put)(struct export * x, const struct line *l);
};

/* Written once it is whole. */
static bool
leave(struct export *x)
{
	bool good =
	    !x->out.failed && fwrite(x->out.p, 1, x->out.n, stdout) == x->out.n;

	buf_clear(&x->out);
	return good;
}

static void
put_key(struct buf *out, const char *key)
{
	buf_put_str(out, "{\"key\":\"");
	if (strchr(key, '.') == NULL)
		buf_put_str(out, OWN);
	buf_putf(out, "%s\",\"value\":{", key);
}

static void
put_text(struct buf *out, const char *key, struct slice text)
{
	put_key(out, key);
	buf_put_str(out, "\"stringValue\":\"");
	escape_put(out, text);
	buf_put_str(out, "\"}}");
}

/* 64 bits are a string in the JSON of protocol buffers, and have a sign. */
static void
put_number(struct buf *out, const char *key, uint64_t v)
{
	put_key(out, key);
	buf_putf(out, "\"%s\":\"%" PRIu64 "\"}}",
	    v <= INT64_MAX ? "intValue" : "stringValue", v);
}

static void
put_field(struct buf *out, const struct event *e, enum event_field f)
{
	const char *key = event_field_key(f);

	if (event_field_is_text(f)) {
		put_text(out, key, e->text[f]);
	} else if (event_field_is_bool(f)) {
		put_key(out, key);
		buf_putf(out, "\"boolValue\":%s}}",
		    e->number[f] != 0 ? "true" : "false");
	} else {
		put_number(out, key, e->number[f]);
	}
}

static enum severity
severity_of(const struct event *e)
{
	if (e->kind == EVENT_ALARM || e->kind == EVENT_GAP)
		return SEVERITY_ERROR;
	return event_is_denial(e) || event_is_reported(e) ? SEVERITY_WARN :
							    SEVERITY_INFO;
}

/* What a list of records shows of it. */
static void
put_body(struct buf *out, const struct event *e)
{
	struct buf url;

	buf_init(&url, LINE_SIZE_MAX);
	buf_put_str(out, ",\"body\":{\"stringValue\":\"");
	buf_put_str(out, event_name(e->kind));
	if (event_has(e, FIELD_VERDICT)) {
		buf_put_byte(out, ' ');
		escape_put(out, e->text[FIELD_VERDICT]);
	}
	audit_put_url(&url, e);
	if (url.n != 0) {
		buf_put_byte(out, ' ');
		escape_put(out, buf_slice(&url));
	}
	buf_put_str(out, "\"}");
	buf_release(&url);
}

static void
begin_line(struct buf *out)
{
	buf_put_str(out, "{\"resourceLogs\":[{\"resource\":{\"attributes\":[");
	put_text(out, "service.name", SLICE("duenna"));
	buf_put_str(out,
	    "]},\"scopeLogs\":[{\"scope\":{\"name\":\"duenna.audit\"},"
	    "\"logRecords\":[");
}

static bool
end_line(struct export *x)
{
	if (x->in_line == 0)
		return true;
	x->in_line = 0;
	buf_put_str(&x->out, "]}]}]}\n");
	return leave(x);
}

static bool
put_otlp(struct export *x, const struct line *l)
{
	static const char *const names[] = { [SEVERITY_INFO] = "INFO",
		[SEVERITY_WARN] = "WARN",
		[SEVERITY_ERROR] = "ERROR" };
	const struct event *e = &l->event;
	enum severity severity = severity_of(e);
	struct buf *out = &x->out;

	if (x->in_line++ == 0)
		begin_line(out);
	else
		buf_put_byte(out, ',');
	buf_putf(out,
	    "{\"timeUnixNano\":\"%" PRIu64 "000\",\"severityNumber\":%d,"
	    "\"severityText\":\"%s\",\"eventName\":\"" OWN "%s\"",
	    l->wall_us, (int)severity, names[severity], event_name(e->kind));
	put_body(out, e);
	buf_put_str(out, ",\"attributes\":[");
	put_number(out, "seq", l->seq);
	for (int f = 0; f < FIELD_COUNT; f++) {
		if (!event_has(e, (enum event_field)f))
			continue;
		buf_put_byte(out, ',');
		put_field(out, e, (enum event_field)f);
	}
	buf_put_byte(out, ',');
	put_text(out, "hash", l->hash);
	buf_put_str(out, "]}");
	return x->in_line < RECORDS_A_LINE || end_line(x);
}

/*
 * A cell: in quotes, a quote twice (RFC 4180 2.7).  A table program takes a
 * text that begins as these do for a formula (CWE-1236), and peers choose it.
 */
static void
put_cell(struct buf *out, struct slice text)
{
	struct buf shown;

	buf_init(&shown, LINE_SIZE_MAX);
	escape_show(&shown, text);
	buf_put_byte(out, '"');
	if (shown.n != 0 && strchr("=+-@", shown.p[0]) != NULL)
		buf_put_byte(out, '\'');
	for (size_t i = 0; i < shown.n; i++) {
		if (shown.p[i] == '"')
			buf_put_byte(out, '"');
		buf_put_byte(out, shown.p[i]);
	}
	buf_put_byte(out, '"');
	buf_release(&shown);
}

static bool
put_csv(struct export *x, const struct line *l)
{
	const struct event *e = &l->event;
	char time[CLOCK_TEXT_SIZE];
	struct buf *out = &x->out;

	clock_text(l->wall_us, time);
	buf_putf(out, "%" PRIu64 ",%s,%s", l->seq, time, event_name(e->kind));
	for (int f = 0; f < FIELD_COUNT; f++) {
		enum event_field field = (enum event_field)f;
		buf_put_byte(out, ',');
		if (!event_has(e, field))
			continue;
		if (event_field_is_text(field))
			put_cell(out, e->text[field]);
		else if (event_field_is_bool(field))
			buf_put_str(out,
			    e->number[field] != 0 ? "true" : "false");
		else
			buf_put_number(out, e->number[field]);
	}
	buf_putf(out, ",%.*s\r\n", SLICE_ARG(l->hash));
	return leave(x);
}

static bool
put_csv_head(struct export *x)
{
	buf_put_str(&x->out, "seq,time,event");
	for (int f = 0; f < FIELD_COUNT; f++)
		buf_putf(&x->out, ",%s", event_field_key((enum event_field)f));
	buf_put_str(&x->out, ",hash\r\n");
	return leave(x);
}

static bool
on_record(const struct line *l, struct slice in UNUSED, off_t at UNUSED,
    void *arg)
{
	struct export *x = arg;
	unsigned long long max = x->o->pick.max;

	if (!audit_picks(&x->o->pick, l))
		return true;
	x->n_rows++;
	return x->put(x, l) && (max == 0 || x->n_rows < max);
}

int
audit_export(const struct audit_options *o)
{
	bool csv = o->format != NULL && strcmp(o->format, "csv") == 0;
	struct export x = { .o = o, .put = csv ? put_csv : put_otlp };
	struct audit_walk w = { .path = o->file };

	if (o->format != NULL && !csv && strcmp(o->format, "otlp") != 0) {
		fputs("duenna: audit: --format wants `otlp` or `csv`\n",
		    stderr);
		return CMD_USAGE;
	}
	w.fd = audit_open(o->file);
	if (w.fd < 0)
		return CMD_NO;
	buf_init(&x.out, OUT_MAX);
	bool good = (!csv || put_csv_head(&x)) && audit_walk(&w, on_record, &x);
	good = end_line(&x) && good && audit_end(o, &w, x.n_rows);
	buf_release(&x.out);
	close(w.fd);
	return good && fflush(stdout) == 0 ? 0 : CMD_NO;
}
