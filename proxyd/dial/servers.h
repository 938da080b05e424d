/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of resolvers: from the owner's configuration, or the `nameserver`
 * lines of the host's resolv.conf.  Nothing else of that file counts: search
 * domains and options would let the host's settings change which name is asked.
 */
#ifndef DIAL_SERVERS_H
#define DIAL_SERVERS_H

#include "base/ip.h"

#define SERVERS_MAX 4	/* resolvers of one list; more are left out */
#define SERVERS_PORT 53 /* unless given */

struct servers {
	size_t n;
	struct ip ips[SERVERS_MAX];
	uint16_t ports[SERVERS_MAX];
};

/*
 * Read the text of a resolv.conf.  Lines that are no `nameserver ADDRESS`, and
 * addresses with a scope (`fe80::1%eth0`), are passed over.  A file that names
 * none means the resolver on 127.0.0.1 (resolv.conf(5)).
 */
struct servers servers_read(struct slice text);

bool servers_eq(const struct servers *a, const struct servers *b);

#endif
