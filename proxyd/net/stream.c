/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that streams have in common.  Two events of the descriptor and one that
 * the owner's calls activate (`kick`) end in stream_run(), which starts, reads,
 * writes and shuts as far as it goes and then tells the owner once.  So an
 * owner's call never re-enters the owner, and bytes put by several calls leave
 * in one write.
 */
#include <sys/socket.h>

#include <assert.h>
#include <unistd.h>

#include <event2/event.h>

#include "net/stream.h"

/* Reads in one turn, so that a fast peer does not keep the others waiting. */
#define READS_PER_TURN 16
/* Room worth a read; below it the bytes are moved to the front first. */
#define READ_ROOM_MIN 16384

static void
stream_kick(struct stream *s)
{
	if (s->closed)
		return;
	if (s->kick == NULL)
		s->ops->touched(s);
	else
		event_active(s->kick, EV_TIMEOUT, 1);
}

/*
 * Add or remove an event, if that is not so already: asked at every turn.
 */
static void
arm(struct stream *s, short what, bool wanted)
{
	struct event *e = what == EV_READ ? s->readable : s->writable;
	bool *armed = what == EV_READ ? &s->reads : &s->writes;

	if (*armed == wanted)
		return;
	if (!wanted)
		event_del(e);
	/* Without memory it is tried again with the next turn. */
	*armed = wanted && event_add(e, NULL) == 0;
}

static void
break_off(struct stream *s)
{
	if (s->broken)
		return;
	s->broken = true;
	s->news = true;
	if (s->reason == REASON_ALLOW)
		stream_fail(s, REASON_INTERNAL, "lost");
}

static void
run_start(struct stream *s)
{
	s->wait_start = s->ops->start(s);
	if (s->wait_start == STREAM_IO_OK) {
		s->ready = true;
		s->news = true;
		s->more = true;
	} else if (s->wait_start == STREAM_IO_BROKEN ||
	    s->wait_start == STREAM_IO_EOF) {
		break_off(s);
	}
}

static bool
may_read(const struct stream *s)
{
	return s->ready && !s->broken && !s->ended && !s->held &&
	    s->in.n < STREAM_IN_MAX;
}

static void
run_read(struct stream *s)
{
	for (int i = 0; i < READS_PER_TURN && may_read(s); i++) {
		size_t room = STREAM_IN_MAX - s->in.n;
		size_t free_tail =
		    s->in.p == NULL ? room : s->in.max - s->in.at - s->in.n;
		size_t n = 0;
		/* Move only if that buys a read of useful size. */
		if (free_tail < READ_ROOM_MIN && free_tail < room)
			free_tail = room;
		uint8_t *p = stream_buf_tail(&s->in, free_tail, STREAM_IN_MAX);
		if (p == NULL) {
			stream_fail(s, REASON_INTERNAL, "out of memory");
			break_off(s);
			return;
		}
		s->wait_read = s->ops->read(s, p, free_tail, &n);
		if (s->wait_read == STREAM_IO_OK) {
			s->in.n += n;
			s->n_in += n;
			s->news = true;
			continue;
		}
		s->more = false;
		if (s->in.n == 0)
			stream_buf_release(&s->in, false);
		if (s->wait_read == STREAM_IO_EOF) {
			s->ended = true;
			s->news = true;
		} else if (s->wait_read == STREAM_IO_BROKEN) {
			break_off(s);
		}
		return;
	}
	s->more = true; /* stopped by us, not by an empty descriptor */
}

/* `writable`: the event fired; else a side that was full still is. */
static void
run_write(struct stream *s, bool writable)
{
	if (s->wait_write == STREAM_IO_WRITE && !writable && s->fd >= 0)
		return;
	while (s->out.n != 0 && !s->broken) {
		size_t done = 0;
		s->wait_write =
		    s->ops->write(s, s->out.p + s->out.at, s->out.n, &done);
		if (s->wait_write == STREAM_IO_BROKEN ||
		    s->wait_write == STREAM_IO_EOF) {
			break_off(s);
			return;
		}
		if (s->wait_write != STREAM_IO_OK)
			return;
		stream_buf_drop(&s->out, done);
		s->n_out += done;
		s->news = true;
	}
	if (s->out.n == 0 && s->out.p != NULL) {
		stream_buf_release(&s->out, s->wipe);
		s->wipe = false;
	}
	if (s->want_shut && !s->shut && !s->broken && s->out.n == 0) {
		s->wait_write = s->ops->shut(s);
		if (s->wait_write == STREAM_IO_OK) {
			s->shut = true;
			s->news = true;
		} else if (s->wait_write == STREAM_IO_BROKEN ||
		    s->wait_write == STREAM_IO_EOF) {
			break_off(s);
		}
	}
}

