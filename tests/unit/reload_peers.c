/* SPDX-License-Identifier: Apache-2.0 */
/* The peers of reload_bed.h: clients of the sandbox, and what they talk to. */
#include <netinet/in.h>
#include <sys/socket.h>

#include <unistd.h>

#include "flow/flow.h"
#include "reload_bed.h"

#define REQUESTS_MAX 4 /* of one connection */
#define ECHO "E0123456789"

void
reload_step(struct reload_bed *b)
{
	if (b->step != NULL)
		b->step(b);
}

static void on_client(evutil_socket_t fd, short what, void *arg);

static struct client *
peer_new(struct reload_bed *b, int fd)
{
	struct client *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	evutil_make_socket_nonblocking(fd);
	c->bed = b;
	c->fd = fd;
	c->readable = event_new(loop_base(b->worker.loop), fd,
	    EV_READ | EV_PERSIST, on_client, c);
	event_add(c->readable, NULL);
	LIST_INSERT_HEAD(&b->clients, c, entry);
	return c;
}

void
reload_client_end(struct client *c)
{
	event_free(c->readable);
	c->readable = NULL;
	close(c->fd);
	c->fd = -1;
	c->bed->n_open -= c->is_origin;
}

/* One that reads nothing any more is seen to end by the reader. */
static void
say(struct client *c, const char *text)
{
	(void)!send(c->fd, text, strlen(text), MSG_NOSIGNAL);
}

static void
on_accept(evutil_socket_t fd, short what, void *arg)
{
	struct reload_bed *b = arg;
	int peer = accept4(fd, NULL, NULL, SOCK_CLOEXEC);

	(void)what;
	assert_true(peer >= 0);
	peer_new(b, peer)->is_origin = true;
	b->n_open++;
}

/* The two ends of a connection over loopback. */
static void
tcp_pair(int out[2])
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(at);
	int l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(l, (struct sockaddr *)&at, n), 0);
	assert_int_equal(listen(l, 1), 0);
	assert_int_equal(getsockname(l, (struct sockaddr *)&at, &n), 0);
	out[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(out[0], (struct sockaddr *)&at, n), 0);
	out[1] = accept4(l, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	assert_true(out[1] >= 0);
	close(l);
}

/* A new connection of the sandbox. */
static int
enter(struct reload_bed *b, enum client_kind kind)
{
	struct worker_sandbox *s = ids_find(&b->worker.by_id, RELOAD_SANDBOX);
	struct ip dst = ip_v4(127, 0, 0, kind == CLIENT_ECHO ? 2 : 1);
	int pair[2];

	tcp_pair(pair);
	b->n_connects++;
	flow_accept(s->flows, pair[1], &dst, b->port, REASON_ALLOW);
	return pair[0];
}

static void
say_next(struct client *c)
{
	char text[128];

	if (c->kind == CLIENT_ECHO) {
		say(c, ECHO);
		return;
	}
	snprintf(text, sizeof(text),
	    "GET /%s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n\r\n",
	    c->kind == CLIENT_STREAM ? "stream" : "x", c->bed->port);
	say(c, text);
	c->n_requests++;
}

struct client *
reload_client(struct reload_bed *b, enum client_kind kind)
{
	struct client *c = peer_new(b, enter(b, kind));

	c->kind = kind;
	say_next(c);
	return c;
}

/* The same client, over a connection of its own. */
static void
connect_again(struct client *c)
{
	struct reload_bed *b = c->bed;

	reload_client_end(c);
	c->n = c->n_requests = 0;
	c->fd = enter(b, c->kind);
	evutil_make_socket_nonblocking(c->fd);
	c->readable = event_new(loop_base(b->worker.loop), c->fd,
	    EV_READ | EV_PERSIST, on_client, c);
	event_add(c->readable, NULL);
	say_next(c);
}

static bool
has(const struct client *c, const char *text)
{
	return c->n != 0 && memmem(c->got, c->n, text, strlen(text)) != NULL;
}

static void
serve(struct client *c)
{
	if (c->got[0] == 'E') {
		(void)!send(c->fd, c->got, c->n, MSG_NOSIGNAL);
	} else if (!has(c, "\r\n\r\n")) {
		return;
	} else if (has(c, "GET /stream")) {
		say(c, "HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nbit");
	} else {
		say(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
	}
	c->n = 0;
}

static void
take_answer(struct client *c)
{
	struct reload_bed *b = c->bed;

	if (has(c, "\r\n\r\nok")) {
		b->n_done++;
		c->n = 0;
		c->is_due = true;
	} else if (has(c, "HTTP/1.1 403") || has(c, "HTTP/1.1 5")) {
		c->was_refused = true;
		b->n_refused++;
		b->n_failed += !b->forbids;
		if (!b->forbids)
			print_error("%.*s\n", (int)c->n, c->got);
		reload_client_end(c);
	}
}

static void
take(struct client *c)
{
	if (c->is_origin) {
		serve(c);
	} else if (c->kind == CLIENT_ECHO) {
		if (c->n < strlen(ECHO))
			return;
		c->bed->n_failed +=
		    c->n != strlen(ECHO) || memcmp(c->got, ECHO, c->n) != 0;
		c->bed->n_echoed++;
		c->n = 0;
		c->is_due = true;
	} else if (c->kind == CLIENT_STREAM) {
		c->bed->n_streamed += c->n;
		c->n = 0;
	} else {
		take_answer(c);
	}
}

static void
on_client(evutil_socket_t fd, short what, void *arg)
{
	struct client *c = arg;
	ssize_t n = read(fd, c->got + c->n, sizeof(c->got) - c->n);

	(void)what;
	if (n <= 0) {
		c->bed->n_failed += !c->is_origin && !c->bed->forbids;
		reload_client_end(c);
		return;
	}
	c->n += (size_t)n;
	take(c);
	reload_step(c->bed);
}

void
reload_clients_go_on(struct reload_bed *b)
{
	struct client *c;

	LIST_FOREACH(c, &b->clients, entry) {
		if (!c->is_due || c->fd < 0)
			continue;
		c->is_due = false;
		if (c->n_requests == REQUESTS_MAX)
			connect_again(c);
		else
			say_next(c);
	}
}

void
reload_listen(struct reload_bed *b)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t n = sizeof(at);

	b->listener =
	    socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(b->listener, (struct sockaddr *)&at, n), 0);
	assert_int_equal(listen(b->listener, 64), 0);
	assert_int_equal(getsockname(b->listener, (struct sockaddr *)&at, &n),
	    0);
	b->port = ntohs(at.sin_port);
	b->accepts = event_new(loop_base(b->worker.loop), b->listener,
	    EV_READ | EV_PERSIST, on_accept, b);
	event_add(b->accepts, NULL);
}
