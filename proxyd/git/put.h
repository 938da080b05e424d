/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pkt-lines into a buffer.  What does not fit into a line, or into the buffer,
 * sets `failed` of the buffer.
 */
#ifndef GIT_PUT_H
#define GIT_PUT_H

#include "base/buf.h"

/* A line with that payload. */
void put_line(struct buf *out, struct slice data);

/* Begin a line; its payload is put behind, then put_end() with what this gave. */
size_t put_begin(struct buf *out);
void put_end(struct buf *out, size_t at);

void put_flush(struct buf *out);

/*
 * Text that a peer chose, for a person: controls, DEL and bytes over 0x7e as
 * `?`, cut at `max` bytes.  With `blank` false blanks become `?` too.
 */
void put_clean(struct buf *out, struct slice text, size_t max, bool blank);

#endif
