/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a sandbox's flows come in: the loopback of its network namespace and
 * the sockets in there, made by a process that has entered it.
 */
#ifndef NS_INLET_H
#define NS_INLET_H

#include <stdbool.h>

#include "ns/netns.h"

struct inlet {
	int socket[NETNS_SOCKET_COUNT]; /* owned; -1: not made */
	bool has_ipv6;			/* this kernel has it */
	bool lasting; /* they come back on the same ports after a restart */
	uint16_t tcp_port, dns_port; /* 0 before: the kernel chooses */
};

/* No socket yet; looks whether there is IPv6. */
void inlet_init(struct inlet *in, uint16_t tcp_port, uint16_t dns_port);

/* lo up, an address of each family, and every address a local one.  What is
 * there already is left, if it is lasting. */
MUST_USE int inlet_loopback(struct inlet *in, struct fail *fail);

/*
 * Open all sockets that are not open yet.
 *
 * link  NULL: on loopback's own addresses; else on all addresses, for what
 *	 comes over this link alone
 */
MUST_USE int inlet_listen(struct inlet *in, const char *link,
    struct fail *fail);

/* Those that were made, in the order of enum netns_socket, into `fd`; how many.
 */
size_t inlet_list(const struct inlet *in, int *fd);

/* The sockets of OP_SANDBOX, NETNS_LINKS at most, into `fd`; how many. */
size_t inlet_for_worker(const int *socket, int *fd);

/* Is there such a socket without IPv6? */
bool inlet_is_ipv6(enum netns_socket which);

#endif
