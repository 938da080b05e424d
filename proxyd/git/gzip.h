/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One gzip member, and nothing behind it, inflated piece by piece.
 *
 * git's own server stops at the end of the first member and ignores the rest,
 * others read the next: two command lists for two readers.  So what has a
 * second one is refused.  How much may come out is bounded twice: in bytes, and
 * as a multiple of what went in.
 *
 * Source: RFC 1952, by zlib.  No I/O.
 */
#ifndef GIT_GZIP_H
#define GIT_GZIP_H

#include "base/attr.h"
#include "base/parse.h"

struct gzip;

/* `most`: bytes that may come out.  NULL: no memory. */
struct gzip *gzip_new(uint64_t most);
void gzip_free(struct gzip *g);

/* What went in and what came out, for one call. */
struct gzip_step {
	struct slice in; /* what is there; on return, what is left of it */
	uint8_t *out;	 /* borrowed: room for what comes out */
	size_t room;	 /* bytes of it, at least one */
	size_t n;	 /* set: bytes written to it */
};

/*
 * Inflate on.  Written bytes count whatever the answer is but PARSE_BAD.
 *
 * PARSE_MORE: call again, with more bytes if `in` is empty and `n` is less than
 * `room`.  PARSE_DONE: the member has ended and its checksum fits; another call
 * with bytes is refused.  PARSE_BAD: git.malformed, limit.bytes, or internal if
 * there is no memory.
 */
MUST_USE enum parse gzip_take(struct gzip *g, struct gzip_step *step,
    struct parse_fail *fail);

/* The body has ended: PARSE_DONE if the member has, too, else PARSE_BAD. */
MUST_USE enum parse gzip_end(const struct gzip *g, struct parse_fail *fail);

#endif
