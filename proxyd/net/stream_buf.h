/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One direction's bytes inside a stream: a buffer of fixed size that is there
 * only while it holds something.  For net/stream alone.
 */
#ifndef NET_STREAM_BUF_H
#define NET_STREAM_BUF_H

#include "base/attr.h"
#include "base/limits.h"
#include "base/slice.h"

/* Of any buffer: what is moved, and a whole head with a secret. */
#define STREAM_BUF_MAX (LIMIT_BACKLOG_SIZE + 32768)

struct stream_buf {
	uint8_t *p; /* owned; NULL while empty */
	size_t at;  /* where the first byte stands */
	size_t n;   /* bytes */
	size_t max; /* bytes allocated when p is not NULL */
	size_t top; /* bytes of those that were ever asked for */
};

/*
 * Room for `n` bytes behind the last one; n is at most what `max` leaves, and
 * `max` at most STREAM_BUF_MAX.  The bytes may move to the front.  NULL: no
 * memory.
 */
MUST_USE uint8_t *stream_buf_tail(struct stream_buf *b, size_t n, size_t max);

/* Drop `n` bytes, at most all, from the front. */
void stream_buf_drop(struct stream_buf *b, size_t n);

/* Give the memory back; `wipe` it before. */
void stream_buf_release(struct stream_buf *b, bool wipe);

#endif
