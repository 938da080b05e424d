/* SPDX-License-Identifier: Apache-2.0 */
#include "load/report.h"
#include "base/mem.h"
#include "base/utf8.h"

#define MESSAGE_MAX 2048 /* bytes of one message */

static void
free_slice(struct slice s)
{
	union {
		const uint8_t *kept;
		void *owned;
	} p = { .kept = s.p };

	free(p.owned);
}

void
load_report_release(struct load_report *r)
{
	for (uint32_t i = 0; i < r->n; i++) {
		free_slice(r->messages[i].text);
		if (r->messages[i].owns_name)
			free_slice(r->messages[i].at.file);
	}
	free(r->messages);
	*r = (struct load_report){ .want_advice = r->want_advice };
}

void
load_report_keep_names(struct load_report *r)
{
	for (uint32_t i = 0; i < r->n; i++) {
		struct load_message *m = &r->messages[i];
		if (m->owns_name)
			continue;
		uint8_t *copy = mem_alloc(m->at.file.n);
		if (m->at.file.n != 0)
			memcpy(copy, m->at.file.p, m->at.file.n);
		m->at.file.p = copy;
		m->owns_name = true;
	}
}

static struct load_message *
add(struct load_report *r)
{
	if (r->n == r->cap) {
		uint32_t cap = r->cap == 0 ? 16 : r->cap * 2;
		struct load_message *more = mem_array(cap, sizeof(*more));
		if (r->n != 0)
			memcpy(more, r->messages, r->n * sizeof(*more));
		free(r->messages);
		r->messages = more;
		r->cap = cap;
	}
	return &r->messages[r->n++];
}

void
load_say(struct load_report *r, enum load_severity severity, struct load_at at,
    const char *fmt, ...)
{
	uint32_t *count =
	    severity == LOAD_ERROR ? &r->n_errors : &r->n_warnings;
	uint32_t max =
	    severity == LOAD_ERROR ? LOAD_ERRORS_MAX : LOAD_WARNINGS_MAX;
	struct buf text;
	va_list ap;

	if (severity == LOAD_ADVICE && !r->want_advice)
		return;
	if (++*count > max)
		return;
	buf_init(&text, MESSAGE_MAX);
	va_start(ap, fmt);
	if (!buf_vputf(&text, fmt, ap)) {
		buf_clear(&text);
		buf_put_str(&text, "a message too long to be shown");
	}
	va_end(ap);
	/* Scalars of the file stand in messages, which go to a terminal. */
	utf8_tame(text.p, text.n, 0);
	*add(r) =
	    (struct load_message){ severity, at, buf_slice(&text), false };
}

static int
compare(const void *left, const void *right)
{
	const struct load_message *a = left, *b = right;

	if ((a->severity == LOAD_ERROR) != (b->severity == LOAD_ERROR))
		return a->severity == LOAD_ERROR ? -1 : 1;
	size_t n = a->at.file.n < b->at.file.n ? a->at.file.n : b->at.file.n;
	int order = n == 0 ? 0 : memcmp(a->at.file.p, b->at.file.p, n);
	if (order != 0)
		return order;
	if (a->at.file.n != b->at.file.n)
		return a->at.file.n < b->at.file.n ? -1 : 1;
	if (a->at.line != b->at.line)
		return a->at.line < b->at.line ? -1 : 1;
	if (a->at.column != b->at.column)
		return a->at.column < b->at.column ? -1 : 1;
	return 0;
}

void
load_report_sort(struct load_report *r)
{
	if (r->n > 1)
		qsort(r->messages, r->n, sizeof(*r->messages), compare);
}

static void
put_dropped(struct buf *out, uint32_t n, uint32_t max, const char *what)
{
	if (n > max)
		buf_putf(out, "%u more %s\n", n - max, what);
}

void
load_report_text(const struct load_report *r, struct buf *out)
{
	for (uint32_t i = 0; i < r->n; i++) {
		const struct load_message *m = &r->messages[i];
		size_t from = out->n;
		buf_put(out, m->at.file);
		if (!out->failed)
			utf8_tame(out->p + from, out->n - from, 0);
		if (m->at.line != 0)
			buf_putf(out, ":%u:%u", m->at.line, m->at.column);
		buf_put_str(out,
		    m->severity == LOAD_ERROR ? ": " : ": warning: ");
		buf_put(out, m->text);
		buf_put_byte(out, '\n');
	}
	put_dropped(out, r->n_errors, LOAD_ERRORS_MAX, "errors");
	put_dropped(out, r->n_warnings, LOAD_WARNINGS_MAX, "warnings");
}
