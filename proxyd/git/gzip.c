/* SPDX-License-Identifier: Apache-2.0 */
#include <zlib.h>

#include "base/limits.h"
#include "git/gzip.h"

#define GZIP_ALONE (15 + 16) /* window of 32 KiB; no zlib header, no raw data */

struct gzip {
	z_stream z;
	uint64_t most, taken, given; /* bytes */
	bool ended;
};

static enum parse
bad(struct parse_fail *fail, enum reason reason, const char *detail,
    uint64_t at)
{
	*fail = (struct parse_fail){ reason, detail, (size_t)at };
	return PARSE_BAD;
}

struct gzip *
gzip_new(uint64_t most)
{
	struct gzip *g = calloc(1, sizeof(*g));

	if (g == NULL)
		return NULL;
	if (inflateInit2(&g->z, GZIP_ALONE) != Z_OK) {
		free(g);
		return NULL;
	}
	g->most = most;
	return g;
}

void
gzip_free(struct gzip *g)
{
	if (g == NULL)
		return;
	inflateEnd(&g->z);
	free(g);
}

/* At most this much comes out of what went in so far. */
static uint64_t
ceiling(const struct gzip *g)
{
	uint64_t by_ratio = LIMIT_GZIP_RATIO_FROM + g->taken * LIMIT_GZIP_RATIO;

	return by_ratio < g->most ? by_ratio : g->most;
}

static int
run(struct gzip *g, struct gzip_step *s)
{
	/* zlib counts in unsigned int; a piece is never that large. */
	struct slice in = slice_first(s->in, 1U << 30);
	size_t room = s->room < 1U << 30 ? s->room : 1U << 30;

	g->z.next_in = (z_const Bytef *)(uintptr_t)in.p;
	g->z.avail_in = (uInt)in.n;
	g->z.next_out = s->out;
	g->z.avail_out = (uInt)room;
	int answer = inflate(&g->z, Z_NO_FLUSH);
	size_t used = in.n - g->z.avail_in;
	s->in = slice_from(s->in, used);
	s->n = room - g->z.avail_out;
	g->taken += used;
	g->given += s->n;
	return answer;
}

enum parse
gzip_take(struct gzip *g, struct gzip_step *s, struct parse_fail *fail)
{
	s->n = 0;
	if (s->in.n == 0 && g->ended)
		return PARSE_DONE;
	if (g->ended)
		return bad(fail, REASON_GIT_MALFORMED,
		    "bytes behind the gzip member", g->taken);
	int answer = run(g, s);
	if (answer == Z_MEM_ERROR)
		return bad(fail, REASON_INTERNAL, "no memory", g->taken);
	/* Z_BUF_ERROR: nothing to do for now. */
	if (answer != Z_OK && answer != Z_STREAM_END && answer != Z_BUF_ERROR)
		return bad(fail, REASON_GIT_MALFORMED, "gzip that is broken",
		    g->taken);
	if (g->given > ceiling(g))
		return bad(fail, REASON_LIMIT_BYTES,
		    "gzip that inflates too far", g->taken);
	g->ended = answer == Z_STREAM_END;
	if (g->ended && s->in.n != 0)
		return bad(fail, REASON_GIT_MALFORMED,
		    "bytes behind the gzip member", g->taken);
	return g->ended ? PARSE_DONE : PARSE_MORE;
}

enum parse
gzip_end(const struct gzip *g, struct parse_fail *fail)
{
	if (!g->ended)
		return bad(fail, REASON_GIT_MALFORMED, "gzip that is cut",
		    g->taken);
	return PARSE_DONE;
}
