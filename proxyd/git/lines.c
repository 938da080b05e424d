/* SPDX-License-Identifier: Apache-2.0 */
#include "git/lines.h"
#include "base/ascii.h"

void
lines_init(struct lines *l)
{
	*l = (struct lines){ .given = false };
	buf_init(&l->part, PKTLINE_MAX);
}

void
lines_release(struct lines *l)
{
	buf_release(&l->part);
}

bool
lines_is_partial(const struct lines *l)
{
	return l->part.n != 0 && !l->given;
}

/* How many bytes the line in `part` still needs; its length first. */
static size_t
missing(const struct lines *l)
{
	size_t n = 0;

	if (l->part.n < PKTLINE_HEAD)
		return PKTLINE_HEAD - l->part.n;
	for (size_t i = 0; i < PKTLINE_HEAD; i++)
		n = n * 16 + (size_t)ascii_hex(l->part.p[i]);
	return n - l->part.n;
}

static bool
move(struct lines *l, struct slice *in, size_t n)
{
	struct slice part = slice_first(*in, n);

	*in = slice_from(*in, part.n);
	return buf_put(&l->part, part);
}

enum parse
lines_take(struct lines *l, struct slice *in, struct pktline *line,
    struct parse_fail *fail)
{
	bool good = true;
	size_t n;

	if (l->given)
		buf_clear(&l->part);
	l->given = false;
	if (l->part.n == 0) {
		enum parse got = pktline_take(*in, line, &n, fail);
		if (got == PARSE_DONE)
			*in = slice_from(*in, n);
		if (got != PARSE_MORE)
			return got;
		good = move(l, in, in->n);
	}
	while (good) {
		enum parse got =
		    pktline_take(buf_slice(&l->part), line, &n, fail);
		l->given = got == PARSE_DONE;
		if (got != PARSE_MORE || in->n == 0)
			return got;
		good = move(l, in, missing(l));
	}
	*fail = (struct parse_fail){ REASON_INTERNAL, "no memory", 0 };
	return PARSE_BAD;
}
