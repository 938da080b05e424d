/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "ns/rtnl.h"
#include "ns/watch.h"

#define MESSAGES_SIZE 16384 /* bytes of one datagram of the kernel's */
#define NAME_SIZE 16	    /* IFNAMSIZ */

/* The link's name, or its number where the message has none. */
static void
take_name(struct nlmsghdr *h, struct ifinfomsg *link, char name[NAME_SIZE])
{
	struct rtattr *a = IFLA_RTA(link);
	size_t left = IFLA_PAYLOAD(h);

	snprintf(name, NAME_SIZE, "%d", link->ifi_index);
	for (; RTA_OK(a, left); a = RTA_NEXT(a, left))
		if (a->rta_type == IFLA_IFNAME)
			snprintf(name, NAME_SIZE, "%.*s", (int)RTA_PAYLOAD(a),
			    (const char *)RTA_DATA(a));
}

/* Is there another link than lo in one datagram? */
static bool
has_other(void *bytes, size_t left, char name[NAME_SIZE])
{
	struct nlmsghdr *h = bytes;

	for (; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
		struct ifinfomsg *link = NLMSG_DATA(h);
		if (h->nlmsg_type != RTM_NEWLINK ||
		    h->nlmsg_len < NLMSG_LENGTH(sizeof(*link)) ||
		    link->ifi_index == RTNL_LO)
			continue;
		take_name(h, link, name);
		return true;
	}
	return false;
}

bool
watch_read(int links_fd, char name[NAME_SIZE])
{
	union {
		struct nlmsghdr align;
		uint8_t bytes[MESSAGES_SIZE];
	} u;

	for (;;) {
		ssize_t n = recv(links_fd, u.bytes, sizeof(u.bytes),
		    MSG_DONTWAIT | MSG_TRUNC);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && errno == EAGAIN)
			return false;
		if (n == -1 || (size_t)n > sizeof(u.bytes)) {
			snprintf(name, NAME_SIZE, "(unknown)");
			return true;
		}
		if (has_other(u.bytes, (size_t)n, name))
			return true;
	}
}
