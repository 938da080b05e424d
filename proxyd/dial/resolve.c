/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Theory of operation.  c-ares keeps its servers per channel, changes them only
 * while nothing is open on it, and cancels only all that is open at once.  So a
 * few channels ("lines") are made at the start, one list of servers each; a
 * list that has no line takes over an idle one.  A resolution that is cancelled
 * or late is left to c-ares, which ends it within seconds; it is freed when both
 * of its questions came back and its asker was told, whichever is last.
 */
#include <sys/queue.h>

#include <netdb.h>

#include <ares.h>
#include <arpa/nameser.h>
#include <event2/event.h>

#include "base/limits.h"
#include "base/log.h"
#include "dial/resolve.h"
#include "net/timer.h"

#define TRY_MS 1000 /* for the first answer of a server, then doubled */
#define TRIES 2	    /* rounds over the servers */
#define EDNS_SIZE 1232
#define HOST_MAX 255
#define AWAY "the resolver failed, refused or is away"

/* One channel of c-ares: a list of servers, and what is open with them. */
struct line {
	struct resolver *resolver; /* borrowed */
	ares_channel ares;	   /* owned */
	struct timer timer;	   /* when c-ares wants to be called */
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

struct resolver {
	struct loop *loop; /* borrowed */
	struct servers host;
	size_t n_open; /* resolutions alive */
	LIST_HEAD(, resolution) open;
	struct line lines[RESOLVE_LISTS_MAX];
};

/* One of the two questions of a resolution. */
struct half {
	struct resolution *resolution;
	int type;   /* T_A or T_AAAA */
	bool ended; /* c-ares has called back */
	int status; /* of c-ares */
	size_t n;
	struct ip ips[RESOLVE_ADDRESSES_MAX / 2];
};

struct resolution {
	LIST_ENTRY(resolution) entry;
	struct resolver *resolver; /* borrowed */
	struct line *line;	   /* borrowed */
	resolve_on_done *on_done;  /* NULL: told, or cancelled */
	void *arg;
	struct timer limit;  /* tells what is known when it is due */
	bool starting;	     /* inside resolve_start() */
	struct half half[2]; /* A, AAAA */
};

static void
drop_if_over(struct resolution *q)
{
	if (q->on_done != NULL || !q->half[0].ended || !q->half[1].ended)
		return;
	q->resolver->n_open--;
	LIST_REMOVE(q, entry);
	timer_release(&q->limit);
	free(q);
}

/* Why there is no address, in the order of what helps people most. */
static const char *
why_not(const struct resolution *q)
{
	static const struct {
		int status;
		const char *text;
	} rows[] = {
		{ ARES_ENOTFOUND, "no such name" },
		/* c-ares tells these three apart only for the last server. */
		{ ARES_ESERVFAIL, AWAY },
		{ ARES_EREFUSED, AWAY },
		{ ARES_ECONNREFUSED, AWAY },
		{ ARES_EBADRESP, "malformed or unusable answer" },
		{ ARES_ENODATA, "the name has no address" },
	};

	if (!q->half[0].ended || !q->half[1].ended)
		return "no answer in time";
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		for (size_t j = 0; j < 2; j++)
			if (q->half[j].status == rows[i].status)
				return rows[i].text;
	return "no answer in time";
}

/* Tell the asker what is known now, and be done with him. */
static void
tell(struct resolution *q)
{
	struct resolved answer = { .reason = REASON_UP_RESOLVE, .detail = "" };
	resolve_on_done *on_done = q->on_done;

	timer_stop(&q->limit);
	for (size_t i = 0; i < 2; i++)
		for (size_t j = 0; j < q->half[i].n; j++)
			answer.ips[answer.n++] = q->half[i].ips[j];
	if (answer.n != 0)
		answer.reason = REASON_ALLOW;
	else
		answer.detail = why_not(q);
	q->on_done = NULL;
	on_done(&answer, q->arg);
	drop_if_over(q);
}

static void
on_limit(void *arg)
{
	tell(arg);
}

/* One half is here: wait for the other, a little, or tell. */
static void
on_half(struct resolution *q)
{
	bool both = q->half[0].ended && q->half[1].ended;

	if (q->on_done == NULL) {
		drop_if_over(q);
		return;
	}
	if (both && q->starting)
		timer_set(&q->limit, 0);
	else if (both)
		tell(q);
	else if (q->half[0].n + q->half[1].n != 0)
		timer_set(&q->limit, RESOLVE_DELAY_MS);
}

static size_t
count_aliases(const struct hostent *h)
{
	size_t n = 0;

	while (h->h_aliases != NULL && h->h_aliases[n] != NULL)
		n++;
	return n;
}

/* Keep the addresses of one answer. */
static void
keep(struct half *half, const struct hostent *h)
{
	uint8_t family = half->type == T_A ? 4 : 6;
	size_t size = family == 4 ? 4 : 16;

	if (count_aliases(h) > RESOLVE_CNAMES_MAX) {
		half->status = ARES_EBADRESP;
		return;
	}
	if ((size_t)h->h_length != size)
		return;
	for (size_t i = 0; h->h_addr_list[i] != NULL; i++) {
		if (half->n == COUNT_OF(half->ips))
			break;
		struct ip *ip = &half->ips[half->n++];
		*ip = (struct ip){ .family = family };
		memcpy(ip->bytes, h->h_addr_list[i], size);
	}
}

static void
on_answer(void *arg, int status, int timeouts UNUSED, unsigned char *bytes,
    int n)
{
	struct half *half = arg;
	struct hostent *h = NULL;

	half->ended = true;
	half->resolution->line->n_open--;
	if (status == ARES_SUCCESS && half->type == T_A)
		status = ares_parse_a_reply(bytes, n, &h, NULL, NULL);
	else if (status == ARES_SUCCESS)
		status = ares_parse_aaaa_reply(bytes, n, &h, NULL, NULL);
	half->status = status;
	if (status == ARES_SUCCESS)
		keep(half, h);
	if (h != NULL)
		ares_free_hostent(h);
	on_half(half->resolution);
}

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
	s->event = loop_event(line->resolver->loop, fd,
	    (short)(what | EV_PERSIST), on_sock, s);
	if (s->event != NULL)
		event_add(s->event, NULL);
}

