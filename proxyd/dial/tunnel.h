/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Over a connection to the company's proxy, a tunnel to the place that was
 * allowed: CONNECT is sent, the head of the answer is read, byte for byte to its
 * end and no further.  What flows behind it the dialer does not read.
 *
 * Bytes that are there already behind the head are the origin's speaking first.
 * Under TLS and HTTP no origin does: they are the proxy's, and refused; of a tcp
 * rule they stay in the socket.
 */
#ifndef DIAL_TUNNEL_H
#define DIAL_TUNNEL_H

#include "base/attr.h"
#include "base/err.h"
#include "base/reason.h"
#include "net/loop.h"
#include "wire/host.h"

struct tunnel;

struct tunnel_want {
	int fd; /* connected, nonblocking; borrowed until it is over */
	const struct host *host; /* copied */
	uint16_t port;
	bool may_speak_first; /* the origin */
};

/* ALLOW: the descriptor is one to the origin now; or UP_CONNECT, INTERNAL, and
 * the detail, for people, which lives for the call. */
typedef void tunnel_on_done(enum reason reason, const char *detail, void *arg);

/*
 * Called once, never from inside tunnel_start(); the handle is gone then.
 * There is no limit of time in here: the asker has one.  NULL: ERR_MEMORY.
 */
MUST_USE struct tunnel *tunnel_start(struct loop *l,
    const struct tunnel_want *want, tunnel_on_done *on_done, void *arg,
    enum err *err);

/* Forget it; NULL does nothing. */
void tunnel_cancel(struct tunnel *t);

#endif
