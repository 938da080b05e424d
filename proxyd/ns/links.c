/* SPDX-License-Identifier: Apache-2.0 */
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <string.h>
#include <sys/socket.h>

#include "ns/links.h"
#include "ns/rtnl.h"

/* A number of the kernel's; `fallback` if it is not of that size. */
static int
number(struct rtattr *a, int fallback)
{
	int value = fallback;

	if (RTA_PAYLOAD(a) == sizeof(value))
		memcpy(&value, RTA_DATA(a), sizeof(value));
	return value;
}

static void
text(struct rtattr *a, char *out, size_t size)
{
	size_t n = strnlen(RTA_DATA(a), RTA_PAYLOAD(a));

	n = n < size ? n : size - 1;
	memcpy(out, RTA_DATA(a), n);
	out[n] = '\0';
}

/* The attribute `type` among those nested in `in`, or NULL. */
static struct rtattr *
nested(struct rtattr *in, int type)
{
	size_t left = RTA_PAYLOAD(in);

	for (struct rtattr *a = RTA_DATA(in); RTA_OK(a, left);
	     a = RTA_NEXT(a, left))
		if ((a->rta_type & NLA_TYPE_MASK) == type)
			return a;
	return NULL;
}

static void
take_attr(struct rtattr *a, struct link *out)
{
	struct rtattr *in;

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

bool
links_parse(struct nlmsghdr *h, struct link *out)
{
	struct ifinfomsg *info = NLMSG_DATA(h);

	if (h->nlmsg_len < NLMSG_LENGTH(sizeof(*info)))
		return false;
	*out = (struct link){ .index = info->ifi_index,
		.is_up = (info->ifi_flags & IFF_UP) != 0,
		.peer_nsid = -1 };
	size_t left = IFLA_PAYLOAD(h);
	for (struct rtattr *a = IFLA_RTA(info); RTA_OK(a, left);
	     a = RTA_NEXT(a, left))
		take_attr(a, out);
	return true;
}

static void
on_link(struct nlmsghdr *h, void *arg)
{
	struct links *links = arg;
	struct link link;

	if (h->nlmsg_type != RTM_NEWLINK || !links_parse(h, &link))
		return;
	if (links->n++ < LINKS_MAX)
		links->link[links->n - 1] = link;
}

int
links_read(int fd, struct links *links)
{
	struct {
		struct nlmsghdr head;
		struct ifinfomsg body;
	} ask = {
		.head = { .nlmsg_len = sizeof(ask), .nlmsg_type = RTM_GETLINK },
		.body = { .ifi_family = AF_UNSPEC },
	};

	*links = (struct links){ 0 };
	return rtnl_dump(fd, &ask.head, on_link, links);
}

const struct link *
links_find(const struct links *links, int index)
{
	for (size_t i = 0; i < links->n && i < LINKS_MAX; i++)
		if (links->link[i].index == index)
			return &links->link[i];
	return NULL;
}

bool
links_is_hook(struct nlmsghdr *h, int index)
{
	struct tcmsg *tc = NLMSG_DATA(h);
	char kind[16] = "";

	if (h->nlmsg_type != RTM_NEWQDISC ||
	    h->nlmsg_len < NLMSG_LENGTH(sizeof(*tc)) ||
	    tc->tcm_ifindex != index)
		return false;
	size_t left = TCA_PAYLOAD(h);
	for (struct rtattr *a = TCA_RTA(tc); RTA_OK(a, left);
	     a = RTA_NEXT(a, left))
		if (a->rta_type == TCA_KIND)
			text(a, kind, sizeof(kind));
	return strcmp(kind, "clsact") == 0 || strcmp(kind, "ingress") == 0;
}

struct search {
	int index;
	bool found;
};

static void
on_qdisc(struct nlmsghdr *h, void *arg)
{
	struct search *s = arg;

	if (links_is_hook(h, s->index))
		s->found = true;
}

int
links_has_hook(int fd, int index)
{
	struct {
		struct nlmsghdr head;
		struct tcmsg body;
	} ask = {
		.head = { .nlmsg_len = sizeof(ask),
		    .nlmsg_type = RTM_GETQDISC },
		.body = { .tcm_family = AF_UNSPEC, .tcm_ifindex = index },
	};
	struct search s = { .index = index };

	if (rtnl_dump(fd, &ask.head, on_qdisc, &s) == -1)
		return -1;
	return s.found ? 1 : 0;
}

struct addresses {
	int index;
	struct control_address *out;
	size_t n, max;
};

static void
on_address(struct nlmsghdr *h, void *arg)
{
	struct addresses *list = arg;
	struct ifaddrmsg *info = NLMSG_DATA(h);
	struct ip ip = { 0 };

	if (h->nlmsg_type != RTM_NEWADDR ||
	    h->nlmsg_len < NLMSG_LENGTH(sizeof(*info)) ||
	    info->ifa_index != (uint32_t)list->index)
		return;
	bool v4 = info->ifa_family == AF_INET;
	size_t left = IFA_PAYLOAD(h), n = v4 ? 4 : 16;
	for (struct rtattr *a = IFA_RTA(info); RTA_OK(a, left);
	     a = RTA_NEXT(a, left)) {
		if (a->rta_type != (v4 ? IFA_LOCAL : IFA_ADDRESS) ||
		    RTA_PAYLOAD(a) != n)
			continue;
		ip.family = v4 ? 4 : 6;
		memcpy(ip.bytes, RTA_DATA(a), n);
	}
	if (ip.family != 0 && info->ifa_scope != RT_SCOPE_LINK &&
	    list->n++ < list->max)
		list->out[list->n - 1] =
		    (struct control_address){ ip, info->ifa_prefixlen };
}

int
links_addresses(int fd, int index, struct control_address *out, size_t *n)
{
	struct {
		struct nlmsghdr head;
		struct ifaddrmsg body;
	} ask = {
		.head = { .nlmsg_len = sizeof(ask), .nlmsg_type = RTM_GETADDR },
		.body = { .ifa_family = AF_UNSPEC },
	};
	struct addresses list = { index, out, 0, CONTROL_ADDRESSES_MAX };

	if (rtnl_dump(fd, &ask.head, on_address, &list) == -1)
		return -1;
	*n = list.n;
	return 0;
}
