/* SPDX-License-Identifier: Apache-2.0 */
/* net/stream.h over a connected TCP socket. */
#ifndef NET_STREAM_TCP_H
#define NET_STREAM_TCP_H

#include "net/stream.h"

/* `fd`, non-blocking, becomes the stream's own; it is closed on failure. */
MUST_USE struct stream *stream_tcp_new(struct loop *l, int fd, enum err *err);

/*
 * What an errno of reading from the socket means: STREAM_IO_READ, to wait, or
 * STREAM_IO_BROKEN, and the stream has the text.
 */
enum stream_io stream_tcp_error(struct stream *s, int number);

#endif
