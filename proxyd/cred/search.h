/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several byte strings looked for at once, across the borders of buffers.
 *
 * Two-byte blocks tell how far the window may jump (Wu and Manber, "A fast
 * algorithm for multi-pattern searching", 1994); the patterns of the block that
 * does not let it jump are compared in full.  At the end of a window the result
 * says from where on the bytes could be the beginning of a pattern, so that no
 * more than that needs to be held back, and nothing where nothing fits.
 */
#ifndef CRED_SEARCH_H
#define CRED_SEARCH_H

#include "base/attr.h"
#include "base/slice.h"

struct search; /* immutable once it is finished */

#define SEARCH_PATTERN_MIN 8	 /* bytes; a shorter one is no use */
#define SEARCH_PATTERN_MAX 16384 /* bytes; the most that is ever held back */

/* Room for `n` patterns of `bytes` bytes in all.  NULL: no memory. */
MUST_USE struct search *search_new(size_t n, size_t bytes);

/* Wipes the patterns. */
void search_free(struct search *s);

/* Copy one in; one that is there already, too short or too long is left out.
 * False: more than there is room for. */
MUST_USE bool search_add(struct search *s, struct slice pattern);

/* Build the table; nothing is added any more. */
void search_finish(struct search *s);

/* No pattern: nothing will ever be found. */
bool search_is_empty(const struct search *s);

enum search_result {
	SEARCH_NONE, /* nothing, and no beginning of anything */
	SEARCH_HIT,  /* hit->n bytes at hit->at are a pattern */
	SEARCH_HOLD, /* from hit->at on they may become one */
};

struct search_hit {
	size_t at, n;
};

/*
 * The first pattern in window[from..], the longest one there.
 *
 * last	 nothing follows the window: never SEARCH_HOLD
 *
 * Pure.
 */
enum search_result search_next(const struct search *s, struct slice window,
    size_t from, bool last, struct search_hit *hit);

#endif
