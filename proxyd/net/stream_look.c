/* SPDX-License-Identifier: Apache-2.0 */
/* What an owner may ask of a stream; nothing changes by it. */
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
