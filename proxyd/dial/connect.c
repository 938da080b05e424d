/* SPDX-License-Identifier: Apache-2.0 */
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <errno.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "dial/connect.h"
#include "dial/own.h"
#include "net/timer.h"
#include "policy/address.h"

#define KEEPALIVE_IDLE_S 60   /* silence before the first probe */
#define KEEPALIVE_EVERY_S 20  /* between probes */
#define KEEPALIVE_PROBES 4    /* unanswered ones before it is dead */
#define USER_TIMEOUT_MS 60000 /* sent bytes that nobody acknowledges */

struct attempt {
	struct connecting *connecting; /* borrowed */
	int fd;			       /* owned; -1: free place */
	struct event *event;	       /* owned; writable: it is decided */
	struct ip ip;
	unsigned order; /* the lower, the older */
};

struct connecting {
	struct loop_item dead;
	struct loop *loop;
	const struct program *program; /* borrowed */
	struct slice host;	       /* borrowed */
	uint16_t port;
	bool public_only;
	bool more; /* connect_add() is still to come */
	struct family {
		size_t n, next; /* addresses; the one to be tried next */
		struct ip ips[CONNECT_ADDRESSES_MAX];
	} v4, v6;
	bool turn_is_v4;      /* families take turns */
	struct timer stagger; /* try the next when it is due */
	struct attempt attempts[CONNECT_PARALLEL_MAX];
	unsigned order;
	size_t n_refused;
	struct ip first_refused;
	enum reason refused; /* the first verdict on an address, or ALLOW */
	int last_errno;	     /* of the last attempt that failed */
	connect_on_done *on_done; /* NULL: told, or cancelled */
	void *arg;
};

static void
attempt_close(struct attempt *a)
{
	if (a->event != NULL)
		event_free(a->event);
	if (a->fd >= 0)
		close(a->fd);
	a->event = NULL;
	a->fd = -1;
}

static void
connecting_reaped(struct loop_item *item)
{
	struct connecting *c = (struct connecting *)item;

	timer_release(&c->stagger);
	free(c);
}

static void
finish(struct connecting *c)
{
	for (size_t i = 0; i < CONNECT_PARALLEL_MAX; i++)
		attempt_close(&c->attempts[i]);
	timer_stop(&c->stagger);
	c->on_done = NULL;
	loop_reap(c->loop, &c->dead);
}

static void
tell(struct connecting *c, struct connected *result)
{
	connect_on_done *on_done = c->on_done;

	result->n_refused = c->n_refused;
	result->refused = c->first_refused;
	finish(c);
	on_done(result, c->arg);
}

static const char *
failure_text(int number)
{
	switch (number) {
	case ECONNREFUSED:
		return "connection refused";
	case ENETUNREACH:
	case EHOSTUNREACH:
		return "no route to it";
	case ETIMEDOUT:
		return "it does not answer";
	case ECONNRESET:
		return "connection reset";
	case EACCES:
	case EPERM:
		return "a firewall of this host forbids it";
	default:
		return "it could not be reached";
	}
}

/* Nothing is left to try. */
static void
tell_failure(struct connecting *c)
{
	struct connected result = { .reason = REASON_UP_CONNECT, .fd = -1 };

	if (c->last_errno == 0 && c->refused != REASON_ALLOW) {
		result.reason = c->refused;
		result.detail = "no address of it may be dialled";
	} else {
		result.detail = failure_text(c->last_errno);
	}
	tell(c, &result);
}

enum reason
connect_judge(const struct program *p, struct slice host, uint16_t port,
    const struct ip *ip)
{
	enum err err = ERR_NONE;
	enum reason reason;
	struct own own;

	if (own_read(&own, &err) != 0)
		return REASON_INTERNAL;
	const struct address_of of = { host, port, clock_wall_us() / 1000000 };
	reason = address_judge(p, &of, ip, own.ips, own.n);
	own_release(&own);
	return reason;
}

/* The owner's own word is not judged. */
static enum reason
judge(const struct connecting *c, const struct ip *ip)
{
	if (c->public_only && !address_is_global(ip))
		return REASON_UP_PRIVATE;
	return c->program == NULL ?
	    REASON_ALLOW :
	    connect_judge(c->program, c->host, c->port, ip);
}

/* What a long stream needs; none of it can fail on a TCP socket of ours. */
static void
set_options(int fd)
{
	static const struct {
		int level, name, value;
	} rows[] = {
		{ IPPROTO_TCP, TCP_NODELAY, 1 }, /* a byte goes as it comes */
		{ SOL_SOCKET, SO_KEEPALIVE, 1 },
		{ IPPROTO_TCP, TCP_KEEPIDLE, KEEPALIVE_IDLE_S },
		{ IPPROTO_TCP, TCP_KEEPINTVL, KEEPALIVE_EVERY_S },
		{ IPPROTO_TCP, TCP_KEEPCNT, KEEPALIVE_PROBES },
		{ IPPROTO_TCP, TCP_USER_TIMEOUT, USER_TIMEOUT_MS },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++)
		if (setsockopt(fd, rows[i].level, rows[i].name, &rows[i].value,
			sizeof(rows[i].value)) != 0)
			log_warn("option %d of a socket: %s", rows[i].name,
			    strerror(errno));
}