/* True if the descriptor's state `io` keeps something from going on. */
static bool
waits_for(const struct stream *s, enum stream_io io)
{
	if (s->broken)
		return false;
	if (!s->ready)
		return s->wait_start == io;
	if (may_read(s) && s->wait_read == io)
		return true;
	return (s->out.n != 0 || (s->want_shut && !s->shut)) &&
	    s->wait_write == io;
}

/*
 * The one place that computes interest.  The read event stays where it is
 * until it fires in vain: holding a side for a moment costs no system call.
 */
static void
want_events(struct stream *s)
{
	if (s->fd < 0)
		return;
	if (waits_for(s, STREAM_IO_READ))
		arm(s, EV_READ, true);
	else if (s->broken || s->ended)
		arm(s, EV_READ, false);
	arm(s, EV_WRITE, waits_for(s, STREAM_IO_WRITE));
}

/* `what`: the events of the descriptor that fired. */
static void
stream_run(struct stream *s, short what)
{
	if (s->closed)
		return;
	if (s->raw) {
		if (s->on_news != NULL)
			s->on_news(s, s->arg);
		return;
	}
	if (!s->ready && !s->broken)
		run_start(s);
	if (s->ready && !s->broken) {
		if ((what & EV_READ) != 0 || s->more)
			run_read(s);
		run_write(s, (what & EV_WRITE) != 0);
	}
	want_events(s);
	/* Stopped for the others' sake: go on after they had their turn. */
	if (s->more && may_read(s))
		stream_kick(s);
	bool news = s->news;
	s->news = false;
	if (news && s->on_news != NULL)
		s->on_news(s, s->arg);
}

static void
on_readable(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct stream *s = arg;

	if (!s->raw && !waits_for(s, STREAM_IO_READ))
		arm(s, EV_READ, false);
	stream_run(s, EV_READ);
}

static void
on_writable(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct stream *s = arg;

	/* A read of TLS may have waited for this, too. */
	stream_run(s,
	    s->wait_read == STREAM_IO_WRITE ? EV_READ | EV_WRITE : EV_WRITE);
}

static void
on_kick(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	stream_run(arg, 0);
}

static void
stream_reaped(struct loop_item *item)
{
	struct stream *s = (struct stream *)item;

	if (s->readable != NULL)
		event_free(s->readable);
	if (s->writable != NULL)
		event_free(s->writable);
	if (s->kick != NULL)
		event_free(s->kick);
	stream_buf_release(&s->in, s->wipe);
	stream_buf_release(&s->out, s->wipe);
	int fd = s->fd;
	s->ops->free(s);
	if (fd >= 0)
		close(fd);
}

static struct event *
event_of(struct stream *s, int fd, short what, event_callback_fn on)
{
	struct event *e = event_new(loop_base(s->loop), fd, what, on, s);

	if (e != NULL && event_priority_set(e, LOOP_PRIORITY_IO) != 0) {
		event_free(e);
		return NULL;
	}
	return e;
}

int
stream_init(struct stream *s, const struct stream_ops *ops, struct loop *l,
    int fd, enum err *err)
{
	s->dead = (struct loop_item){ .free = stream_reaped };
	s->ops = ops;
	s->loop = l;
	s->fd = fd;
	s->ready = ops->start == NULL;
	s->wait_start = s->wait_read = STREAM_IO_READ;
	s->wait_write = STREAM_IO_OK;
	s->more = false;
	if (ops->touched != NULL)
		return 0;
	s->kick = event_of(s, -1, 0, on_kick);
	if (fd >= 0) {
		s->readable =
		    event_of(s, fd, EV_READ | EV_PERSIST, on_readable);
		s->writable =
		    event_of(s, fd, EV_WRITE | EV_PERSIST, on_writable);
	}
	if (s->kick == NULL ||
	    (fd >= 0 && (s->readable == NULL || s->writable == NULL)))
		goto fail;
	stream_kick(s);
	return 0;
fail:
	if (s->kick != NULL)
		event_free(s->kick);
	if (s->readable != NULL)
		event_free(s->readable);
	if (s->writable != NULL)
		event_free(s->writable);
	if (fd >= 0)
		close(fd);
	*err = ERR_MEMORY;
	return -1;
}

