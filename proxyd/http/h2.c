/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>

#include <event2/event.h>

#include "base/clock.h"
#include "http/h2_alive.h"
#include "http/h2_part.h"

/* Turns of one step: an owner that is told may have put something. */
#define TURNS 4
/* Frames of ours that wait, DATA apart, before the peer is read no more. */
#define QUEUE_MAX 256
/* Without a stream for so long, a connection gives back what it can. */
#define REST_MS 200

void
h2_wake(struct h2_conn *c)
{
	c->again = true;
	if (!c->stepping)
		event_active(c->kick, EV_TIMEOUT, 1);
}

int
h2_note_fault(struct h2_conn *c, enum h2_code code, enum reason reason,
    const char *text)
{
	if (c->reason == REASON_ALLOW) {
		c->code = code;
		c->reason = reason;
		snprintf(c->text, sizeof(c->text), "%s", text);
	}
	return NGHTTP2_ERR_CALLBACK_FAILURE;
}

/*
 * nghttp2 cannot be asked for it once a callback has failed; what it has
 * queued before is of no use to the peer any more.
 */
static void
put_goaway(struct h2_conn *c)
{
	uint8_t room[17];
	struct wr w = wr_of(room, sizeof(room));

	wr_number(&w, 8, 3);
	wr_u8(&w, NGHTTP2_GOAWAY);
	wr_u8(&w, 0);
	wr_u32(&w, 0);
	wr_u32(&w,
	    (uint32_t)nghttp2_session_get_last_proc_stream_id(c->session));
	wr_u32(&w, c->code);
	c->sent_goaway = stream_put(c->bytes, wr_slice(&w));
}

void
h2_fail(struct h2_conn *c, enum reason reason, const char *text)
{
	enum reason lost =
	    c->is_server ? REASON_CLIENT_ABORT : REASON_UP_RESPONSE;
	struct h2_stream *s;

	if (c->broken)
		return;
	timer_stop(&c->limit);
	h2_alive_stop(c);
	c->broken = c->has_news = true;
	if (c->reason == REASON_ALLOW) {
		c->reason = reason;
		if (c->text[0] == '\0') /* else what the peer's GOAWAY said */
			snprintf(c->text, sizeof(c->text), "%s", text);
	}
	TAILQ_FOREACH(s, &c->streams, all)
		h2_stream_break(s, c->reason == REASON_ALLOW ? lost : c->reason,
		    c->text);
	if (!c->sent_goaway && c->begun)
		put_goaway(c);
	stream_shut(c->bytes);
	stream_flush(c->bytes);
}

/* A code of nghttp2's that is fatal for the session. */
static void
fail_by(struct h2_conn *c, ssize_t error)
{
	switch (error) {
	case NGHTTP2_ERR_NOMEM:
		/* nghttp2 1.52 frees twice what it could not queue. */
		c->keep_session = true;
		c->code = H2_INTERNAL_ERROR;
		h2_fail(c, REASON_INTERNAL, "no memory");
		break;
	case NGHTTP2_ERR_FLOODED:
	case NGHTTP2_ERR_TOO_MANY_CONTINUATIONS:
		c->code = H2_ENHANCE_YOUR_CALM;
		h2_fail(c, REASON_H2_ABUSE, "flood of frames");
		break;
	case NGHTTP2_ERR_BAD_CLIENT_MAGIC:
		c->code = H2_PROTOCOL_ERROR;
		h2_fail(c, REASON_H2_PROTOCOL, "no preface of HTTP/2");
		break;
	default: /* a callback has said why */
		h2_fail(c, REASON_INTERNAL, "fault in a frame");
	}
}

/* --- a step --------------------------------------------------------------- */

/* The peer went, or was cut off. */
static void
lose(struct h2_conn *c)
{
	enum reason reason =
	    c->is_server ? REASON_CLIENT_ABORT : REASON_UP_RESPONSE;

	h2_fail(c, c->n_begun == 0 ? REASON_ALLOW : reason,
	    stream_is_broken(c->bytes) ? stream_text(c->bytes) :
					 "connection ended");
}

/* Before anything is read: some settings cannot be changed later. */
static void
begin(struct h2_conn *c)
{
	c->begun = true;
	if (h2_submit_settings(c) != 0)
		fail_by(c, NGHTTP2_ERR_NOMEM);
}

/* A head that has begun is whole in time, as one of HTTP/1. */
static void
limit_head(struct h2_conn *c)
{
	if (c->in_head == c->head_is_timed || c->broken)
		return;
	c->head_is_timed = c->in_head;
	if (c->in_head)
		timer_set(&c->limit, LIMIT_HEAD_MS);
	else
		timer_stop(&c->limit);
}

