/* SPDX-License-Identifier: Apache-2.0 */
/* One connection of tests/bench/load.c after another state. */
#include <sys/epoll.h>
#include <sys/socket.h>

#include <netinet/tcp.h>

#include <errno.h>
#include <unistd.h>

#include <openssl/err.h>

#include "load.h"

#define TURNS 24 /* reads or writes before another connection's turn */

static char portion[PORTION];

static void
close_conn(struct conn *c)
{
	if (c->ssl != NULL) {
		SSL_shutdown(c->ssl);
		SSL_free(c->ssl);
	}
	if (c->fd > 0)
		close(c->fd);
	c->fd = 0;
	c->ssl = NULL;
	c->state = CLOSED;
	c->again = c->served = false;
	ERR_clear_error();
}

static void
fail(struct conn *c, const char *what)
{
	unsigned long e = ERR_peek_error();
	const char *text = e == 0 ? NULL : ERR_reason_error_string(e);

	snprintf(sum.why, sizeof(sum.why), "%s: %s", what,
	    text != NULL ? text : strerror(errno));
	sum.failed++;
	sum.failed_ns = now_ns();
	close_conn(c);
}

/* Wait for `events`; asks the kernel only if that is new. */
static void
wait_for(struct conn *c, uint32_t events)
{
	struct epoll_event e = { .events = events, .data.ptr = c };

	if (c->waits == events)
		return;
	epoll_ctl(epoll, c->waits == 0 ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, c->fd,
	    &e);
	c->waits = events;
}

/* After a call of OpenSSL that did nothing: true if it is to be waited for. */
static bool
wants(struct conn *c, int result)
{
	int e = SSL_get_error(c->ssl, result);

	if (e == SSL_ERROR_WANT_READ)
		wait_for(c, EPOLLIN);
	else if (e == SSL_ERROR_WANT_WRITE)
		wait_for(c, EPOLLOUT);
	else
		return false;
	return true;
}

void
open_conn(struct conn *c)
{
	const int one = 1;

	c->fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (c->fd < 0)
		die("socket");
	setsockopt(c->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
	c->began_ns = now_ns();
	c->waits = 0;
	c->state = CONNECTING;
	sum.opened++;
	if (connect(c->fd, (const struct sockaddr *)&opt.to, sizeof(opt.to)) !=
		0 &&
	    errno != EINPROGRESS)
		fail(c, "connect");
	else
		wait_for(c, EPOLLOUT);
}

SSL *
new_ssl(int fd)
{
	SSL *ssl = SSL_new(ctx);

	if (ssl == NULL || SSL_set_fd(ssl, fd) != 1 ||
	    SSL_set_tlsext_host_name(ssl, opt.name) != 1 ||
	    (opt.ca != NULL && SSL_set1_host(ssl, opt.name) != 1))
		die("TLS");
	SSL_set_connect_state(ssl);
	return ssl;
}

static bool
connected(struct conn *c)
{
	int error = 0;
	socklen_t n = sizeof(error);

	getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &n);
	if (error != 0) {
		errno = error;
		fail(c, "connect");
		return false;
	}
	c->ssl = new_ssl(c->fd);
	c->state = SHAKING;
	return true;
}

void
begin_request(struct conn *c)
{
	if (opt.mode != MODE_NEW)
		c->began_ns = now_ns();
	c->sent = 0;
	c->left = opt.upload;
	c->state = SENDING;
	answer_init(&c->answer);
}

static bool
shaken(struct conn *c)
{
	int r = SSL_do_handshake(c->ssl);

	if (r == 1)
		begin_request(c);
	else if (!wants(c, r))
		fail(c, "handshake");
	return r == 1;
}

/* One write.  False: it did nothing. */
static bool
send_some(struct conn *c)
{
	const char *p = c->sent < opt.n_head ? opt.head + c->sent : portion;
	size_t n = c->sent < opt.n_head ? opt.n_head - c->sent : PORTION;
	size_t done;

	if (c->sent >= opt.n_head && c->left < n)
		n = (size_t)c->left;
	int r = SSL_write_ex(c->ssl, p, n, &done);
	if (r != 1) {
		if (!wants(c, r))
			fail(c, "write");
		return false;
	}
	if (c->sent < opt.n_head) {
		c->sent += done;
	} else {
		c->left -= done;
		sum.up += done;
	}
	if (c->sent == opt.n_head && c->left == 0)
		c->state = READING;
	return true;
}

static void
finish(struct conn *c)
{
	bool closes = opt.mode == MODE_NEW || c->answer.closes;

	c->served = c->ever = true;
	c->state = HELD;
	if (closes)
		close_conn(c);
	answered(c, now_ns() - c->began_ns);
}

/* One read.  False: it did nothing. */
static bool
read_some(struct conn *c)
{
	size_t n;
	int r = SSL_read_ex(c->ssl, portion, PORTION, &n);

	if (r != 1 && wants(c, r))
		return false;
	if (r != 1 && c->answer.until_close &&
	    SSL_get_error(c->ssl, r) == SSL_ERROR_ZERO_RETURN) {
		finish(c);
		return false;
	}
	if (r != 1) {
		/* A kept connection may end; one with an answer under way not. */
		if (c->served && c->answer.n_head == 0)
			close_conn(c);
		else
			fail(c, "read");
		return false;
	}
	sum.down += n;
	switch (answer_read(&c->answer, portion, n)) {
	case ANSWER_DONE:
		finish(c);
		return c->state == SENDING;
	case ANSWER_BAD:
		fail(c, "bad answer");
		return false;
	case ANSWER_MORE:
		break;
	}
	return true;
}

/* Nothing was asked: session tickets, or the end. */
static bool
is_still_there(struct conn *c)
{
	size_t n;
	int r = SSL_read_ex(c->ssl, portion, PORTION, &n);

	if (r != 1 && wants(c, r))
		return true;
	fail(c, "ended while held");
	return false;
}

void
run_conn(struct conn *c)
{
	bool on = true;

	c->again = false;
	if (c->state == HELD && !is_still_there(c))
		return;
	for (int i = 0; on && i < TURNS; i++) {
		if (c->state == CONNECTING)
			on = connected(c);
		else if (c->state == SHAKING)
			on = shaken(c);
		else if (c->state == SENDING)
			on = send_some(c);
		else if (c->state == READING)
			on = read_some(c);
		else
			on = false;
	}
	c->again = on;
}
