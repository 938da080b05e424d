/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A writer into a fixed buffer, the other half of base/rd.h.  The first write
 * past the end sets `bad` and every later one does nothing.
 * Pure.
 */
#ifndef BASE_WR_H
#define BASE_WR_H

#include <endian.h>

#include "base/slice.h"

struct wr {
	uint8_t *p; /* borrowed; the caller's buffer */
	size_t n;   /* bytes written */
	size_t max; /* bytes that fit */
	bool bad;   /* something did not fit */
};

static inline struct wr
wr_of(void *p, size_t max)
{
	return (struct wr){ .p = (uint8_t *)p, .max = max };
}

static inline void
wr_bytes(struct wr *w, struct slice s)
{
	if (w->bad || s.n > w->max - w->n) {
		w->bad = true;
		return;
	}
	if (s.n != 0)
		memcpy(w->p + w->n, s.p, s.n);
	w->n += s.n;
}

/* The `n` low bytes of `v`, 1 to 8, the highest first. */
static inline void
wr_number(struct wr *w, uint64_t v, size_t n)
{
	if (w->bad || n > w->max - w->n) {
		w->bad = true;
		return;
	}
	v = htobe64(v << (8 * (sizeof(v) - n)));
	memcpy(w->p + w->n, &v, n);
	w->n += n;
}

static inline void
wr_u8(struct wr *w, uint8_t v)
{
	wr_number(w, v, 1);
}

static inline void
wr_u16(struct wr *w, uint16_t v)
{
	wr_number(w, v, 2);
}

static inline void
wr_u32(struct wr *w, uint32_t v)
{
	wr_number(w, v, 4);
}

static inline void
wr_u64(struct wr *w, uint64_t v)
{
	wr_number(w, v, 8);
}

/* Bytes behind their length in 1 (2, 4) bytes; longer ones are `bad`. */
static inline void
wr_slice8(struct wr *w, struct slice s)
{
	if (s.n > UINT8_MAX)
		w->bad = true;
	wr_u8(w, (uint8_t)s.n);
	wr_bytes(w, s);
}

static inline void
wr_slice16(struct wr *w, struct slice s)
{
	if (s.n > UINT16_MAX)
		w->bad = true;
	wr_u16(w, (uint16_t)s.n);
	wr_bytes(w, s);
}

static inline void
wr_slice32(struct wr *w, struct slice s)
{
	if (s.n > UINT32_MAX)
		w->bad = true;
	wr_u32(w, (uint32_t)s.n);
	wr_bytes(w, s);
}

/* What was written; empty if anything did not fit. */
static inline struct slice
wr_slice(const struct wr *w)
{
	return w->bad ? (struct slice){ 0 } : (struct slice){ w->p, w->n };
}

#endif
