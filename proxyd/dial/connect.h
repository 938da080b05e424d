/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connect to one of several addresses, in time.
 *
 * Source: RFC 8305 sections 4 and 5: families take turns, IPv6 first; the next
 * address is tried LIMIT_STAGGER_MS after the last, or at once when that failed.
 * Each sockaddr is judged (policy/address.h) at the moment it is dialled, with
 * the host's own addresses read in that moment, and it is that very sockaddr
 * which connect(2) gets.  One that is refused is passed over: a good address
 * does not cover for a bad one, and a bad one does not spoil a good one.
 */
#ifndef DIAL_CONNECT_H
#define DIAL_CONNECT_H

#include "base/attr.h"
#include "base/err.h"
#include "base/ip.h"
#include "base/reason.h"
#include "net/loop.h"
#include "policy/program.h"

#define CONNECT_PARALLEL_MAX 8 /* attempts at once; then the oldest goes */
#define CONNECT_ADDRESSES_MAX 64

struct connecting;

struct connect_want {
	const struct program *program; /* borrowed until it is over; NULL: the
					* owner's own word, nothing is judged */
	struct slice host; /* canonical; borrowed until it is over */
	uint16_t port;
	const struct ip *ips; /* copied */
	size_t n;	      /* up to CONNECT_ADDRESSES_MAX of a family */
	bool public_only;     /* whatever a rule opens for the host */
	bool more;	      /* connect_add() follows: do not give up before */
};

struct connected {
	enum reason reason; /* ALLOW, UP_PRIVATE, DST_*, UP_CONNECT, INTERNAL */
	const char *detail; /* a literal, for people */
	size_t n_refused;   /* addresses that were not dialled */
	struct ip refused;  /* the first of them */
	int fd;		    /* the receiver's own; -1 unless ALLOW */
	struct ip peer;	    /* the address that was dialled; ALLOW only */
};

/* Called once, never from inside connect_start(); the handle is gone then. */
typedef void connect_on_done(const struct connected *c, void *arg);

/*
 * There is no limit for the whole in here: the asker has one.
 * NULL with ERR_MEMORY.
 */
MUST_USE struct connecting *connect_start(struct loop *l,
    const struct connect_want *want, connect_on_done *on_done, void *arg,
    enum err *err);

/* May this address be dialled, now? */
enum reason connect_judge(const struct program *p, struct slice host,
    uint16_t port, const struct ip *ip);

/* The addresses that came later, perhaps none; once, and only after `more`. */
void connect_add(struct connecting *c, const struct ip *ips, size_t n);

/* Close what is open and forget it; NULL does nothing. */
void connect_cancel(struct connecting *c);

#endif
