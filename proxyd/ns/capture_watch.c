/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include "ns/capture.h"
#include "ns/links.h"
#include "ns/rtnl.h"

#define MESSAGES_SIZE 32768 /* bytes of one datagram of the kernel's */

/* What a message tells of the gate's own link, or NULL. */
static const char *
own_changed(struct nlmsghdr *h, const struct link *link)
{
	if (h->nlmsg_type == RTM_DELLINK)
		return "is gone";
	if (link->master != 0)
		return "was made a port of another";
	return link->has_xdp ? "got a program of XDP" : NULL;
}

/* Is this a change?  `why` is set then. */
static bool
is_change(const struct capture *c, struct nlmsghdr *h, struct fail *why)
{
	struct link link;

	if (c->link != 0 && links_is_hook(h, c->link)) {
		fail_set(why, ERR_DENIED,
		    "programs of tc were hung into the sandbox's link");
		return true;
	}
	if (h->nlmsg_type != RTM_NEWLINK && h->nlmsg_type != RTM_DELLINK)
		return false;
	if (!links_parse(h, &link) || link.index == RTNL_LO)
		return false;
	if (link.index != c->link) {
		if (h->nlmsg_type == RTM_DELLINK)
			return false; /* its coming was told */
		fail_set(why, ERR_DENIED, "the link %s appeared", link.name);
		return true;
	}
	const char *what = own_changed(h, &link);
	if (what != NULL)
		fail_set(why, ERR_DENIED, "the link %s %s", link.name, what);
	return what != NULL;
}

bool
capture_watch(const struct capture *capture, struct fail *why)
{
	union {
		struct nlmsghdr align;
		uint8_t bytes[MESSAGES_SIZE];
	} u;

	for (;;) {
		ssize_t n = recv(capture->socket[NETNS_LINKS], u.bytes,
		    sizeof(u.bytes), MSG_DONTWAIT | MSG_TRUNC);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1 && errno == EAGAIN)
			return false;
		if (n == -1 || (size_t)n > sizeof(u.bytes)) {
			fail_set(why, ERR_SYSTEM,
			    "what happened to the links was lost");
			return true;
		}
		size_t left = (size_t)n;
		for (struct nlmsghdr *h = &u.align; NLMSG_OK(h, left);
		     h = NLMSG_NEXT(h, left))
			if (is_change(capture, h, why))
				return true;
	}
}
