/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/ip.h"
#include "base/limits.h"
#include "ns/inlet.h"
#include "ns/rtnl.h"

#define BACKLOG 4096 /* connections that wait for the worker; self-made only */

void
inlet_init(struct inlet *in, uint16_t tcp_port, uint16_t dns_port)
{
	int probe = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	*in = (struct inlet){ .has_ipv6 = probe != -1,
		.tcp_port = tcp_port,
		.dns_port = dns_port };
	if (probe != -1)
		close(probe);
	for (size_t i = 0; i < NETNS_SOCKET_COUNT; i++)
		in->socket[i] = -1;
}

/* A lasting namespace may have it from the life before. */
static bool
is_made(const struct inlet *in, int rc)
{
	return rc == 0 || (in->lasting && errno == EEXIST);
}

int
inlet_loopback(struct inlet *in, struct fail *fail)
{
	struct ip v4, v6;
	int fd = rtnl_open(false);

	if (fd == -1)
		return fail_refused(fail, FAIL_NET, "cannot open rtnetlink");
	if (!ip_parse(SLICE(NETNS_ADDR4), &v4) ||
	    !ip_parse(SLICE(NETNS_ADDR6), &v6))
		abort();
	if (rtnl_link_set(fd, RTNL_LO, true) == -1 ||
	    !is_made(in, rtnl_address(fd, RTNL_LO, &v4, 32)) ||
	    !is_made(in, rtnl_all_local(fd, RTNL_LO, &v4)))
		goto fail;
	if (in->has_ipv6 &&
	    (!is_made(in, rtnl_address(fd, RTNL_LO, &v6, 128)) ||
		!is_made(in, rtnl_all_local(fd, RTNL_LO, &v6))))
		goto fail;
	close(fd);
	return 0;

fail:
	fail_refused(fail, FAIL_NET, "cannot set up loopback");
	close(fd);
	return -1;
}

struct opening {
	bool v6, lasting;
	int type;
	const char *link; /* or NULL: loopback */
	uint16_t *port;
};

static int
set_options(int fd, const struct opening *o)
{
	int size = LIMIT_SOCKET_BUFFER, on = 1;

	if (o->v6 &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) == -1)
		return -1;
	/* Else connections of the life before keep the port for a minute.  Who
	 * listens keeps it for himself all the same; datagrams would not. */
	if (o->lasting && o->type == SOCK_STREAM &&
	    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == -1)
		return -1;
	if (o->link != NULL &&
	    setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, o->link,
		(socklen_t)strlen(o->link)) == -1)
		return -1;
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)) == -1)
		return -1;
	return setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
}

/*
 * One socket.  No SO_REUSEPORT: with it a process of the same user inside takes
 * our place (THREATS 6.6).  The buffers are fixed, since the namespace's own
 * limits are its root's to raise.
 */
static int
open_one(const struct opening *o)
{
	struct sockaddr_storage sa;
	struct ip ip = { .family = o->v6 ? 6 : 4 };
	int flags = SOCK_CLOEXEC | SOCK_NONBLOCK;

	if (o->link == NULL && o->v6)
		ip.bytes[15] = 1;
	else if (o->link == NULL)
		ip = ip_v4(127, 0, 0, 1);
	socklen_t n = ip_sockaddr(&ip, *o->port, &sa);
	int fd = socket(o->v6 ? AF_INET6 : AF_INET, o->type | flags, 0);
	if (fd == -1)
		return -1;
	if (set_options(fd, o) == -1 ||
	    bind(fd, (struct sockaddr *)&sa, n) == -1)
		goto fail;
	if (o->type == SOCK_STREAM && listen(fd, BACKLOG) == -1)
		goto fail;
	if (getsockname(fd, (struct sockaddr *)&sa, &n) == -1 ||
	    !ip_from_sockaddr((struct sockaddr *)&sa, &ip, o->port))
		goto fail;
	return fd;

fail:;
	int number = errno;
	close(fd);
	errno = number;
	return -1;
}

int
inlet_listen(struct inlet *in, const char *link, struct fail *fail)
{
	/* The first of a port chooses it, the others take the same one. */
	const struct {
		enum netns_socket which;
		int type;
		uint16_t *port;
	} rows[] = {
		{ NETNS_TCP4, SOCK_STREAM, &in->tcp_port },
		{ NETNS_TCP6, SOCK_STREAM, &in->tcp_port },
		{ NETNS_DNS_UDP4, SOCK_DGRAM, &in->dns_port },
		{ NETNS_DNS_UDP6, SOCK_DGRAM, &in->dns_port },
		{ NETNS_DNS_TCP4, SOCK_STREAM, &in->dns_port },
		{ NETNS_DNS_TCP6, SOCK_STREAM, &in->dns_port },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct opening o = { .v6 = inlet_is_ipv6(rows[i].which),
			.lasting = in->lasting,
			.type = rows[i].type,
			.link = link,
			.port = rows[i].port };
		if (o.v6 && !in->has_ipv6)
			continue;
		int fd = open_one(&o);
		if (fd == -1)
			return fail_errno(fail, "cannot listen on %s, port %d",
			    link == NULL ? "loopback" : link, *o.port);
		in->socket[rows[i].which] = fd;
	}
	if (in->socket[NETNS_LINKS] == -1)
		in->socket[NETNS_LINKS] = rtnl_open(true);
	if (in->socket[NETNS_LINKS] == -1)
		return fail_errno(fail, "cannot watch the links");
	return 0;
}

size_t
inlet_list(const struct inlet *in, int *fd)
{
	size_t n = 0;

	for (size_t i = 0; i < NETNS_SOCKET_COUNT; i++)
		if (in->socket[i] != -1)
			fd[n++] = in->socket[i];
	return n;
}

size_t
inlet_for_worker(const int *socket, int *fd)
{
	size_t n = 0;

	for (size_t i = 0; i < NETNS_LINKS; i++)
		if (socket[i] != -1)
			fd[n++] = socket[i];
	return n;
}

bool
inlet_is_ipv6(enum netns_socket which)
{
	return which == NETNS_TCP6 || which == NETNS_DNS_UDP6 ||
	    which == NETNS_DNS_TCP6;
}
