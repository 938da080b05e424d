/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes as zlib writes them without compressing (RFC 1950, RFC 1951 3.2.4). */
#ifndef TESTS_FUZZ_FUZZ_STORED_H
#define TESTS_FUZZ_FUZZ_STORED_H

#include <zlib.h>

#include "base/wr.h"

#define STORED_MORE 11 /* bytes beside the content */

/* `out` has room for s.n, below 65536, and STORED_MORE; returns what is used */
static inline size_t
stored_put(struct slice s, uint8_t *out)
{
	struct wr w = wr_of(out, s.n + STORED_MORE);

	wr_bytes(&w, SLICE("\x78\x01\x01"));
	wr_u8(&w, (uint8_t)s.n);
	wr_u8(&w, (uint8_t)(s.n >> 8));
	wr_u8(&w, (uint8_t)~s.n);
	wr_u8(&w, (uint8_t)(~s.n >> 8));
	wr_bytes(&w, s);
	wr_u32(&w, (uint32_t)adler32(1, s.p, (uInt)s.n));
	return wr_slice(&w).n;
}

#endif