static bool
is_at_rest(const struct h2_conn *c)
{
	return c->n_begun == 0 && !c->in_head && !c->broken && !c->closed;
}

static void
plan_rest(struct h2_conn *c)
{
	if (!is_at_rest(c))
		c->rested = false;
	else if (!c->rested && !timer_is_set(&c->limit))
		timer_set(&c->limit, REST_MS);
}

static void
rest(struct h2_conn *c)
{
	if (!is_at_rest(c) || nghttp2_session_want_write(c->session))
		return;
	h2_memory_rest(&c->memory);
	c->rested = true;
}

static void
on_limit(void *arg)
{
	struct h2_conn *c = arg;

	if (!c->head_is_timed) {
		rest(c);
		return;
	}
	c->code = H2_ENHANCE_YOUR_CALM;
	h2_fail(c, REASON_LIMIT_TIME, "head not whole in time");
	h2_wake(c);
}

static void
take_input(struct h2_conn *c)
{
	struct slice in = stream_peek(c->bytes);

	if (!c->begun)
		begin(c);
	if (c->broken) {
		stream_take(c->bytes, in.n);
		return;
	}
	/* Answers to its frames that it does not read, or streams that it has
	 * reset and that are not cleared away yet: it is to wait. */
	c->held =
	    nghttp2_session_get_outbound_queue_size(c->session) > QUEUE_MAX ||
	    c->n_streams > 2 * LIMIT_H2_STREAMS;
	if (c->held && stream_is_broken(c->bytes))
		lose(c); /* nothing of ours will leave any more */
	if (c->held)
		return;
	if (in.n != 0) {
		c->now_ms = clock_ms();
		ssize_t n = nghttp2_session_mem_recv(c->session, in.p, in.n);
		stream_take(c->bytes, n < 0 ? in.n : (size_t)n);
		if (n < 0)
			fail_by(c, n);
		limit_head(c);
	}
	if (stream_is_eof(c->bytes) ||
	    (stream_is_broken(c->bytes) && stream_peek(c->bytes).n == 0))
		lose(c);
}

static void
settle(struct h2_conn *c)
{
	struct h2_stream *s;

	while ((s = TAILQ_FIRST(&c->touched)) != NULL) {
		TAILQ_REMOVE(&c->touched, s, touch);
		s->is_touched = false;
		if (!h2_stream_settle(s)) {
			fail_by(c, NGHTTP2_ERR_NOMEM);
			return;
		}
	}
	/* The second step of h2_shut(): what was on its way has come. */
	if (c->ponged && !c->broken) {
		c->ponged = false;
		(void)nghttp2_submit_goaway(c->session, NGHTTP2_FLAG_NONE,
		    nghttp2_session_get_last_proc_stream_id(c->session),
		    H2_NO_ERROR, NULL, 0);
	}
}

/* One frame, or none: all of it is put, since there is room behind the room. */
static ssize_t
send_frame(struct h2_conn *c)
{
	const uint8_t *p = NULL;
	ssize_t n = nghttp2_session_mem_send(c->session, &p);

	if (n <= 0)
		return n;
	struct slice frame = slice_of(p, (size_t)n);
	if (!(c->secret ? stream_put_secret : stream_put)(c->bytes, frame))
		return NGHTTP2_ERR_NOMEM;
	if (c->secret) /* it stays in nghttp2's buffer until that is used */
		explicit_bzero((void *)(uintptr_t)p, (size_t)n);
	return n;
}

static void
flush(struct h2_conn *c)
{
	ssize_t n = 1;

	while (!c->broken && n > 0 && stream_room(c->bytes) > 0)
		n = send_frame(c);
	if (n < 0 && stream_is_broken(c->bytes))
		lose(c);
	else if (n < 0)
		fail_by(c, n);
	if (c->held && !c->broken &&
	    nghttp2_session_get_outbound_queue_size(c->session) <= QUEUE_MAX &&
	    c->n_streams <= 2 * LIMIT_H2_STREAMS)
		c->again = true;
	/* Over for nghttp2: a fault of the peer's, or GOAWAY and no stream. */
	if (!c->broken && !nghttp2_session_want_read(c->session) &&
	    !nghttp2_session_want_write(c->session))
		h2_fail(c, c->reason, "connection ended");
}

static void
tell_request(struct h2_conn *c, struct h2_stream *s)
{
	assert(c->is_server);
	c->ops->on_request(c, &s->base, c->arg);
}

