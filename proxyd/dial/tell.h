/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tell the keeper of a connection before anybody else has it: the cookie of
 * its socket, and for which sandbox, name and port it was made.  Later a worker
 * shows the keeper that socket, and gets a credential for that name only.  The dialer keeps no duplicate: the origin would see no end of it.
 */
#ifndef DIAL_TELL_H
#define DIAL_TELL_H

#include "base/reason.h"
#include "net/channel.h"
#include "priv/who.h"

struct tell {
	struct who who;
	uint64_t cookie;
	uint16_t port;
	struct slice host; /* canonical */
};

/* The cookie of a socket (SO_COOKIE): the kernel never gives it again. */
MUST_USE int tell_cookie(int fd, uint64_t *cookie, enum err *err);

/*
 * Send it; `on_told` is called once, with NULL if the keeper went away first.
 * The id of the request, or 0 with *err as channel_ask().
 */
MUST_USE uint32_t tell_send(struct channel *keeper, const struct tell *t,
    channel_on_answer *on_told, void *arg, enum err *err);

/* What `on_told` was called with: ALLOW, or why the keeper does not keep it. */
enum reason tell_answer(const struct msg *m);

#endif
