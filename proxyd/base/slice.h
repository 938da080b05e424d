/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Borrowed bytes: a pointer and a length.  Never terminated, never owned, not
 * kept beyond the call unless a header says until when.
 * Pure.
 */
#ifndef BASE_SLICE_H
#define BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct slice {
	const uint8_t *p; /* borrowed; may be NULL when n is 0 */
	size_t n;	  /* bytes */
};

/* A string literal as a slice, without its NUL. */
#define SLICE(literal) \
	((struct slice){ (const uint8_t *)("" literal), sizeof(literal) - 1 })

static inline struct slice
slice_of(const void *p, size_t n)
{
	return (struct slice){ (const uint8_t *)p, n };
}

/* The bytes of a C string of ours (never of a peer). */
static inline struct slice
slice_of_str(const char *s)
{
	return (struct slice){ (const uint8_t *)s, strlen(s) };
}

static inline bool
slice_eq(struct slice a, struct slice b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.p, b.p, a.n) == 0);
}

/* By bytes; of two that begin alike the shorter one first. */
static inline int
slice_compare(struct slice a, struct slice b)
{
	size_t n = a.n < b.n ? a.n : b.n;
	int order = n == 0 ? 0 : memcmp(a.p, b.p, n);

	if (order != 0)
		return order;
	return a.n < b.n ? -1 : a.n > b.n;
}

static inline bool
slice_eq_str(struct slice a, const char *s)
{
	return slice_eq(a, slice_of_str(s));
}

static inline bool
slice_has_prefix(struct slice a, struct slice prefix)
{
	return a.n >= prefix.n &&
	    slice_eq((struct slice){ a.p, prefix.n }, prefix);
}

/* The part of `a` from `from` on; empty if `from` is at or past the end. */
static inline struct slice
slice_from(struct slice a, size_t from)
{
	if (from >= a.n)
		return (struct slice){ a.p == NULL ? NULL : a.p + a.n, 0 };
	return (struct slice){ a.p + from, a.n - from };
}

/* The first `n` bytes of `a`, or all of it. */
static inline struct slice
slice_first(struct slice a, size_t n)
{
	return (struct slice){ a.p, n < a.n ? n : a.n };
}

/* For printf("%.*s", SLICE_ARG(s)): text of ours only. */
#define SLICE_ARG(s) (int)(s).n, (const char *)(s).p

#endif
