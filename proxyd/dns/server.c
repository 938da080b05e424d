/* SPDX-License-Identifier: Apache-2.0 */
#include <netinet/in.h>
#include <sys/queue.h>
#include <sys/socket.h>

#include <errno.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "dns/server.h"
#include "net/listen.h"
#include "net/timer.h"
#include "wire/dns_msg.h"

#define READS_PER_WAKE 32 /* datagrams taken before others get their turn */
#define BURST (2 * LIMIT_QUESTIONS_PER_S)
#define LENGTH_SIZE 2 /* bytes before each message of a stream */

/* One TCP connection. */
struct dns_stream {
	struct loop_item dead;
	LIST_ENTRY(dns_stream) entry;
	struct dns_server *server;	   /* borrowed */
	int fd;				   /* owned; -1: ended */
	struct event *readable, *writable; /* owned */
	struct timer idle;
	size_t n_in, n_out, sent;
	uint8_t in[LENGTH_SIZE + DNS_QUERY_MAX];
	uint8_t out[LENGTH_SIZE + DNS_ANSWER_MAX];
};

/* One UDP socket. */
struct dns_port {
	struct dns_server *server; /* borrowed */
	int fd;			   /* owned; -1: none */
	struct event *readable;	   /* owned */
};

struct dns_server {
	struct loop *loop;	       /* borrowed */
	const struct program *program; /* borrowed */
	dns_on_refused *on_refused;
	void *arg;
	struct dns_port ports[2];
	struct listener *listeners[2]; /* owned */
	LIST_HEAD(, dns_stream) streams;
	size_t n_streams;
	uint64_t tokens; /* questions that may come now, in thousandths */
	uint64_t tokens_ms;
	uint64_t n_allowed;
};

/* One question of the budget; false: it is spent. */
static bool
spend(struct dns_server *s)
{
	uint64_t now = clock_ms();

	/* Thousandths of a question a millisecond are questions a second. */
	s->tokens += (now - s->tokens_ms) * LIMIT_QUESTIONS_PER_S;
	if (s->tokens > BURST * 1000)
		s->tokens = BURST * 1000;
	s->tokens_ms = now;
	if (s->tokens < 1000)
		return false;
	s->tokens -= 1000;
	return true;
}

static void
refuse(struct dns_server *s, enum reason reason, const char *detail)
{
	struct dns_said said;

	dns_refuse(s->program, reason, detail, &said);
	s->on_refused(&said, s->arg);
}

static void
answer(struct dns_server *s, struct slice msg, struct wr *w)
{
	struct dns_said said;

	dns_answer(s->program, msg, w, &said);
	if (said.reason == REASON_ALLOW)
		s->n_allowed++;
	else
		s->on_refused(&said, s->arg);
}

union control {
	char bytes[CMSG_SPACE(sizeof(struct in6_pktinfo))];
	struct cmsghdr align;
};

/*
 * Send from the address that the datagram was received at: the redirect knows
 * an answer by it, and the kernel would choose another one on a loopback with
 * several.  The link is the kernel's choice.
 */
static void
turn_round(struct msghdr *h)
{
	struct cmsghdr *c = CMSG_FIRSTHDR(h);

	if (c != NULL && c->cmsg_level == IPPROTO_IP &&
	    c->cmsg_type == IP_PKTINFO) {
		struct in_pktinfo info;
		memcpy(&info, CMSG_DATA(c), sizeof(info));
		info.ipi_spec_dst = info.ipi_addr;
		info.ipi_ifindex = 0;
		memcpy(CMSG_DATA(c), &info, sizeof(info));
		h->msg_controllen = CMSG_SPACE(sizeof(info));
	} else if (c != NULL && c->cmsg_level == IPPROTO_IPV6 &&
	    c->cmsg_type == IPV6_PKTINFO) {
		h->msg_controllen = CMSG_SPACE(sizeof(struct in6_pktinfo));
	} else {
		h->msg_control = NULL;
		h->msg_controllen = 0;
	}
}

