/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A connection of HTTP/2 over a stream, either side, by nghttp2.  What it
 * carries are streams of net/stream.h, see http/h2_stream.h.
 *
 * What its owner may rely on:
 *  - The two callbacks, and the `on_news` of its streams, come from the loop
 *    only, never from inside a call that the owner makes.
 *  - nghttp2 is entered by a step of ours alone; its callbacks only record.
 *  - Every kind of frame has a budget, on both sides; the peer that spends it
 *    gets GOAWAY(ENHANCE_YOUR_CALM): broken, REASON_H2_ABUSE.
 *  - An upstream with open streams that is silent is asked by a PING; without
 *    an answer it is broken, REASON_UP_RESPONSE (h2_alive.c).
 *  - What a peer breaks of the protocol of the connection is broken,
 *    REASON_H2_PROTOCOL.  What it breaks of HTTP is for the readers of heads.
 *
 * Source: RFC 9113.
 */
#ifndef HTTP_H2_H
#define HTTP_H2_H

#include "net/stream.h"

struct h2_conn;

/* What a connection asks of its owner; `arg` is given to each. */
struct h2_conn_ops {
	/*
	 * Of a server: a request's head is whole, or can never be
	 * (h2_read_request() says so).  `s` is the owner's now.  NULL for the
	 * side that only asks.
	 */
	void (*on_request)(struct h2_conn *c, struct stream *s, void *arg);
	/* The connection itself changed: broken, draining, over, idle, ready;
	 * more streams may be opened. */
	void (*on_news)(struct h2_conn *c, void *arg);
};

/*
 * Towards a client, or towards an upstream.
 *
 * bytes  ready, or soon; the connection's own, closed on failure too
 * ops	  borrowed, as `arg` is, until h2_close()
 *
 * NULL: ERR_MEMORY.
 */
MUST_USE struct h2_conn *h2_accept(struct loop *l, struct stream *bytes,
    const struct h2_conn_ops *ops, void *arg, enum err *err);
MUST_USE struct h2_conn *h2_connect(struct loop *l, struct stream *bytes,
    const struct h2_conn_ops *ops, void *arg, enum err *err);

/* Of a server, before the loop runs: extended CONNECT is offered (RFC 8441). */
void h2_offer_connect(struct h2_conn *c);
/* Of the side that asks, before the loop runs: less may come unread. */
void h2_narrow(struct h2_conn *c);
/* The peer's SETTINGS have come. */
bool h2_is_ready(const struct h2_conn *c);
/* The peer, a server, offers extended CONNECT; known when ready. */
bool h2_may_connect(const struct h2_conn *c);

/*
 * A new stream towards an upstream; the owner's.  NULL: no more streams now
 * (h2_may_open says so), or no memory.
 */
MUST_USE struct stream *h2_open(struct h2_conn *c, enum err *err);
bool h2_may_open(const struct h2_conn *c);

/* Is most of its window taken by DATA that owners of streams do not read? */
bool h2_is_clogged(const struct h2_conn *c);

/* Streams that were not closed by their owners. */
unsigned h2_n_streams(const struct h2_conn *c);

/* Lost, or ended for its peer's fault or by it: nothing is carried any more. */
bool h2_is_broken(const struct h2_conn *c);
/* No new streams (GOAWAY, of either side); those that are there go on. */
bool h2_is_draining(const struct h2_conn *c);
/*
 * Broken, and nothing is lost by h2_close(): what was put has left and the
 * peer has ended too.  Else wait, for a time, so that it can read our GOAWAY.
 */
bool h2_is_over(const struct h2_conn *c);
/* Why broken: REASON_ALLOW for an end in due form with no stream left. */
enum reason h2_reason(const struct h2_conn *c);
const char *h2_text(const struct h2_conn *c);

/* For checks: will something wake it, or its owner? */
bool h2_is_armed(const struct h2_conn *c);

/* What it runs over; borrowed. */
struct stream *h2_bytes(const struct h2_conn *c);
/* Borrowed; for showing the socket to the keeper.  -1: none. */
int h2_fd(const struct h2_conn *c);

/*
 * No new streams: GOAWAY in two steps, so that no request that is on its way
 * is lost (RFC 9113 6.8).  Those that are there go on.
 */
void h2_shut(struct h2_conn *c);

/* The peer takes too much of its owner's: over at once, with GOAWAY. */
void h2_end_abuse(struct h2_conn *c, const char *text);

/* End it now; NULL does nothing.  Every stream of it becomes broken. */
void h2_close(struct h2_conn *c);

#endif
