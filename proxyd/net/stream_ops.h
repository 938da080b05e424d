/* SPDX-License-Identifier: Apache-2.0 */
/* What an implementation of net/stream.h gives. */
#ifndef NET_STREAM_OPS_H
#define NET_STREAM_OPS_H

#include <stddef.h>
#include <stdint.h>

struct stream;

/* What one step of an implementation came to. */
enum stream_io {
	STREAM_IO_OK,	  /* done, or some bytes moved: call again */
	STREAM_IO_READ,	  /* wait until the descriptor is readable */
	STREAM_IO_WRITE,  /* wait until it is writable */
	STREAM_IO_EOF,	  /* read only: the peer announced its end */
	STREAM_IO_BROKEN, /* lost, and stream_fail() has said why */
};

struct stream_ops {
	/*
	 * Bring the connection up (TLS handshake); called until it answers OK
	 * or BROKEN.  NULL: it is up from the start.
	 */
	enum stream_io (*start)(struct stream *s);
	/*
	 * Read up to `max` (never 0) bytes.  OK: *n, at least 1, and maybe more
	 * at hand without the descriptor being readable (SSL_pending).  An end
	 * that was not announced (TCP FIN without close_notify under TLS) is
	 * BROKEN, never EOF.
	 */
	enum stream_io (
	    *read)(struct stream *s, uint8_t *p, size_t max, size_t *n);
	/*
	 * Write some of `n` (never 0) bytes.  OK: *done, at least 1.  After
	 * READ or WRITE the next call has the same bytes, perhaps more behind
	 * them, perhaps at another place in memory.
	 */
	enum stream_io (
	    *write)(struct stream *s, const uint8_t *p, size_t n, size_t *done);
	/*
	 * Announce our end (close_notify and SHUT_WR); all was written.  The
	 * other direction goes on.
	 */
	enum stream_io (*shut)(struct stream *s);
	/* Free what is the implementation's own, and itself; the descriptor is
	 * closed behind it.  Called by the reaper. */
	void (*free)(struct stream *s);
	/*
	 * The owner took, put, held, shut or closed.  Not NULL: the stream is a
	 * part of something else (http/h2_stream.h), which moves the bytes of
	 * `in` and `out`, sets `ended`, `shut` and `broken` and calls
	 * stream_tell(); of the functions above `free` alone is called.
	 */
	void (*touched)(struct stream *s);
};

#endif