/* Take one datagram and answer it.  False: there is none. */
static bool
port_step(struct dns_port *port)
{
	uint8_t in[DNS_QUERY_MAX + 1], out[DNS_ANSWER_MAX];
	struct sockaddr_storage from;
	union control control;
	struct iovec part = { .iov_base = in, .iov_len = sizeof(in) };
	struct msghdr h = { .msg_name = &from,
		.msg_namelen = sizeof(from),
		.msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes) };
	struct wr w = wr_of(out, sizeof(out));

	ssize_t n = recvmsg(port->fd, &h, MSG_DONTWAIT);
	if (n < 0)
		return errno == EINTR;
	if (!spend(port->server)) {
		refuse(port->server, REASON_LIMIT_RATE, "questions a second");
		return true;
	}
	if (n > DNS_QUERY_MAX) {
		refuse(port->server, REASON_DNS_MALFORMED, "too long");
		return true;
	}
	answer(port->server, slice_of(in, (size_t)n), &w);
	if (wr_slice(&w).n == 0)
		return true;
	turn_round(&h);
	part = (struct iovec){ .iov_base = out, .iov_len = w.n };
	do
		n = sendmsg(port->fd, &h, MSG_DONTWAIT | MSG_NOSIGNAL);
	while (n < 0 && errno == EINTR);
	/* A datagram that finds no room is lost: the client asks again. */
	if (n < 0)
		log_debug("dns: answer lost: %s", strerror(errno));
	return true;
}

static void
on_datagram(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	for (int i = 0; i < READS_PER_WAKE; i++)
		if (!port_step(arg))
			return;
}

static void
stream_reaped(struct loop_item *item)
{
	struct dns_stream *t = (struct dns_stream *)item;

	event_free(t->readable);
	event_free(t->writable);
	timer_release(&t->idle);
	free(t);
}

static void
stream_end(struct dns_stream *t)
{
	if (t->fd < 0)
		return;
	event_del(t->readable);
	event_del(t->writable);
	timer_stop(&t->idle);
	close(t->fd);
	t->fd = -1;
	LIST_REMOVE(t, entry);
	t->server->n_streams--;
	loop_reap(t->server->loop, &t->dead);
}

/* Write what is left of the answer.  False: not all of it went, or it ended. */
static bool
stream_flush(struct dns_stream *t)
{
	while (t->sent < t->n_out) {
		ssize_t n = send(t->fd, t->out + t->sent, t->n_out - t->sent,
		    MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN) {
			event_add(t->writable, NULL);
			return false;
		}
		if (n < 0) {
			stream_end(t);
			return false;
		}
		t->sent += (size_t)n;
	}
	t->sent = t->n_out = 0;
	return true;
}

/* Answer one message of the stream.  False: nothing more to do now. */
static bool
stream_step(struct dns_stream *t)
{
	struct wr w = wr_of(t->out + LENGTH_SIZE, DNS_ANSWER_MAX);
	struct parse_fail fail;
	struct slice msg;
	size_t used = 0;

	switch (dns_stream_take(slice_of(t->in, t->n_in), &msg, &used, &fail)) {
	case PARSE_MORE:
		return false;
	case PARSE_BAD:
		refuse(t->server, fail.reason, fail.detail);
		stream_end(t);
		return false;
	case PARSE_DONE:
		break;
	}
	if (!spend(t->server)) {
		refuse(t->server, REASON_LIMIT_RATE, "questions a second");
		stream_end(t);
		return false;
	}
	timer_set(&t->idle, DNS_STREAM_IDLE_MS);
	answer(t->server, msg, &w);
	t->n_in -= used;
	memmove(t->in, t->in + used, t->n_in);
	if (wr_slice(&w).n == 0)
		return true;
	struct wr length = wr_of(t->out, LENGTH_SIZE);
	wr_u16(&length, (uint16_t)w.n);
	t->n_out = LENGTH_SIZE + w.n;
	return stream_flush(t);
}

/* Answer what is here; read on only when the last answer is gone. */
static void
stream_run(struct dns_stream *t)
{
	while (stream_step(t))
		continue;
	if (t->fd < 0)
		return;
	if (t->n_out == 0)
		event_add(t->readable, NULL);
	else
		event_del(t->readable);
}

static void
on_stream_writable(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	if (stream_flush(arg))
		stream_run(arg);
}

static void
on_stream_readable(evutil_socket_t fd, short what UNUSED, void *arg)
{
	struct dns_stream *t = arg;
	ssize_t n =
	    recv(fd, t->in + t->n_in, sizeof(t->in) - t->n_in, MSG_DONTWAIT);

	if (n < 0 && (errno == EINTR || errno == EAGAIN))
		return;
	if (n <= 0) {
		stream_end(t);
		return;
	}
	t->n_in += (size_t)n;
	stream_run(t);
}

static void
on_idle(void *arg)
{
	stream_end(arg);
}

