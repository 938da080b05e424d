/* SPDX-License-Identifier: Apache-2.0 */
#include "git/push_caps.h"

/* In the order in which git itself writes them. */
static const struct {
	const char *name; /* with `=`: a value follows */
	enum push_cap cap;
} rows[] = {
	{ "report-status-v2", PUSH_REPORT_STATUS_V2 },
	{ "report-status", PUSH_REPORT_STATUS },
	{ "side-band-64k", PUSH_SIDE_BAND_64K },
	{ "quiet", PUSH_QUIET },
	{ "atomic", PUSH_ATOMIC },
	{ "push-options", PUSH_OPTIONS },
	{ "object-format=", PUSH_OBJECT_FORMAT },
	{ "agent=", PUSH_AGENT },
};

static enum parse
bad(struct parse_fail *fail, const char *detail, size_t at)
{
	*fail = (struct parse_fail){ REASON_GIT_MALFORMED, detail, at };
	return PARSE_BAD;
}

static bool
is_row(size_t row, struct slice word)
{
	struct slice name = slice_of_str(rows[row].name);

	return name.p[name.n - 1] == '=' ? slice_has_prefix(word, name) :
					   slice_eq(word, name);
}

/*
 * Absent means sha1.  It stands behind the ids, which have shown their length
 * by then: the two have to agree, else the server would read other ids than we.
 */
static bool
fits(const struct push *p, struct slice format)
{
	return slice_eq(format,
	    p->n_id == 40 ? SLICE("sha1") : SLICE("sha256"));
}

static enum parse
take_word(struct push *p, struct slice word, size_t at, struct parse_fail *fail)
{
	size_t row = 0;

	while (row < COUNT_OF(rows) && !is_row(row, word))
		row++;
	if (row == COUNT_OF(rows))
		return PARSE_DONE; /* none of ours: it goes no further */
	if ((p->caps & rows[row].cap) != 0)
		return bad(fail, "a capability twice", at);
	p->caps |= rows[row].cap;

	size_t head = strlen(rows[row].name);
	struct slice value = slice_from(word, head);
	if (rows[row].cap == PUSH_OBJECT_FORMAT && !fits(p, value))
		return bad(fail, "object format that does not fit the ids", at);
	if (rows[row].cap == PUSH_AGENT)
		p->agent = (struct push_span){ (uint32_t)(at + head),
			(uint32_t)value.n };
	return PARSE_DONE;
}

enum parse
push_caps_read(struct push *p, struct slice text, size_t at,
    struct parse_fail *fail)
{
	for (size_t i = 0; i < text.n; i++)
		if (text.p[i] < ' ' || text.p[i] > '~')
			return bad(fail, "byte that no capability has", at + i);
	for (size_t i = 0; i < text.n;) {
		size_t from = i;
		while (i < text.n && text.p[i] != ' ')
			i++;
		struct slice word = slice_of(text.p + from, i - from);
		if (take_word(p, word, at + from, fail) != PARSE_DONE)
			return PARSE_BAD;
		while (i < text.n && text.p[i] == ' ')
			i++;
	}
	if ((p->caps & PUSH_OBJECT_FORMAT) == 0 && p->n_id != 40)
		return bad(fail, "long ids without an object format", at);
	return PARSE_DONE;
}

void
push_caps_write(const struct push *p, struct buf *out)
{
	for (size_t row = 0; row < COUNT_OF(rows); row++) {
		if ((p->caps & rows[row].cap) == 0)
			continue;
		buf_put_byte(out, ' ');
		buf_put_str(out, rows[row].name);
		if (rows[row].cap == PUSH_OBJECT_FORMAT)
			buf_put_str(out, p->n_id == 40 ? "sha1" : "sha256");
		if (rows[row].cap == PUSH_AGENT)
			buf_put(out,
			    slice_of(p->list.p + p->agent.at, p->agent.n));
	}
}
