/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Links: connections of HTTP/2 outward, shared by the requests of a sandbox.
 * One serves all that have the same key (http/pool.h).  The first request that
 * wants one has it made, the others wait for it; another is made when its peer
 * takes no more requests at once.
 *
 * One that is draining, or that has refused a request, gets no other.  Idle for
 * LIMIT_POOL_IDLE_MS it is closed, or earlier if its room is wanted.
 */
#ifndef FLOW_LINK_H
#define FLOW_LINK_H

#include "flow/request.h"

struct link;

/*
 * REACH of a request: a stream, at once or later, by exchange_reached(), or
 * exchange_refuse().
 */
void link_reach(struct request *r);
/* The keeper released nothing for the link that it has: no other gets that. */
void link_retire(const struct request *r);
/* It does not wait any more. */
void link_leave(struct request *r);

/* An upstream that nobody has asked for yet, ready and verified. */
void link_keep(struct flow *f, const struct pool_key *key, struct stream *s);

/* Close one that is idle; false: there is none. */
bool link_drop_idle(struct sandbox *sb);
/* None gets another request: those that nobody uses are closed at once. */
void links_retire(struct sandbox *sb);
/* Close all. */
void links_close(struct sandbox *sb);

#endif
