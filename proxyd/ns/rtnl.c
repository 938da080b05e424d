/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ns/rtnl.h"

struct request {
	union {
		struct nlmsghdr head;
		uint8_t bytes[256];
	} u;
	bool bad; /* it did not fit */
};

static void
request_init(struct request *r, uint16_t type, const void *body, size_t n)
{
	*r = (struct request){ 0 };
	r->u.head.nlmsg_len = (uint32_t)NLMSG_LENGTH(n);
	r->u.head.nlmsg_type = type;
	r->u.head.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	if (type != RTM_NEWLINK)
		r->u.head.nlmsg_flags |= NLM_F_CREATE | NLM_F_EXCL;
	memcpy(r->u.bytes + NLMSG_HDRLEN, body, n);
}

static void
put(struct request *r, uint16_t type, const void *data, size_t n)
{
	size_t at = NLMSG_ALIGN(r->u.head.nlmsg_len);
	struct rtattr attr = { .rta_len = (uint16_t)RTA_LENGTH(n),
		.rta_type = type };

	if (at + RTA_SPACE(n) > sizeof(r->u.bytes)) {
		r->bad = true;
		return;
	}
	memcpy(r->u.bytes + at, &attr, sizeof(attr));
	memcpy(r->u.bytes + at + RTA_LENGTH(0), data, n);
	r->u.head.nlmsg_len = (uint32_t)(at + RTA_SPACE(n));
}

/* Send, read the acknowledgement: struct nlmsgerr, 0 or a negative errno. */
static int
talk(int fd, const struct request *r)
{
	union {
		struct nlmsghdr head;
		uint8_t bytes[1024];
	} answer;
	struct nlmsgerr e;

	if (r->bad) {
		errno = EMSGSIZE;
		return -1;
	}
	if (send(fd, r->u.bytes, r->u.head.nlmsg_len, 0) == -1)
		return -1;
	ssize_t n = recv(fd, answer.bytes, sizeof(answer.bytes), 0);
	if (n == -1)
		return -1;
	if ((size_t)n < NLMSG_LENGTH(sizeof(e)) ||
	    answer.head.nlmsg_type != NLMSG_ERROR) {
		errno = EBADMSG;
		return -1;
	}
	memcpy(&e, answer.bytes + NLMSG_HDRLEN, sizeof(e));
	errno = -e.error;
	return e.error == 0 ? 0 : -1;
}

int
rtnl_open(bool watch)
{
	int type = SOCK_RAW | SOCK_CLOEXEC | (watch ? SOCK_NONBLOCK : 0);
	struct sockaddr_nl sa = { .nl_family = AF_NETLINK,
		.nl_groups = watch ? RTMGRP_LINK : 0 };
	int fd = socket(AF_NETLINK, type, NETLINK_ROUTE);

	if (fd == -1)
		return -1;
	if (bind(fd, (struct sockaddr *)&sa, sizeof(sa)) == -1) {
		int number = errno;
		close(fd);
		errno = number;
		return -1;
	}
	return fd;
}

int
rtnl_link_up(int fd, int link)
{
	struct ifinfomsg body = { .ifi_family = AF_UNSPEC,
		.ifi_index = link,
		.ifi_flags = IFF_UP,
		.ifi_change = IFF_UP };
	struct request r;

	request_init(&r, RTM_NEWLINK, &body, sizeof(body));
	return talk(fd, &r);
}

int
rtnl_address(int fd, int link, const struct ip *ip)
{
	bool v4 = ip->family == 4;
	size_t n = v4 ? 4 : 16;
	struct ifaddrmsg body = { .ifa_family = v4 ? AF_INET : AF_INET6,
		.ifa_prefixlen = v4 ? 32 : 128,
		.ifa_flags = IFA_F_NODAD, /* else tentative for a second */
		.ifa_index = (uint32_t)link };
	struct request r;

	request_init(&r, RTM_NEWADDR, &body, sizeof(body));
	put(&r, IFA_LOCAL, ip->bytes, n);
	put(&r, IFA_ADDRESS, ip->bytes, n);
	return talk(fd, &r);
}

int
rtnl_all_local(int fd, int link, const struct ip *ip)
{
	struct rtmsg body = { .rtm_family =
				  ip->family == 4 ? AF_INET : AF_INET6,
		.rtm_table = RT_TABLE_LOCAL,
		.rtm_protocol = RTPROT_BOOT,
		.rtm_scope = RT_SCOPE_HOST,
		.rtm_type = RTN_LOCAL };
	struct request r;

	request_init(&r, RTM_NEWROUTE, &body, sizeof(body));
	put(&r, RTA_OIF, &link, sizeof(link));
	put(&r, RTA_PREFSRC, ip->bytes, ip->family == 4 ? 4 : 16);
	return talk(fd, &r);
}
