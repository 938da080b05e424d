/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host's own addresses, of every link, as the kernel has them now.  They
 * are read anew for each attempt to connect: an address that came up a second
 * ago must not be dialled as if it were somebody else's.
 *
 * System calls: a netlink socket (NETLINK_ROUTE) that is closed again.
 */
#ifndef DIAL_OWN_H
#define DIAL_OWN_H

#include "base/attr.h"
#include "base/err.h"
#include "base/ip.h"

#define OWN_MAX 4096 /* addresses of one host; more is a failure */

struct own {
	struct ip *ips; /* owned */
	size_t n;
};

/* 0, or -1 with ERR_SYSTEM, ERR_FULL or ERR_MEMORY: then nothing is dialled. */
MUST_USE int own_read(struct own *o, enum err *err);
void own_release(struct own *o);

#endif