void
stream_fail(struct stream *s, enum reason reason, const char *text)
{
	s->reason = reason;
	snprintf(s->text, sizeof(s->text), "%s", text);
}

void
stream_tell(struct stream *s)
{
	if (!s->closed && s->on_news != NULL)
		s->on_news(s, s->arg);
}

void
stream_wake(struct stream *s)
{
	s->more = true;
	stream_kick(s);
}

void
stream_nudge(struct stream *s)
{
	s->news = true;
	stream_kick(s);
}

/* RFC 9293 3.10.4 ABORT: closing is a reset, unsent bytes are gone. */
static void
close_resets(const struct stream *s, bool resets)
{
	const struct linger now = { .l_onoff = resets ? 1 : 0 };

	if (s->fd >= 0)
		(void)setsockopt(s->fd, SOL_SOCKET, SO_LINGER, &now,
		    sizeof(now));
}

void
stream_make_raw(struct stream *s)
{
	s->raw = true;
	/* Also if it is the end of this process that closes it: its kernel
	 * would announce an end that the other side never did. */
	close_resets(s, true);
}

void
stream_want(struct stream *s, bool read, bool write)
{
	if (s->fd < 0)
		return;
	arm(s, EV_READ, read && !s->broken);
	arm(s, EV_WRITE, write && !s->broken);
}

void
stream_on(struct stream *s, stream_on_news *on_news, void *arg)
{
	s->on_news = on_news;
	s->arg = arg;
}

void
stream_take(struct stream *s, size_t n)
{
	bool was_full = stream_is_full(s);

	if (n == 0)
		return;
	stream_buf_drop(&s->in, n);
	if (s->in.n == 0 && s->in.p != NULL)
		stream_buf_release(&s->in, false);
	if (was_full || s->kick == NULL)
		stream_kick(s);
}

bool
stream_put(struct stream *s, struct slice bytes)
{
	if (s->broken || s->want_shut || bytes.n > STREAM_OUT_MAX - s->out.n)
		return false;
	if (bytes.n == 0)
		return true;
	uint8_t *p = stream_buf_tail(&s->out, bytes.n, STREAM_OUT_MAX);
	if (p == NULL)
		return false;
	memcpy(p, bytes.p, bytes.n);
	s->out.n += bytes.n;
	stream_kick(s);
	return true;
}

bool
stream_put_secret(struct stream *s, struct slice bytes)
{
	s->wipe = true;
	return stream_put(s, bytes);
}

size_t
stream_move(struct stream *from, struct stream *to, size_t max)
{
	size_t n = from->in.n;

	if (n > max)
		n = max;
	if (n > stream_room(to))
		n = stream_room(to);
	if (n == 0 || !stream_put(to, slice_first(stream_peek(from), n)))
		return 0;
	stream_take(from, n);
	return n;
}

void
stream_flush(struct stream *s)
{
	if (!s->ready || s->broken || s->closed || s->kick == NULL || s->raw)
		return;
	run_write(s, false);
	stream_kick(s); /* what there is to tell is told from the loop */
}

void
stream_hold(struct stream *s, bool hold)
{
	if (s->held && !hold) {
		s->held = false;
		stream_kick(s);
	}
	s->held = hold;
}

void
stream_shut(struct stream *s)
{
	if (s->want_shut || s->broken)
		return;
	s->want_shut = true;
	stream_kick(s);
}

int
stream_detach(struct stream *s)
{
	int fd = s->fd;

	if (fd < 0)
		return -1;
	arm(s, EV_READ, false);
	arm(s, EV_WRITE, false);
	s->fd = -1;
	s->broken = true;
	return fd;
}

void
stream_close(struct stream *s)
{
	if (s == NULL || s->closed)
		return;
	s->closed = true;
	if (s->kick == NULL)
		s->ops->touched(s);
	else if (s->ready && !s->broken && !s->shut && s->out.n == 0)
		(void)s->ops->shut(s);
	if (s->raw && !s->broken)
		close_resets(s, false);
	if (s->fd >= 0) {
		arm(s, EV_READ, false);
		arm(s, EV_WRITE, false);
	}
	if (s->kick != NULL)
		event_del(s->kick);
	s->on_news = NULL;
	loop_reap(s->loop, &s->dead);
}

void
stream_reset(struct stream *s)
{
	if (s == NULL || s->closed)
		return;
	close_resets(s, true);
	s->broken = true; /* no announcement */
	stream_close(s);
}