/* The owners may do anything from here, h2_close() too. */
static void
tell(struct h2_conn *c)
{
	struct h2_stream *s;

	while ((s = TAILQ_FIRST(&c->news)) != NULL) {
		TAILQ_REMOVE(&c->news, s, tell);
		s->has_news = s->base.news = false;
		bool is_new = s->is_new;
		s->is_new = false;
		/* Of a peer at fault nothing more is heard. */
		if (is_new && (c->closed || c->code != H2_NO_ERROR))
			stream_close(&s->base);
		else if (is_new)
			tell_request(c, s);
		else
			stream_tell(&s->base);
	}
	if (c->has_news && !c->closed) {
		c->has_news = false;
		c->ops->on_news(c, c->arg);
	}
}

static void
finish(struct h2_conn *c)
{
	struct h2_stream *s;

	while ((s = TAILQ_FIRST(&c->streams)) != NULL)
		h2_stream_detach(s);
	event_del(c->kick);
	loop_reap(c->loop, &c->dead);
}

static void
step(struct h2_conn *c)
{
	c->stepping = true;
	for (int i = 0; i < TURNS; i++) {
		c->again = false;
		if (!c->closed) {
			take_input(c);
			settle(c);
			flush(c);
		}
		tell(c);
		if (!c->again)
			break;
	}
	c->stepping = false;
	plan_rest(c);
	if (c->closed)
		finish(c);
	else if (c->again)
		h2_wake(c);
}

static void
on_kick(int fd UNUSED, short what UNUSED, void *arg)
{
	step(arg);
}

static void
on_bytes(struct stream *s UNUSED, void *arg)
{
	struct h2_conn *c = arg;

	if (c->broken) /* for h2_is_over() */
		c->has_news = true;
	step(c);
}

/* --- life ----------------------------------------------------------------- */

static void
reaped(struct loop_item *item)
{
	struct h2_conn *c = (struct h2_conn *)item;

	event_free(c->kick);
	timer_release(&c->limit);
	h2_alive_release(c);
	free(c);
}

static struct h2_conn *
start(struct loop *l, struct stream *bytes, struct h2_conn *c, enum err *err)
{
	if (c == NULL)
		goto fail;
	c->dead = (struct loop_item){ .free = reaped };
	c->loop = l;
	c->bytes = bytes;
	TAILQ_INIT(&c->streams);
	TAILQ_INIT(&c->touched);
	TAILQ_INIT(&c->news);
	c->now_ms = clock_ms();
	budget_init(&c->frames, LIMIT_H2_FRAMES_PER_S, LIMIT_H2_FRAMES_BURST,
	    c->now_ms);
	budget_init(&c->resets, LIMIT_H2_RESETS_PER_S, LIMIT_H2_RESETS_BURST,
	    c->now_ms);
	if (timer_init(&c->limit, l, on_limit, c, err) != 0)
		goto fail;
	c->kick = loop_event(l, -1, 0, on_kick, c);
	if (c->kick == NULL || h2_session_new(c) != 0)
		goto fail_late;
	stream_on(bytes, on_bytes, c);
	h2_wake(c); /* also for what `bytes` holds already */
	return c;
fail_late:
	if (c->kick != NULL)
		event_free(c->kick);
	timer_release(&c->limit);
fail:
	free(c);
	stream_close(bytes);
	*err = ERR_MEMORY;
	return NULL;
}

struct h2_conn *
h2_accept(struct loop *l, struct stream *bytes, const struct h2_conn_ops *ops,
    void *arg, enum err *err)
{
	struct h2_conn *c = calloc(1, sizeof(*c));

	if (c != NULL) {
		c->ops = ops;
		c->arg = arg;
		c->is_server = true;
		c->windows = LIMIT_H2_CLIENT_WINDOWS;
	}
	return start(l, bytes, c, err);
}

struct h2_conn *
h2_connect(struct loop *l, struct stream *bytes, const struct h2_conn_ops *ops,
    void *arg, enum err *err)
{
	struct h2_conn *c = calloc(1, sizeof(*c));

	if (c != NULL) {
		c->ops = ops;
		c->arg = arg;
		c->windows = LIMIT_H2_UPSTREAM_WINDOWS;
	}
	return start(l, bytes, c, err);
}

void
h2_close(struct h2_conn *c)
{
	struct h2_stream *s;

	if (c == NULL || c->closed)
		return;
	h2_fail(c, REASON_ALLOW, "closed");
	c->closed = true;
	/* None has an answer that will come, whatever the reason. */
	TAILQ_FOREACH(s, &c->streams, all)
		s->known = false;
	if (!c->keep_session)
		nghttp2_session_del(c->session);
	c->session = NULL;
	stream_close(c->bytes);
	c->bytes = NULL;
	h2_wake(c);
}
