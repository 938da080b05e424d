/* SPDX-License-Identifier: Apache-2.0 */
/* What an owner may ask of a stream; nothing changes by it. */
#include <event2/event.h>

#include "net/stream.h"

bool
stream_is_ready(const struct stream *s)
{
	return s->ready;
}

bool
stream_is_eof(const struct stream *s)
{
	return s->ended && s->in.n == 0;
}

bool
stream_is_shut(const struct stream *s)
{
	return s->shut;
}

bool
stream_is_broken(const struct stream *s)
{
	return s->broken;
}

enum reason
stream_reason(const struct stream *s)
{
	return s->reason;
}

const char *
stream_text(const struct stream *s)
{
	return s->text;
}

bool
stream_is_idle(const struct stream *s)
{
	return s->ready && !s->broken && !s->ended && !s->want_shut &&
	    s->in.n == 0 && s->out.n == 0;
}

struct slice
stream_peek(const struct stream *s)
{
	if (s->in.n == 0)
		return (struct slice){ 0 };
	return slice_of(s->in.p + s->in.at, s->in.n);
}

bool
stream_is_full(const struct stream *s)
{
	return s->in.n == STREAM_IN_MAX;
}

size_t
stream_backlog(const struct stream *s)
{
	return s->out.n;
}

size_t
stream_room(const struct stream *s)
{
	if (s->broken || s->want_shut || s->out.n >= LIMIT_BACKLOG_SIZE)
		return 0;
	return LIMIT_BACKLOG_SIZE - s->out.n;
}

int
stream_fd(const struct stream *s)
{
	return s->fd;
}

static bool
is_pending(const struct event *e)
{
	return e != NULL &&
	    event_pending(e, EV_READ | EV_WRITE | EV_TIMEOUT, NULL);
}

static bool
may_read(const struct stream *s)
{
	return s->ready && !s->ended && !s->held && s->in.n < STREAM_IN_MAX;
}

static bool
may_write(const struct stream *s)
{
	return s->ready && (s->out.n != 0 || (s->want_shut && !s->shut));
}

bool
stream_is_armed(const struct stream *s)
{
	if (s->closed || s->on_news == NULL)
		return false;
	/* Something has changed, and the owner's turn is to come. */
	if (s->news || is_pending(s->kick) || is_pending(s->readable) ||
	    is_pending(s->writable))
		return true;
	/* A script wakes its stream when it can go on. */
	return s->fd < 0 && !s->broken &&
	    (!s->ready || s->raw || may_read(s) || may_write(s));
}

/* Would an event come for what it waits for? */
static bool
will_come(const struct stream *s, enum stream_io io)
{
	return (io == STREAM_IO_READ && is_pending(s->readable)) ||
	    (io == STREAM_IO_WRITE && is_pending(s->writable));
}

bool
stream_is_stuck(const struct stream *s)
{
	if (s->closed || s->broken || s->raw || s->fd < 0 ||
	    is_pending(s->kick))
		return false;
	return (!s->ready && !will_come(s, s->wait_start)) ||
	    (may_read(s) && !will_come(s, s->wait_read)) ||
	    (may_write(s) && !will_come(s, s->wait_write));
}
