/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The real addresses of an allowed name, asked for when a connection is made
 * (c-ares in our loop).  Nothing is remembered between two dials: what is
 * judged is what this answer says.
 *
 * A and AAAA are asked for at once.  IPv6 addresses are told when they are here;
 * IPv4 ones are, when the others have had RESOLVE_DELAY_MS more; what comes
 * later is told then (RFC 8305 section 3).
 *
 * When the network changes, what is open is asked once more, out of new sockets:
 * at once with another list of the host's, or RESOLVE_SETTLE_MS after another
 * address of the host, since its list comes behind that.
 *
 * System calls: sockets of UDP and TCP; at resolver_new() /dev/urandom is read,
 * since c-ares 1.18 falls back to rand(3) in silence where it cannot, and ids
 * of questions could be guessed then.  So: one resolver, made before the role
 * is isolated.
 */
#ifndef DIAL_RESOLVE_H
#define DIAL_RESOLVE_H

#include "base/attr.h"
#include "base/err.h"
#include "base/ip.h"
#include "base/reason.h"
#include "dial/servers.h"
#include "net/loop.h"

#define RESOLVE_ADDRESSES_MAX 64 /* of both families; more are cut off */
#define RESOLVE_CNAMES_MAX 16	 /* aliases of an answer before it is refused */
#define RESOLVE_DELAY_MS 50	 /* for the second family, once one is here */
#define RESOLVE_SETTLE_MS 1500	 /* above a heartbeat, which sends the list */
#define RESOLVE_MAX 1024	 /* names being resolved, all sandboxes */

struct resolver;
struct resolution;

/* What came of it; the reason is ALLOW, with at least one address, or why not. */
struct resolved {
	enum reason reason;
	const char *detail; /* a literal, for people */
	bool more; /* this is one family: the other one's answer follows */
	size_t n;
	struct ip ips[RESOLVE_ADDRESSES_MAX];
};

/*
 * Called once, or, with `more` the first time, twice; never from inside
 * resolve_start().  The handle is gone when no more follows.
 */
typedef void resolve_on_done(const struct resolved *answer, void *arg);

MUST_USE struct resolver *resolver_new(struct loop *l, enum err *err);
void resolver_free(struct resolver *r); /* open questions are dropped */

/* The host's own list, for names that nothing else is configured for. */
void resolver_set_host(struct resolver *r, const struct servers *s);

/* The host has another address. */
void resolver_network_changed(struct resolver *r);

/*
 * Ask for the addresses of `host`, a canonical name.
 *
 * s	 the servers to ask; NULL: the host's own
 *
 * NULL with ERR_MEMORY, or ERR_FULL (RESOLVE_MAX, LINES_MAX).
 */
MUST_USE struct resolution *resolve_start(struct resolver *r, struct slice host,
    const struct servers *s, resolve_on_done *on_done, void *arg,
    enum err *err);

/* Forget it before it is done; NULL does nothing. */
void resolve_cancel(struct resolution *q);

#endif
