/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader over a slice.  The first read past the end sets `bad` and every
 * later one gives zeros, so that ten reads are checked once.  Numbers are in
 * network order.
 * Pure.
 */
#ifndef BASE_RD_H
#define BASE_RD_H

#include "base/slice.h"

struct rd {
	struct slice in; /* what is still unread; borrowed */
	bool bad;	 /* something was read past the end */
};

static inline struct rd
rd_of(struct slice in)
{
	return (struct rd){ .in = in };
}

/* The next `n` bytes; empty, and `bad`, if there are fewer. */
static inline struct slice
rd_bytes(struct rd *r, size_t n)
{
	if (r->bad || n > r->in.n) {
		r->bad = true;
		return (struct slice){ 0 };
	}
	struct slice s = { r->in.p, n };
	r->in = slice_from(r->in, n);
	return s;
}

static inline uint64_t
rd_number(struct rd *r, size_t n)
{
	struct slice s = rd_bytes(r, n);
	uint64_t v = 0;

	for (size_t i = 0; i < s.n; i++)
		v = v << 8 | s.p[i];
	return v;
}

static inline uint8_t
rd_u8(struct rd *r)
{
	return (uint8_t)rd_number(r, 1);
}

static inline uint16_t
rd_u16(struct rd *r)
{
	return (uint16_t)rd_number(r, 2);
}

static inline uint32_t
rd_u32(struct rd *r)
{
	return (uint32_t)rd_number(r, 4);
}

static inline uint64_t
rd_u64(struct rd *r)
{
	return rd_number(r, 8);
}

/* Bytes behind their length in 1 (2, 4) bytes. */
static inline struct slice
rd_slice8(struct rd *r)
{
	return rd_bytes(r, rd_u8(r));
}

static inline struct slice
rd_slice16(struct rd *r)
{
	return rd_bytes(r, rd_u16(r));
}

static inline struct slice
rd_slice32(struct rd *r)
{
	return rd_bytes(r, rd_u32(r));
}

/* Everything was read, and nothing past it. */
static inline bool
rd_is_done(const struct rd *r)
{
	return !r->bad && r->in.n == 0;
}

#endif