/* A place for one more attempt; the oldest gives up its own. */
static struct attempt *
find_place(struct connecting *c)
{
	struct attempt *oldest = &c->attempts[0];

	for (size_t i = 0; i < CONNECT_PARALLEL_MAX; i++) {
		struct attempt *a = &c->attempts[i];
		if (a->fd < 0)
			return a;
		if (a->order < oldest->order)
			oldest = a;
	}
	attempt_close(oldest);
	c->last_errno = ETIMEDOUT;
	return oldest;
}

static void on_decided(evutil_socket_t fd, short what, void *arg);

/* Dial one address.  False: that failed at once. */
static bool
try(struct connecting *c, const struct ip *ip)
{
	struct attempt *a = find_place(c);
	struct sockaddr_storage sa;
	socklen_t n = ip_sockaddr(ip, c->port, &sa);
	int type = SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC;

	a->ip = *ip;
	a->order = c->order++;
	a->fd = socket(sa.ss_family, type, IPPROTO_TCP);
	if (a->fd < 0)
		goto fail;
	set_options(a->fd);
	if (connect(a->fd, (const struct sockaddr *)&sa, n) != 0 &&
	    errno != EINPROGRESS)
		goto fail;
	a->event = loop_event(c->loop, a->fd, EV_WRITE, on_decided, a);
	errno = ENOMEM;
	if (a->event != NULL && event_add(a->event, NULL) == 0)
		return true;
fail:
	c->last_errno = errno;
	attempt_close(a);
	return false;
}

static bool
is_trying(const struct connecting *c)
{
	for (size_t i = 0; i < CONNECT_PARALLEL_MAX; i++)
		if (c->attempts[i].fd >= 0)
			return true;
	return false;
}

/* The next address: of the family whose turn it is, if it has one. */
static const struct ip *
take_next(struct connecting *c)
{
	struct family *turn = c->turn_is_v4 ? &c->v4 : &c->v6;
	struct family *other = c->turn_is_v4 ? &c->v6 : &c->v4;

	if (turn->next == turn->n)
		turn = other;
	if (turn->next == turn->n)
		return NULL;
	c->turn_is_v4 = turn == &c->v6;
	return &turn->ips[turn->next++];
}

/* Try the next address that may be dialled, or end if nothing is left. */
static void
advance(struct connecting *c)
{
	const struct ip *ip;

	while ((ip = take_next(c)) != NULL) {
		enum reason reason = judge(c, ip);
		if (reason != REASON_ALLOW) {
			if (c->n_refused++ == 0)
				c->first_refused = *ip;
			if (c->refused == REASON_ALLOW)
				c->refused = reason;
			continue;
		}
		if (try(c, ip)) {
			timer_set(&c->stagger, LIMIT_STAGGER_MS);
			return;
		}
	}
	timer_stop(&c->stagger);
	if (!is_trying(c) && !c->more)
		tell_failure(c);
}

static void
on_stagger(void *arg)
{
	advance(arg);
}

static void
on_decided(evutil_socket_t fd, short what UNUSED, void *arg)
{
	struct attempt *a = arg;
	struct connecting *c = a->connecting;
	int error = 0;
	socklen_t n = sizeof(error);

	if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &n) != 0)
		error = errno;
	if (error != 0) {
		c->last_errno = error;
		attempt_close(a);
		advance(c);
		return;
	}
	struct connected result = {
		.reason = REASON_ALLOW,
		.detail = "",
		.fd = a->fd,
		.peer = a->ip,
	};
	a->fd = -1;
	tell(c, &result);
}

static void
add(struct family *f, const struct ip *ip)
{
	if (f->n < CONNECT_ADDRESSES_MAX)
		f->ips[f->n++] = *ip;
}

/* Within a family the given order stays; what is of none is left out. */
static void
add_all(struct connecting *c, const struct ip *ips, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (ips[i].family == 6)
			add(&c->v6, &ips[i]);
		else if (ips[i].family == 4)
			add(&c->v4, &ips[i]);
	}
}

void
connect_add(struct connecting *c, const struct ip *ips, size_t n)
{
	c->more = false;
	add_all(c, ips, n);
	/* One that was just tried keeps its time. */
	if (!timer_is_set(&c->stagger))
		timer_set(&c->stagger, 0);
}

struct connecting *
connect_start(struct loop *l, const struct connect_want *want,
    connect_on_done *on_done, void *arg, enum err *err)
{
	struct connecting *c = calloc(1, sizeof(*c));

	*err = ERR_MEMORY;
	if (c == NULL)
		return NULL;
	if (timer_init(&c->stagger, l, on_stagger, c, err) != 0) {
		free(c);
		return NULL;
	}
	c->dead.free = connecting_reaped;
	c->loop = l;
	c->program = want->program;
	c->public_only = want->public_only;
	c->host = want->host;
	c->port = want->port;
	c->refused = REASON_ALLOW;
	c->on_done = on_done;
	c->arg = arg;
	for (size_t i = 0; i < CONNECT_PARALLEL_MAX; i++) {
		c->attempts[i].connecting = c;
		c->attempts[i].fd = -1;
	}
	c->more = want->more;
	add_all(c, want->ips, want->n);
	/* The asker must have its handle before it is told anything. */
	timer_set(&c->stagger, 0);
	*err = ERR_NONE;
	return c;
}

void
connect_cancel(struct connecting *c)
{
	if (c != NULL && c->on_done != NULL)
		finish(c);
}
