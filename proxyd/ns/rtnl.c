/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <linux/if_addr.h>
#include <linux/net_namespace.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ns/rtnl.h"

#define DATAGRAM_SIZE 65536 /* the kernel sends at most half of it */

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

static int
open_groups(uint32_t groups)
{
	int type = SOCK_RAW | SOCK_CLOEXEC | (groups != 0 ? SOCK_NONBLOCK : 0);
	struct sockaddr_nl sa = { .nl_family = AF_NETLINK,
		.nl_groups = groups };
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
rtnl_open(bool watch)
{
	return open_groups(watch ? RTMGRP_LINK : 0);
}

int
rtnl_open_watch_all(void)
{
	return open_groups(RTMGRP_LINK | RTMGRP_TC);
}

int
rtnl_link_set(int fd, int link, bool up)
{
	struct ifinfomsg body = { .ifi_family = AF_UNSPEC,
		.ifi_index = link,
		.ifi_flags = up ? IFF_UP : 0,
		.ifi_change = IFF_UP };
	struct request r;

	request_init(&r, RTM_NEWLINK, &body, sizeof(body));
	return talk(fd, &r);
}

int
rtnl_address(int fd, int link, const struct ip *ip, uint8_t prefix)
{
	bool v4 = ip->family == 4;
	size_t n = v4 ? 4 : 16;
	struct ifaddrmsg body = { .ifa_family = v4 ? AF_INET : AF_INET6,
		.ifa_prefixlen = prefix,
		.ifa_flags = IFA_F_NODAD, /* else tentative for a second */
		.ifa_index = (uint32_t)link };
	struct request r;

	request_init(&r, RTM_NEWADDR, &body, sizeof(body));
	put(&r, IFA_LOCAL, ip->bytes, n);
	put(&r, IFA_ADDRESS, ip->bytes, n);
	return talk(fd, &r);
}

/* 1: there is more to come; 0: that was all; -1 with errno. */
static int
take_datagram(void *bytes, size_t left,
    void (*on_row)(struct nlmsghdr *row, void *arg), void *arg)
{
	struct nlmsghdr *h = bytes;
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
		on_row(h, arg);
	}
	return 1;
}

int
rtnl_dump(int fd, struct nlmsghdr *ask,
    void (*on_row)(struct nlmsghdr *row, void *arg), void *arg)
{
	static union {
		struct nlmsghdr align;
		uint8_t bytes[DATAGRAM_SIZE];
	} u;
	int more = 1;

	ask->nlmsg_flags = NLM_F_REQUEST | NLM_F_DUMP;
	if (send(fd, ask, ask->nlmsg_len, 0) == -1)
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
		more = take_datagram(u.bytes, (size_t)n, on_row, arg);
	}
	return more;
}

/* The answer to RTM_GETNSID has one attribute that counts. */
static int
nsid_in(struct nlmsghdr *h, size_t size)
{
	size_t at = NLMSG_HDRLEN + NLMSG_ALIGN(sizeof(struct rtgenmsg));
	int number = -1;

	if (h->nlmsg_type != RTM_NEWNSID || h->nlmsg_len > size ||
	    h->nlmsg_len < at)
		return -1;
	struct rtattr *a = (void *)((uint8_t *)(void *)h + at);
	for (size_t left = h->nlmsg_len - at; RTA_OK(a, left);
	     a = RTA_NEXT(a, left))
		if (a->rta_type == NETNSA_NSID &&
		    RTA_PAYLOAD(a) == sizeof(number))
			memcpy(&number, RTA_DATA(a), sizeof(number));
	return number;
}

int
rtnl_nsid(int fd, int net_fd)
{
	struct rtgenmsg body[4] = { { .rtgen_family = AF_UNSPEC } };
	union {
		struct nlmsghdr head;
		uint8_t bytes[1024];
	} answer;
	uint32_t value = (uint32_t)net_fd;
	struct request r;

	request_init(&r, RTM_GETNSID, body, sizeof(body));
	r.u.head.nlmsg_flags = NLM_F_REQUEST;
	put(&r, NETNSA_FD, &value, sizeof(value));
	if (r.bad || send(fd, r.u.bytes, r.u.head.nlmsg_len, 0) == -1)
		return -1;
	ssize_t n = recv(fd, answer.bytes, sizeof(answer.bytes), 0);
	return n < (ssize_t)sizeof(answer.head) ?
	    -1 :
	    nsid_in(&answer.head, (size_t)n);
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
