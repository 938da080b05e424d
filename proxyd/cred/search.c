/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "cred/search.h"

#define BLOCK 2	       /* bytes that are looked up together */
#define TABLE 4096     /* entries; a power of two */
#define WINDOW_MAX 255 /* bytes of a pattern that count for the table */

struct search {
	struct slice *patterns; /* owned; into `bytes` */
	size_t n, n_max;
	uint8_t *bytes; /* owned; wiped at the end */
	size_t bytes_n, bytes_max;
	size_t least;	     /* length of the shortest, at most WINDOW_MAX */
	uint8_t jump[TABLE]; /* by block: bytes that cannot begin a pattern */
	bool finished;
};

struct search *
search_new(size_t n, size_t bytes)
{
	struct search *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->patterns = calloc(n + 1, sizeof(*s->patterns));
	s->bytes = malloc(bytes + 1);
	if (s->patterns == NULL || s->bytes == NULL) {
		search_free(s);
		return NULL;
	}
	s->n_max = n;
	s->bytes_max = bytes;
	s->least = WINDOW_MAX;
	return s;
}

void
search_free(struct search *s)
{
	if (s == NULL)
		return;
	if (s->bytes != NULL)
		explicit_bzero(s->bytes, s->bytes_n);
	free(s->bytes);
	free(s->patterns);
	free(s);
}

bool
search_add(struct search *s, struct slice pattern)
{
	assert(!s->finished);
	if (pattern.n < SEARCH_PATTERN_MIN || pattern.n > SEARCH_PATTERN_MAX)
		return true;
	for (size_t i = 0; i < s->n; i++)
		if (slice_eq(s->patterns[i], pattern))
			return true;
	if (s->n == s->n_max || pattern.n > s->bytes_max - s->bytes_n)
		return false;
	memcpy(s->bytes + s->bytes_n, pattern.p, pattern.n);
	s->patterns[s->n++] = slice_of(s->bytes + s->bytes_n, pattern.n);
	s->bytes_n += pattern.n;
	if (pattern.n < s->least)
		s->least = pattern.n;
	return true;
}

static size_t
block_at(const uint8_t *p)
{
	return ((size_t)p[0] << 4 ^ (size_t)p[1]) % TABLE;
}

void
search_finish(struct search *s)
{
	size_t most = s->least - BLOCK;

	memset(s->jump, (int)(most + 1), sizeof(s->jump));
	for (size_t i = 0; i < s->n; i++) {
		for (size_t at = 0; at <= most; at++) {
			uint8_t *jump =
			    &s->jump[block_at(s->patterns[i].p + at)];
			if (most - at < *jump)
				*jump = (uint8_t)(most - at);
		}
	}
	s->finished = true;
}

bool
search_is_empty(const struct search *s)
{
	return s->n == 0;
}

/*
 * What begins exactly at `rest`.  A longer pattern that may still come goes
 * before a shorter one that is there: it could hide the longer one's tail.
 */
static enum search_result
match(const struct search *s, struct slice rest, bool last, size_t *n)
{
	enum search_result result = SEARCH_NONE;

	*n = 0;
	for (size_t i = 0; i < s->n; i++) {
		struct slice p = s->patterns[i];
		if (p.p[0] != rest.p[0])
			continue;
		if (p.n <= rest.n) {
			if (p.n > *n && slice_has_prefix(rest, p)) {
				*n = p.n;
				result = SEARCH_HIT;
			}
		} else if (!last && slice_has_prefix(p, rest)) {
			return SEARCH_HOLD;
		}
	}
	return result;
}

enum search_result
search_next(const struct search *s, struct slice window, size_t from, bool last,
    struct search_hit *hit)
{
	enum search_result result;
	size_t at = from; /* a pattern may begin here, none before */

	assert(s->finished);
	if (s->n == 0)
		return SEARCH_NONE;
	while (window.n >= s->least && at <= window.n - s->least) {
		size_t jump =
		    s->jump[block_at(window.p + at + s->least - BLOCK)];
		if (jump != 0) {
			at += jump;
			continue;
		}
		result = match(s, slice_from(window, at), last, &hit->n);
		if (result != SEARCH_NONE) {
			hit->at = at;
			return result;
		}
		at++;
	}
	/* Too few bytes for any pattern: only beginnings are left. */
	for (; !last && at < window.n; at++) {
		if (match(s, slice_from(window, at), false, &hit->n) ==
		    SEARCH_HOLD) {
			hit->at = at;
			return SEARCH_HOLD;
		}
	}
	return SEARCH_NONE;
}
