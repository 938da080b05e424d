/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/socket.h>

#include <errno.h>
#include <linux/rtnetlink.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/log.h"
#include "dial/network.h"
#include "dial/own.h"

struct network {
	int fd;		     /* owned */
	struct event *event; /* owned; readable */
	struct own own;	     /* as they were last */
	network_on_change *on_change;
	void *arg;
};

static bool
is_link_local(const struct ip *ip)
{
	return ip->family == 6 && ip->bytes[0] == 0xfe &&
	    (ip->bytes[1] & 0xc0) == 0x80;
}

/* The kernel lists them in one order. */
static bool
is_same(const struct own *a, const struct own *b)
{
	size_t i = 0, j = 0;

	for (;;) {
		while (i < a->n && is_link_local(&a->ips[i]))
			i++;
		while (j < b->n && is_link_local(&b->ips[j]))
			j++;
		if (i == a->n || j == b->n)
			return i == a->n && j == b->n;
		if (!ip_eq(&a->ips[i++], &b->ips[j++]))
			return false;
	}
}

/* What the messages say is not read: one that was lost would be missed. */
static void
drain(int fd)
{
	uint8_t bytes[8192];
	ssize_t n;

	do
		n = recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT);
	while (n > 0 || (n < 0 && (errno == EINTR || errno == ENOBUFS)));
}

static void
on_readable(evutil_socket_t fd, short what UNUSED, void *arg)
{
	struct network *n = arg;
	enum err err = ERR_NONE;
	struct own own;

	drain(fd);
	if (own_read(&own, &err) != 0)
		return;
	bool same = is_same(&n->own, &own);
	own_release(&n->own);
	n->own = own;
	if (!same)
		n->on_change(n->arg);
}

static int
open_socket(enum err *err)
{
	struct sockaddr_nl at = { .nl_family = AF_NETLINK,
		.nl_groups = RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK,
	    NETLINK_ROUTE);

	if (fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0)
		return fd;
	log_error("addresses cannot be watched: %s", strerror(errno));
	*err = ERR_SYSTEM;
	if (fd >= 0)
		close(fd);
	return -1;
}

struct network *
network_new(struct loop *l, network_on_change *on_change, void *arg,
    enum err *err)
{
	struct network *n = calloc(1, sizeof(*n));

	*err = ERR_MEMORY;
	if (n == NULL)
		return NULL;
	n->on_change = on_change;
	n->arg = arg;
	n->fd = open_socket(err);
	if (n->fd < 0 || own_read(&n->own, err) != 0) {
		network_free(n);
		return NULL;
	}
	n->event = loop_event(l, n->fd, EV_READ | EV_PERSIST, on_readable, n);
	if (n->event == NULL || event_add(n->event, NULL) != 0) {
		*err = ERR_MEMORY;
		network_free(n);
		return NULL;
	}
	*err = ERR_NONE;
	return n;
}

void
network_free(struct network *n)
{
	if (n == NULL)
		return;
	if (n->event != NULL)
		event_free(n->event);
	if (n->fd >= 0)
		close(n->fd);
	own_release(&n->own);
	free(n);
}