static int
line_init(struct line *line, struct resolver *r, enum err *err)
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

	line->resolver = r;
	LIST_INIT(&line->socks);
	if (timer_init(&line->timer, r->loop, on_timer, line, err) != 0)
		return -1;
	if (ares_init_options(&line->ares, &o, mask) != ARES_SUCCESS) {
		line->ares = NULL;
		return -1;
	}
	return 0;
}

struct resolver *
resolver_new(struct loop *l, enum err *err)
{
	struct resolver *r = calloc(1, sizeof(*r));

	*err = ERR_MEMORY;
	if (r == NULL || ares_library_init(ARES_LIB_INIT_ALL) != ARES_SUCCESS) {
		free(r);
		return NULL;
	}
	r->loop = l;
	LIST_INIT(&r->open);
	r->host = servers_read((struct slice){ 0 });
	for (size_t i = 0; i < RESOLVE_LISTS_MAX; i++)
		if (line_init(&r->lines[i], r, err) != 0) {
			resolver_free(r);
			return NULL;
		}
	*err = ERR_NONE;
	return r;
}

void
resolver_free(struct resolver *r)
{
	if (r == NULL)
		return;
	for (struct resolution *q = LIST_FIRST(&r->open), *next; q != NULL;
	     q = next) {
		next = LIST_NEXT(q, entry);
		resolve_cancel(q);
	}
	for (size_t i = 0; i < RESOLVE_LISTS_MAX; i++) {
		struct line *line = &r->lines[i];
		/* Ends every question; each finds its asker forgotten. */
		if (line->ares != NULL)
			ares_destroy(line->ares);
		while (!LIST_EMPTY(&line->socks))
			sock_free(LIST_FIRST(&line->socks));
		timer_release(&line->timer);
	}
	ares_library_cleanup();
	free(r);
}

void
resolver_set_host(struct resolver *r, const struct servers *s)
{
	r->host = *s;
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

/* The line with these servers, or an idle one that gets them. */
static struct line *
find_line(struct resolver *r, const struct servers *s)
{
	struct line *idle = NULL;

	for (size_t i = 0; i < RESOLVE_LISTS_MAX; i++) {
		struct line *line = &r->lines[i];
		if (line->servers.n != 0 && servers_eq(&line->servers, s))
			return line;
		/* One that was never used before one that others may want. */
		if (line->n_open == 0 && (idle == NULL || idle->servers.n != 0))
			idle = line;
	}
	return idle != NULL && set_servers(idle, s) == 0 ? idle : NULL;
}

static void
ask(struct resolution *q, struct half *half, const char *name, int type)
{
	half->resolution = q;
	half->type = type;
	q->line->n_open++;
	ares_query(q->line->ares, name, C_IN, type, on_answer, half);
}

struct resolution *
resolve_start(struct resolver *r, struct slice host, const struct servers *s,
    resolve_on_done *on_done, void *arg, enum err *err)
{
	char name[HOST_MAX + 1];
	struct line *line = find_line(r, s == NULL ? &r->host : s);
	struct resolution *q;

	*err = ERR_FULL;
	if (line == NULL || host.n > HOST_MAX || r->n_open >= RESOLVE_MAX)
		return NULL;
	*err = ERR_MEMORY;
	q = calloc(1, sizeof(*q));
	if (q == NULL)
		return NULL;
	if (timer_init(&q->limit, r->loop, on_limit, q, err) != 0) {
		free(q);
		return NULL;
	}
	memcpy(name, host.p, host.n);
	name[host.n] = '\0';
	r->n_open++;
	LIST_INSERT_HEAD(&r->open, q, entry);
	q->resolver = r;
	q->line = line;
	q->on_done = on_done;
	q->arg = arg;
	q->starting = true;
	timer_set(&q->limit, LIMIT_RESOLVE_MS);
	ask(q, &q->half[0], name, T_A);
	ask(q, &q->half[1], name, T_AAAA);
	q->starting = false;
	rearm(line);
	*err = ERR_NONE;
	return q;
}

void
resolve_cancel(struct resolution *q)
{
	if (q == NULL)
		return;
	q->on_done = NULL;
	timer_stop(&q->limit);
	drop_if_over(q);
}
