/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Owned bytes that grow up to the ceiling given at birth.
 *
 * A buf that met its ceiling, or could not get memory, has `failed` set and
 * takes nothing more, so that a run of puts can be checked once at its end.
 */
#ifndef BASE_BUF_H
#define BASE_BUF_H

#include <stdarg.h>

#include "base/attr.h"
#include "base/slice.h"

struct buf {
	uint8_t *p; /* owned; NULL when nothing was ever put */
	size_t n;   /* bytes in use */
	size_t cap; /* bytes allocated */
	size_t max; /* ceiling in bytes */
	bool failed;
};

void buf_init(struct buf *b, size_t max);

/* Give the memory back and be empty; the ceiling stays. */
void buf_release(struct buf *b);

/* As buf_release, but the bytes are wiped first. */
void buf_wipe(struct buf *b);

/* Be empty, keep the memory, clear `failed`. */
void buf_clear(struct buf *b);

/* For buf_room() alone: get memory for `n` more bytes. */
uint8_t *buf_grow(struct buf *b, size_t n);

/* Room for `n` more bytes at the returned place, or NULL; then buf_added(). */
static inline uint8_t *
buf_room(struct buf *b, size_t n)
{
	/* One byte more, for a NUL that is not counted. */
	if (b->failed || n > b->max - b->n || n >= b->cap - b->n)
		return buf_grow(b, n);
	return b->p + b->n;
}

static inline void
buf_added(struct buf *b, size_t n)
{
	b->n += n;
}

/* Append; each returns false, and sets `failed`, if it does not fit. */
static inline bool
buf_put(struct buf *b, struct slice s)
{
	uint8_t *p = buf_room(b, s.n);

	if (p == NULL)
		return false;
	if (s.n != 0)
		memcpy(p, s.p, s.n);
	b->n += s.n;
	return true;
}

static inline bool
buf_put_byte(struct buf *b, uint8_t c)
{
	return buf_put(b, (struct slice){ &c, 1 });
}

bool buf_put_str(struct buf *b, const char *s);
bool buf_put_number(struct buf *b, uint64_t v); /* decimal */
bool buf_putf(struct buf *b, const char *fmt, ...) PRINTF_LIKE(2, 3);
bool buf_vputf(struct buf *b, const char *fmt, va_list ap) PRINTF_LIKE(2, 0);

/* Drop `n` bytes (at most all) from the front. */
void buf_drop(struct buf *b, size_t n);

/* What is in it; valid until the next change. */
static inline struct slice
buf_slice(const struct buf *b)
{
	return (struct slice){ b->p, b->n };
}

/* The content with a NUL behind it that is not counted; "" on failure. */
const char *buf_text(struct buf *b);

#endif