static void
on_accept(int fd, void *arg)
{
	struct dns_server *s = arg;
	struct dns_stream *t = NULL;
	enum err err;

	if (s->n_streams >= DNS_STREAMS_MAX) {
		refuse(s, REASON_LIMIT_CONNS, "connections to the answerer");
		goto fail;
	}
	t = calloc(1, sizeof(*t));
	if (t == NULL || timer_init(&t->idle, s->loop, on_idle, t, &err) != 0)
		goto fail;
	t->dead.free = stream_reaped;
	t->server = s;
	t->fd = fd;
	t->readable = loop_event(s->loop, fd, EV_READ | EV_PERSIST,
	    on_stream_readable, t);
	t->writable = loop_event(s->loop, fd, EV_WRITE, on_stream_writable, t);
	if (t->readable == NULL || t->writable == NULL ||
	    event_add(t->readable, NULL) != 0)
		goto fail_events;
	LIST_INSERT_HEAD(&s->streams, t, entry);
	s->n_streams++;
	timer_set(&t->idle, DNS_STREAM_IDLE_MS);
	return;
fail_events:
	if (t->readable != NULL)
		event_free(t->readable);
	if (t->writable != NULL)
		event_free(t->writable);
	timer_release(&t->idle);
fail:
	free(t);
	close(fd);
}

static int
port_init(struct dns_port *port, struct dns_server *s, int fd, bool v4)
{
	int on = 1, level = v4 ? IPPROTO_IP : IPPROTO_IPV6;

	port->server = s;
	port->fd = fd;
	if (fd < 0)
		return 0;
	if (setsockopt(fd, level, v4 ? IP_PKTINFO : IPV6_RECVPKTINFO, &on,
		sizeof(on)) != 0)
		log_warn("dns: IP_PKTINFO: %s", strerror(errno));
	port->readable =
	    loop_event(s->loop, fd, EV_READ | EV_PERSIST, on_datagram, port);
	if (port->readable == NULL)
		return -1;
	return event_add(port->readable, NULL);
}

static void
close_sockets(const struct dns_sockets *sockets)
{
	for (size_t i = 0; i < 2; i++) {
		if (sockets->udp[i] >= 0)
			close(sockets->udp[i]);
		if (sockets->tcp[i] >= 0)
			close(sockets->tcp[i]);
	}
}

/* Take the sockets out of `left`, one by one. */
static int
take_sockets(struct dns_server *s, struct dns_sockets *left, enum err *err)
{
	for (size_t i = 0; i < 2; i++) {
		int udp = left->udp[i], tcp = left->tcp[i];
		left->udp[i] = -1;
		*err = ERR_MEMORY;
		if (port_init(&s->ports[i], s, udp, i == 0) != 0)
			return -1;
		if (tcp < 0)
			continue;
		left->tcp[i] = -1;
		s->listeners[i] = listener_new(s->loop, tcp, on_accept, s, err);
		if (s->listeners[i] == NULL)
			return -1;
	}
	return 0;
}

struct dns_server *
dns_server_new(struct loop *l, const struct dns_sockets *sockets,
    const struct program *p, dns_on_refused *on_refused, void *arg,
    enum err *err)
{
	struct dns_sockets left = *sockets;
	struct dns_server *s = calloc(1, sizeof(*s));

	*err = ERR_MEMORY;
	if (s == NULL)
		goto fail;
	s->loop = l;
	s->program = p;
	s->on_refused = on_refused;
	s->arg = arg;
	s->tokens = BURST * 1000;
	s->tokens_ms = clock_ms();
	LIST_INIT(&s->streams);
	s->ports[0].fd = s->ports[1].fd = -1;
	if (take_sockets(s, &left, err) == 0)
		return s;
fail:
	close_sockets(&left);
	dns_server_free(s);
	return NULL;
}

void
dns_server_free(struct dns_server *s)
{
	if (s == NULL)
		return;
	while (!LIST_EMPTY(&s->streams))
		stream_end(LIST_FIRST(&s->streams));
	for (size_t i = 0; i < 2; i++) {
		listener_free(s->listeners[i]);
		if (s->ports[i].readable != NULL)
			event_free(s->ports[i].readable);
		if (s->ports[i].fd >= 0)
			close(s->ports[i].fd);
	}
	free(s);
}

void
dns_server_set_program(struct dns_server *s, const struct program *p)
{
	s->program = p;
}

uint64_t
dns_server_take_allowed(struct dns_server *s)
{
	uint64_t n = s->n_allowed;

	s->n_allowed = 0;
	return n;
}

void
dns_said_event(const struct program *p, const struct dns_said *said,
    struct facts_text *text, struct event *e)
{
	event_init(e, EVENT_DNS);
	facts_to_event(p, &said->facts, &said->verdict, text, e);
	if (said->detail[0] != '\0')
		event_str(e, FIELD_DETAIL, said->detail);
}
