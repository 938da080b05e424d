/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "ns/links.h"

#define DATAGRAM_SIZE 65536 /* the kernel sends at most half of it */

/* A number of the kernel's; `fallback` if it is not of that size. */
static int
number(const struct rtattr *a, int fallback)
{
	int value = fallback;

	if (RTA_PAYLOAD(a) == sizeof(value))
		memcpy(&value, RTA_DATA(a), sizeof(value));
	return value;
}

static void
text(const struct rtattr *a, char *out, size_t size)
{
	size_t n = strnlen(RTA_DATA(a), RTA_PAYLOAD(a));

	n = n < size ? n : size - 1;
	memcpy(out, RTA_DATA(a), n);
	out[n] = '\0';
}

/* The attribute `type` among those nested in `in`, or NULL. */
static const struct rtattr *
nested(const struct rtattr *in, int type)
{
	size_t left = RTA_PAYLOAD(in);

	for (const struct rtattr *a = RTA_DATA(in); RTA_OK(a, left);
	     a = RTA_NEXT(a, left))
		if ((a->rta_type & NLA_TYPE_MASK) == type)
			return a;
	return NULL;
}

static void
take_attr(const struct rtattr *a, struct link *out)
{
	const struct rtattr *in;

	switch (a->rta_type & NLA_TYPE_MASK) {
	case IFLA_IFNAME:
		text(a, out->name, sizeof(out->name));
		return;
	case IFLA_ADDRESS:
		if (RTA_PAYLOAD(a) == sizeof(out->mac))
			memcpy(out->mac, RTA_DATA(a), sizeof(out->mac));
		return;
	case IFLA_MASTER:
		out->master = number(a, -1);
		return;
	case IFLA_LINK:
		out->peer = number(a, 0);
		return;
	case IFLA_LINK_NETNSID:
		out->peer_nsid = number(a, -1);
		return;
	case IFLA_LINKINFO:
		in = nested(a, IFLA_INFO_KIND);
		if (in != NULL)
			text(in, out->kind, sizeof(out->kind));
		return;
	case IFLA_XDP:
		in = nested(a, IFLA_XDP_ATTACHED);
		out->has_xdp = in != NULL && RTA_PAYLOAD(in) == 1 &&
		    *(const uint8_t *)RTA_DATA(in) != XDP_ATTACHED_NONE;
		return;
	default:
		return;
	}
}

static void
take_link(const struct nlmsghdr *h, struct links *links)
{
	const struct ifinfomsg *info = NLMSG_DATA(h);
	size_t left = IFLA_PAYLOAD(h);

	if (links->n++ >= LINKS_MAX)
		return;
	struct link *out = &links->link[links->n - 1];
	*out = (struct link){ .index = info->ifi_index,
		.is_up = (info->ifi_flags & IFF_UP) != 0,
		.peer_nsid = -1 };
	for (const struct rtattr *a = IFLA_RTA(info); RTA_OK(a, left);
	     a = RTA_NEXT(a, left))
		take_attr(a, out);
}

/* 1: there is more to come; 0: that was all; -1 with errno. */
static int
take_datagram(const void *bytes, size_t left, struct links *links)
{
	const struct nlmsghdr *h = bytes;
	struct nlmsgerr e;

	for (; NLMSG_OK(h, left); h = NLMSG_NEXT(h, left)) {
		if (h->nlmsg_flags & NLM_F_DUMP_INTR) {
			errno = EAGAIN; /* they changed meanwhile */
			return -1;
		}
		if (h->nlmsg_type == NLMSG_DONE)
			return 0;
		if (h->nlmsg_type == NLMSG_ERROR &&
		    h->nlmsg_len >= NLMSG_LENGTH(sizeof(e))) {
			memcpy(&e, NLMSG_DATA(h), sizeof(e));
			errno = -e.error;
			return -1;
		}
		if (h->nlmsg_type == RTM_NEWLINK &&
		    h->nlmsg_len >= NLMSG_LENGTH(sizeof(struct ifinfomsg)))
			take_link(h, links);
	}
	return 1;
}

int
links_read(int fd, struct links *links)
{
	static union {
		struct nlmsghdr align;
		uint8_t bytes[DATAGRAM_SIZE];
	} u;
	struct {
		struct nlmsghdr head;
		struct ifinfomsg body;
	} ask = {
		.head = { .nlmsg_len = sizeof(ask),
		    .nlmsg_type = RTM_GETLINK,
		    .nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP },
		.body = { .ifi_family = AF_UNSPEC },
	};
	int more = 1;

	*links = (struct links){ 0 };
	if (send(fd, &ask, sizeof(ask), 0) == -1)
		return -1;
	while (more == 1) {
		ssize_t n = recv(fd, u.bytes, sizeof(u.bytes), MSG_TRUNC);
		if (n == -1 && errno == EINTR)
			continue;
		if (n == -1)
			return -1;
		if ((size_t)n > sizeof(u.bytes)) {
			errno = EMSGSIZE;
			return -1;
		}
		more = take_datagram(u.bytes, (size_t)n, links);
	}
	return more;
}
