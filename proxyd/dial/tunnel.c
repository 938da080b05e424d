/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/socket.h>

#include <errno.h>

#include <event2/event.h>

#include "base/limits.h"
#include "dial/tunnel.h"
#include "wire/tunnel.h"

#define DETAIL_MAX 64

struct tunnel {
	struct loop_item dead;
	struct loop *loop;   /* borrowed */
	int fd;		     /* borrowed */
	struct event *event; /* owned; writable, then readable */
	bool may_speak_first;
	size_t n_out, sent;
	uint8_t out[TUNNEL_REQUEST_MAX];
	struct http_response answer;
	size_t n; /* bytes of `in` that are taken from the socket */
	uint8_t in[LIMIT_PROXY_HEAD_SIZE + 1]; /* one too many is seen */
	tunnel_on_done *on_done;	       /* NULL: told, or cancelled */
	void *arg;
};

static void
tunnel_reaped(struct loop_item *item)
{
	free((struct tunnel *)item);
}

static void
finish(struct tunnel *t)
{
	if (t->event != NULL)
		event_free(t->event);
	t->event = NULL;
	t->on_done = NULL;
	loop_reap(t->loop, &t->dead);
}

static void
tell(struct tunnel *t, enum reason reason, const char *detail)
{
	tunnel_on_done *on_done = t->on_done;

	finish(t);
	on_done(reason, detail, t->arg);
}

static void
refuse(struct tunnel *t, const char *detail)
{
	tell(t, REASON_UP_CONNECT, detail);
}

/* What the proxy answered, for the owner of the sandbox. */
static void
refuse_status(struct tunnel *t, unsigned status)
{
	char detail[DETAIL_MAX];

	if (status == 407)
		refuse(t, "the proxy wants a user name and password (407)");
	else if (status == 403)
		refuse(t, "the proxy forbids it (403)");
	else {
		snprintf(detail, sizeof(detail), "the proxy answered %u",
		    status);
		refuse(t, detail);
	}
}

/* Take so many bytes, which were seen, out of the socket. */
static bool
take(struct tunnel *t, size_t n)
{
	ssize_t got;

	do
		got = recv(t->fd, t->in + t->n, n, 0);
	while (got < 0 && errno == EINTR);
	if (got < 0 || (size_t)got != n)
		return false;
	t->n += n;
	return true;
}

/* `seen` bytes wait behind those that were taken.  True: look again. */
static bool
look(struct tunnel *t, size_t seen)
{
	struct slice in = slice_of(t->in, t->n + seen);
	struct parse_fail fail;
	size_t used = 0;

	switch (tunnel_take(in, &t->answer, &used, &fail)) {
	case PARSE_MORE:
		if (take(t, seen))
			return true;
		break;
	case PARSE_DONE: {
		size_t before = t->n;
		if (used < before || !take(t, used - before))
			break;
		if (t->answer.status < 200 || t->answer.status > 299)
			refuse_status(t, t->answer.status);
		else if (used - before != seen && !t->may_speak_first)
			refuse(t, "the proxy sent more than its answer");
		else
			tell(t, REASON_ALLOW, "");
		return false;
	}
	case PARSE_BAD:
		refuse(t, "the proxy's answer cannot be read");
		return false;
	}
	tell(t, REASON_INTERNAL, "bytes of a socket went away");
	return false;
}

/* Look before taking: what is behind the head must stay in the socket. */
static void
on_readable(struct tunnel *t)
{
	for (;;) {
		ssize_t n =
		    recv(t->fd, t->in + t->n, sizeof(t->in) - t->n, MSG_PEEK);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0) {
			refuse(t, "the proxy closed the connection");
			return;
		}
		if (!look(t, (size_t)n))
			return;
	}
}

static void on_ready(evutil_socket_t fd, short what, void *arg);

/* The whole request is sent: wait for the answer. */
static void
await(struct tunnel *t)
{
	event_free(t->event);
	t->event =
	    loop_event(t->loop, t->fd, EV_READ | EV_PERSIST, on_ready, t);
	if (t->event == NULL || event_add(t->event, NULL) != 0)
		tell(t, REASON_INTERNAL, "out of memory");
}

static void
on_ready(evutil_socket_t fd, short what, void *arg)
{
	struct tunnel *t = arg;

	if ((what & EV_READ) != 0) {
		on_readable(t);
		return;
	}
	ssize_t n =
	    send(fd, t->out + t->sent, t->n_out - t->sent, MSG_NOSIGNAL);
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n < 0) {
		refuse(t, "the proxy closed the connection");
		return;
	}
	t->sent += (size_t)n;
	if (t->sent == t->n_out)
		await(t);
}

struct tunnel *
tunnel_start(struct loop *l, const struct tunnel_want *want,
    tunnel_on_done *on_done, void *arg, enum err *err)
{
	struct tunnel *t = calloc(1, sizeof(*t));

	*err = ERR_MEMORY;
	if (t == NULL)
		return NULL;
	struct wr w = wr_of(t->out, sizeof(t->out));
	tunnel_write(&w, want->host, want->port);
	t->n_out = w.n;
	t->dead.free = tunnel_reaped;
	t->loop = l;
	t->fd = want->fd;
	t->may_speak_first = want->may_speak_first;
	t->on_done = on_done;
	t->arg = arg;
	t->event = loop_event(l, t->fd, EV_WRITE | EV_PERSIST, on_ready, t);
	if (w.bad || t->event == NULL || event_add(t->event, NULL) != 0) {
		if (t->event != NULL)
			event_free(t->event);
		free(t);
		return NULL;
	}
	*err = ERR_NONE;
	return t;
}

void
tunnel_cancel(struct tunnel *t)
{
	if (t != NULL && t->on_done != NULL)
		finish(t);
}
