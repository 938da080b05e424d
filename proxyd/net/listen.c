/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/limits.h"
#include "base/log.h"
#include "net/listen.h"
#include "net/timer.h"

#define ACCEPTS_PER_TURN 64 /* before others get their turn */
#define REST_MS 100	    /* after descriptors ran out */
#define USER_TIMEOUT_MS 120000
#define KEEPALIVE_IDLE_S 60
#define KEEPALIVE_INTERVAL_S 15
#define KEEPALIVE_COUNT 4

struct listener {
	struct loop_item dead; /* first */
	struct loop *loop;     /* borrowed */
	int fd;		       /* owned */
	int reserve;	       /* owned; spent when descriptors run out */
	struct event *readable;
	struct timer rest;
	listener_on_accept *on_accept;
	void *arg;
	bool freed;
};

static void
set_option(int fd, int level, int option, int value)
{
	/* Each of these only bounds what a peer can hold; go on without. */
	if (setsockopt(fd, level, option, &value, sizeof(value)) != 0)
		log_debug("listen: option %d/%d: errno %d", level, option,
		    errno);
}

static void
set_options(int fd)
{
	set_option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
	set_option(fd, SOL_SOCKET, SO_SNDBUF, LIMIT_SOCKET_BUFFER);
	set_option(fd, SOL_SOCKET, SO_RCVBUF, LIMIT_SOCKET_BUFFER);
	set_option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, USER_TIMEOUT_MS);
	set_option(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
	set_option(fd, IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S);
	set_option(fd, IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_INTERVAL_S);
	set_option(fd, IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_COUNT);
}

static bool
reserve(struct listener *n)
{
	/* A copy of the listener: making one needs no right to open files. */
	if (n->reserve < 0)
		n->reserve = fcntl(n->fd, F_DUPFD_CLOEXEC, 0);
	return n->reserve >= 0;
}

/* Descriptors ran out: send one client away, then wait a little. */
static void
send_away(struct listener *n)
{
	const struct linger now = { .l_onoff = 1, .l_linger = 0 };

	if (n->reserve >= 0) {
		close(n->reserve);
		n->reserve = -1;
		int fd = accept4(n->fd, NULL, NULL, SOCK_CLOEXEC);
		if (fd >= 0) {
			(void)setsockopt(fd, SOL_SOCKET, SO_LINGER, &now,
			    sizeof(now));
			close(fd);
		}
		(void)reserve(n);
	}
	event_del(n->readable);
	timer_set(&n->rest, REST_MS);
}

/*
 * It listens no more: root of the sandbox's namespace can end it (`ss -K`).
 * That is the sandbox's own loss; asked again, it would say so at once for ever.
 */
static void
give_up(struct listener *n)
{
	log_error("a listener was ended from inside of the sandbox");
	event_del(n->readable);
}

static void
on_readable(evutil_socket_t listening UNUSED, short what UNUSED, void *arg)
{
	struct listener *n = arg;

	for (int i = 0; i < ACCEPTS_PER_TURN && !n->freed; i++) {
		int fd =
		    accept4(n->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd < 0 &&
		    (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			errno == ENOMEM)) {
			send_away(n);
			return;
		}
		if (fd < 0 && (errno == EINTR || errno == ECONNABORTED))
			continue;
		if (fd < 0) {
			if (errno == EINVAL)
				give_up(n);
			return;
		}
		set_options(fd);
		n->on_accept(fd, n->arg);
	}
}

static void
on_rested(void *arg)
{
	struct listener *n = arg;

	(void)reserve(n);
	event_add(n->readable, NULL);
}

static void
listener_reaped(struct loop_item *item)
{
	struct listener *n = (struct listener *)item;

	if (n->readable != NULL)
		event_free(n->readable);
	timer_release(&n->rest);
	close(n->fd);
	if (n->reserve >= 0)
		close(n->reserve);
	free(n);
}

struct listener *
listener_new(struct loop *l, int fd, listener_on_accept *on_accept, void *arg,
    enum err *err)
{
	struct listener *n = calloc(1, sizeof(*n));
	int flags = fcntl(fd, F_GETFL);

	*err = ERR_MEMORY;
	if (n == NULL) {
		close(fd);
		return NULL;
	}
	n->dead.free = listener_reaped;
	n->loop = l;
	n->fd = fd;
	n->reserve = -1;
	n->on_accept = on_accept;
	n->arg = arg;
	if (timer_init(&n->rest, l, on_rested, n, err) != 0)
		goto fail;
	n->readable =
	    event_new(loop_base(l), fd, EV_READ | EV_PERSIST, on_readable, n);
	if (n->readable == NULL ||
	    event_priority_set(n->readable, LOOP_PRIORITY_IO) != 0 ||
	    event_add(n->readable, NULL) != 0)
		goto fail;
	*err = ERR_FULL;
	if (!reserve(n))
		goto fail;
	*err = ERR_SYSTEM;
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
		goto fail;
	*err = ERR_NONE;
	return n;
fail:
	listener_reaped(&n->dead);
	return NULL;
}

void
listener_free(struct listener *n)
{
	if (n == NULL || n->freed)
		return;
	n->freed = true;
	event_del(n->readable);
	timer_stop(&n->rest);
	loop_reap(n->loop, &n->dead);
}
