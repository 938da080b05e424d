/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes both ways between two streams, unread: by splice(2) through a pipe
 * where both are sockets, so that they never come into this process; else, and
 * where no pipe is left, through the buffer of the stream that they came on.
 *
 * A direction has at most one pipe, or one buffer, of bytes on their way, and
 * reads no more before all of them have left: a side that does not read holds
 * the other by the window of TCP.  An end is passed on behind the last byte;
 * the other direction goes on.
 */
#ifndef NET_SPLICE_H
#define NET_SPLICE_H

#include "net/pipes.h"
#include "net/stream.h"

struct splice;

/* Bytes moved, or something ended.  From the loop only; may free the splice. */
typedef void splice_on_news(void *arg);

enum splice_state {
	SPLICE_OPEN,
	SPLICE_OVER, /* both ends were announced and passed on */
	SPLICE_LOST, /* one of the streams is broken: which, they say */
};

/*
 * Both streams stay the caller's, who may close them once the splice is freed.
 * Bytes that were read from them already pass first; nothing may wait in their
 * `out`.  The pipes are borrowed.  NULL: no memory.
 */
MUST_USE struct splice *splice_new(struct stream *client,
    struct stream *upstream, struct pipes *pipes, splice_on_news *on_news,
    void *arg);
void splice_free(struct splice *s);

/* Move what can be moved at this moment; nobody is told. */
void splice_look(struct splice *s);

enum splice_state splice_state(const struct splice *s);

#endif
