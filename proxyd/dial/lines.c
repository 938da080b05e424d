/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/queue.h>

#include <netdb.h>

#include <ares.h>
#include <arpa/nameser.h>
#include <event2/event.h>

#include "dial/lines.h"
#include "net/timer.h"

#define TRY_MS 1000 /* for the first answer of a server, then doubled */
#define TRIES 2	    /* rounds over the servers */
#define EDNS_SIZE 1232

/* One channel of c-ares: a list of servers, and what is open with them. */
struct line {
	struct loop *loop;  /* borrowed */
	ares_channel ares;  /* owned */
	struct timer timer; /* when c-ares wants to be called */
	struct servers servers;
	size_t n_open; /* questions that c-ares has not ended */
	LIST_HEAD(, sock) socks;
};

/* A socket of c-ares that we wait for. */
struct sock {
	LIST_ENTRY(sock) entry;
	struct line *line; /* borrowed */
	int fd;		   /* c-ares' own */
	struct event *event;
};

struct lines {
	struct line at[LINES_MAX];
};

/* c-ares says when it wants to be called again. */
static void
rearm(struct line *line)
{
	struct timeval tv;

	if (ares_timeout(line->ares, NULL, &tv) != NULL)
		timer_set(&line->timer,
		    (uint64_t)tv.tv_sec * 1000 +
			(uint64_t)(tv.tv_usec + 999) / 1000);
	else
		timer_stop(&line->timer);
}

static void
on_timer(void *arg)
{
	struct line *line = arg;

	ares_process_fd(line->ares, ARES_SOCKET_BAD, ARES_SOCKET_BAD);
	rearm(line);
}

static void
on_sock(evutil_socket_t fd, short what, void *arg)
{
	struct line *line = ((struct sock *)arg)->line;

	/* The struct sock may be gone when this returns. */
	ares_process_fd(line->ares,
	    (what & EV_READ) != 0 ? fd : ARES_SOCKET_BAD,
	    (what & EV_WRITE) != 0 ? fd : ARES_SOCKET_BAD);
	rearm(line);
}

static void
sock_free(struct sock *s)
{
	LIST_REMOVE(s, entry);
	if (s->event != NULL)
		event_free(s->event);
	free(s);
}

static struct sock *
find_sock(struct line *line, int fd)
{
	struct sock *s;

	LIST_FOREACH(s, &line->socks, entry)
		if (s->fd == fd)
			return s;
	s = calloc(1, sizeof(*s));
	if (s == NULL)
		return NULL;
	s->line = line;
	s->fd = fd;
	LIST_INSERT_HEAD(&line->socks, s, entry);
	return s;
}

/* c-ares wants to read or write a socket of its own, or is about to close it. */
static void
on_state(void *arg, ares_socket_t fd, int readable, int writable)
{
	struct line *line = arg;
	struct sock *s = find_sock(line, fd);
	short what = (short)((readable != 0 ? EV_READ : 0) |
	    (writable != 0 ? EV_WRITE : 0));

	/* Without an event the question runs into its time limit. */
	if (s == NULL)
		return;
	if (s->event != NULL)
		event_free(s->event);
	s->event = NULL;
	if (what == 0) {
		sock_free(s);
		return;
	}
	s->event =
	    loop_event(line->loop, fd, (short)(what | EV_PERSIST), on_sock, s);
	if (s->event != NULL)
		event_add(s->event, NULL);
}

static int
line_init(struct line *line, struct loop *l, enum err *err)
{
	/*
	 * Whatever is not set here c-ares would take from the environment and
	 * from files below /etc.
	 */
	struct ares_options o = {
		.flags =
		    ARES_FLAG_NOSEARCH | ARES_FLAG_NOALIASES | ARES_FLAG_EDNS,
		.timeout = TRY_MS,
		.tries = TRIES,
		.ndots = 1,
		.lookups = (char[]){ "b" },
		.ednspsz = EDNS_SIZE,
		.sock_state_cb = on_state,
		.sock_state_cb_data = line,
	};
	int mask = ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES |
	    ARES_OPT_NDOTS | ARES_OPT_SERVERS | ARES_OPT_DOMAINS |
	    ARES_OPT_LOOKUPS | ARES_OPT_SORTLIST | ARES_OPT_EDNSPSZ |
	    ARES_OPT_NOROTATE | ARES_OPT_SOCK_STATE_CB;

	line->loop = l;
	LIST_INIT(&line->socks);
	if (timer_init(&line->timer, l, on_timer, line, err) != 0)
		return -1;
	if (ares_init_options(&line->ares, &o, mask) != ARES_SUCCESS) {
		line->ares = NULL;
		return -1;
	}
	return 0;
}

struct lines *
lines_new(struct loop *l, enum err *err)
{
	struct lines *lines = calloc(1, sizeof(*lines));

	*err = ERR_MEMORY;
	if (lines == NULL ||
	    ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS) {
		free(lines);
		return NULL;
	}
	for (size_t i = 0; i < LINES_MAX; i++)
		if (line_init(&lines->at[i], l, err) != 0) {
			lines_free(lines);
			return NULL;
		}
	*err = ERR_NONE;
	return lines;
}

void
lines_free(struct lines *lines)
{
	if (lines == NULL)
		return;
	for (size_t i = 0; i < LINES_MAX; i++) {
		struct line *line = &lines->at[i];
		if (line->ares != NULL)
			ares_destroy(line->ares);
		while (!LIST_EMPTY(&line->socks))
			sock_free(LIST_FIRST(&line->socks));
		timer_release(&line->timer);
	}
	ares_library_cleanup();
	free(lines);
}

static int
set_servers(struct line *line, const struct servers *s)
{
	struct ares_addr_port_node nodes[SERVERS_MAX] = { 0 };

	for (size_t i = 0; i < s->n; i++) {
		struct ares_addr_port_node *node = &nodes[i];
		bool is_v4 = s->ips[i].family == 4;
		node->next = i + 1 < s->n ? &nodes[i + 1] : NULL;
		node->family = is_v4 ? AF_INET : AF_INET6;
		memcpy(&node->addr, s->ips[i].bytes, is_v4 ? 4 : 16);
		node->udp_port = node->tcp_port = s->ports[i];
	}
	if (ares_set_servers_ports(line->ares, s->n == 0 ? NULL : nodes) !=
	    ARES_SUCCESS)
		return -1;
	line->servers = *s;
	return 0;
}

struct line *
lines_find(struct lines *lines, const struct servers *s)
{
	struct line *idle = NULL;

	for (size_t i = 0; i < LINES_MAX; i++) {
		struct line *line = &lines->at[i];
		if (line->servers.n != 0 && servers_eq(&line->servers, s))
			return line;
		/* One that was never used before one that others may want. */
		if (line->n_open == 0 && (idle == NULL || idle->servers.n != 0))
			idle = line;
	}
	return idle != NULL && set_servers(idle, s) == 0 ? idle : NULL;
}

void
line_ask(struct line *line, const char *name, int type,
    line_on_answer *on_answer, void *arg)
{
	line->n_open++;
	ares_query(line->ares, name, C_IN, type, on_answer, arg);
	rearm(line);
}

void
line_answered(struct line *line)
{
	line->n_open--;
}

void
line_cancel(struct line *line)
{
	ares_cancel(line->ares);
	rearm(line);
}
