/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The links of the present network namespace, as far as a capture has to know
 * them.
 *
 * Source: rtnetlink(7), linux/if_link.h.  The kernel's answers are trusted to
 *	   be the kernel's, and bounds are checked all the same.
 */
#ifndef NS_LINKS_H
#define NS_LINKS_H

#include <net/if.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "priv/control.h"

struct nlmsghdr;

#define LINKS_MAX 8 /* more than any namespace of ours may have */

struct link {
	int index;
	char name[IFNAMSIZ];
	char kind[16];	/* "veth", "tun", ...; empty: none told */
	uint8_t mac[6]; /* zero: it has none of this length */
	bool is_up;	/* as told to be; it may lack its other end */
	int master;	/* of a bridge, bond or vrf; 0: none */
	bool has_xdp;	/* a program takes its packets first */
	int peer;	/* veth: the other end's index in its namespace; 0 */
	int peer_nsid;	/* ... and our number for that; -1: this one */
};

struct links {
	struct link link[LINKS_MAX];
	size_t n; /* how many there are, which may be more than LINKS_MAX */
};

/* Read them all, over a socket of rtnl_open(false); -1 with errno. */
MUST_USE int links_read(int fd, struct links *links);

/* The one of this index, or NULL.  Borrowed. */
const struct link *links_find(const struct links *links, int index);

/* One message of the kernel's about a link; false: it is cut. */
bool links_parse(struct nlmsghdr *h, struct link *out);

/* Does this message say that a place for programs was hung into the way of the
 * link's packets, where they may be led past our rules? */
bool links_is_hook(struct nlmsghdr *h, int index);

/* Is there such a place on the link?  1, 0; -1 with errno. */
MUST_USE int links_has_hook(int fd, int index);

/*
 * The addresses of a link, but for those that are only for the link itself.
 *
 * out  CONTROL_ADDRESSES_MAX long
 * n	set; how many there are, which may be more
 */
MUST_USE int links_addresses(int fd, int index, struct control_address *out,
    size_t *n);

#endif
