/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A direction is filled only when it is empty.  So "try again" from splice(2)
 * into the pipe can mean one thing only, that the socket has nothing, and never
 * that the pipe is full: a pipe is full by its number of pieces, not of bytes,
 * and nobody can ask for that.
 */
#include <errno.h>
#include <fcntl.h>

#include "net/splice.h"
#include "net/stream_tcp.h"

/* Fillings in one turn, so that a fast peer does not keep the others waiting. */
#define FILLS_PER_TURN 16
#define PIPE_SIZE 65536 /* bytes asked for: what a pipe can hold */

struct way {
	struct stream *from, *to; /* borrowed */
	struct pipe pipe;	  /* taken while bytes are in it */
};

struct splice {
	struct way up, down;
	struct pipes *pipes; /* borrowed */
	bool copies;	     /* splice(2) does not know these sockets */
	splice_on_news *on_news;
	void *arg;
};

static bool
is_empty(const struct way *w)
{
	return w->pipe.n == 0 && w->from->in.n == 0;
}

/* Any but OK ends this turn of the way; true to go on. */
static bool
settle(struct stream *s, enum stream_io io)
{
	if (io == STREAM_IO_EOF)
		s->ended = true;
	if (io == STREAM_IO_BROKEN)
		s->broken = true;
	return io == STREAM_IO_OK;
}

static enum stream_io
fill_buffer(struct stream *from)
{
	uint8_t *p = stream_buf_tail(&from->in, STREAM_IN_MAX, STREAM_IN_MAX);
	size_t n = 0;

	if (p == NULL) {
		stream_fail(from, REASON_INTERNAL, "out of memory");
		return STREAM_IO_BROKEN;
	}
	enum stream_io io = from->ops->read(from, p, STREAM_IN_MAX, &n);
	if (io == STREAM_IO_OK) {
		from->in.n = n;
		from->n_in += n;
	} else {
		stream_buf_release(&from->in, false);
	}
	return io;
}

static bool
may_splice(const struct splice *s, const struct way *w)
{
	return !s->copies && w->from->fd >= 0 && w->to->fd >= 0;
}

static enum stream_io
fill(struct splice *s, struct way *w)
{
	if (!may_splice(s, w) ||
	    (!pipe_is_open(&w->pipe) && !pipes_take(s->pipes, &w->pipe)))
		return fill_buffer(w->from);
	ssize_t n = splice(w->from->fd, NULL, w->pipe.in, NULL, PIPE_SIZE,
	    SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
	if (n < 0 && errno == EINVAL) {
		s->copies = true;
		return fill_buffer(w->from);
	}
	if (n < 0)
		return stream_tcp_error(w->from, errno);
	if (n == 0)
		return STREAM_IO_EOF;
	w->pipe.n = (size_t)n;
	w->from->n_in += (uint64_t)n;
	return STREAM_IO_OK;
}

static enum stream_io
drain_pipe(struct way *w, size_t *done)
{
	ssize_t n = splice(w->pipe.out, NULL, w->to->fd, NULL, w->pipe.n,
	    SPLICE_F_MOVE | SPLICE_F_NONBLOCK);

	if (n <= 0) /* 0: nobody else reads that pipe, so it cannot be */
		return stream_tcp_error(w->to, n < 0 ? errno : EPIPE);
	w->pipe.n -= (size_t)n;
	*done = (size_t)n;
	return STREAM_IO_OK;
}

static enum stream_io
drain_buffer(struct way *w, size_t *done)
{
	struct stream_buf *in = &w->from->in;
	enum stream_io io =
	    w->to->ops->write(w->to, in->p + in->at, in->n, done);

	if (io != STREAM_IO_OK)
		return io;
	stream_buf_drop(in, *done);
	if (in->n == 0)
		stream_buf_release(in, false);
	return STREAM_IO_OK;
}

/* True when nothing is on its way any more. */
static bool
drain(struct way *w)
{
	while (!is_empty(w)) {
		size_t done = 0;
		enum stream_io io = w->from->in.n != 0 ?
		    drain_buffer(w, &done) :
		    drain_pipe(w, &done);
		if (!settle(w->to, io))
			return false;
		w->to->n_out += done;
	}
	return true;
}

static void
pass_end_on(struct way *w)
{
	if (w->from->ended && is_empty(w) && !w->to->shut &&
	    settle(w->to, w->to->ops->shut(w->to)))
		w->to->shut = true;
}

static void
run(struct splice *s, struct way *w)
{
	int i = 0;

	while (drain(w) && !w->from->ended && i < FILLS_PER_TURN &&
	    settle(w->from, fill(s, w)))
		i++;
	if (i == FILLS_PER_TURN)
		stream_wake(w->from); /* after the others had their turn */
	if (w->pipe.n == 0)
		pipes_put(s->pipes, &w->pipe);
	if (!w->to->broken)
		pass_end_on(w);
}

static bool
is_lost(const struct splice *s)
{
	return s->up.from->broken || s->up.to->broken;
}

/* What a stream waits for: `out` is the way that it reads for. */
static void
want(const struct way *out, const struct way *back)
{
	stream_want(out->from, !out->from->ended && is_empty(out),
	    !is_empty(back));
}

static void
on_ready(struct stream *stream, void *arg)
{
	struct splice *s = arg;
	bool is_client = stream == s->up.from;
	struct way *reads = is_client ? &s->up : &s->down;
	struct way *writes = is_client ? &s->down : &s->up;

	if (!is_lost(s) && !is_empty(writes))
		run(s, writes);
	if (!is_lost(s) && (!reads->from->ended || !reads->to->shut))
		run(s, reads);
	want(&s->up, &s->down);
	want(&s->down, &s->up);
	s->on_news(s->arg);
}

void
splice_look(struct splice *s)
{
	if (!is_lost(s))
		run(s, &s->up);
	if (!is_lost(s))
		run(s, &s->down);
}

struct splice *
splice_new(struct stream *client, struct stream *upstream, struct pipes *pipes,
    splice_on_news *on_news, void *arg)
{
	struct splice *s = calloc(1, sizeof(*s));

	if (s == NULL)
		return NULL;
	s->up = (struct way){ client, upstream, PIPE_NONE };
	s->down = (struct way){ upstream, client, PIPE_NONE };
	s->pipes = pipes;
	s->on_news = on_news;
	s->arg = arg;
	for (int i = 0; i < 2; i++) {
		struct stream *stream = i == 0 ? client : upstream;
		stream_make_raw(stream);
		stream_on(stream, on_ready, s);
		stream_wake(stream);
	}
	return s;
}

void
splice_free(struct splice *s)
{
	if (s == NULL)
		return;
	pipes_put(s->pipes, &s->up.pipe);
	pipes_put(s->pipes, &s->down.pipe);
	stream_on(s->up.from, NULL, NULL);
	stream_on(s->up.to, NULL, NULL);
	free(s);
}

enum splice_state
splice_state(const struct splice *s)
{
	if (is_lost(s))
		return SPLICE_LOST;
	return s->up.from->shut && s->up.to->shut ? SPLICE_OVER : SPLICE_OPEN;
}
