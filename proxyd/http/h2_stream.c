/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>

#include "http/h2_part.h"

static struct h2_stream *
of(struct stream *s)
{
	assert(h2_is_stream(s));
	return (struct h2_stream *)s;
}

struct h2_block *
h2_block_new(void)
{
	struct h2_block *b = calloc(1, sizeof(*b));

	if (b != NULL)
		buf_init(&b->fields, H2_WRITE_MAX(LIMIT_HEAD_SIZE));
	return b;
}

void
h2_block_free(struct h2_block *b)
{
	if (b == NULL)
		return;
	if (b->secret)
		buf_wipe(&b->fields);
	else
		buf_release(&b->fields);
	free(b);
}

void
h2_blocks_free(struct h2_blocks *list)
{
	struct h2_block *b;

	while ((b = STAILQ_FIRST(list)) != NULL) {
		STAILQ_REMOVE_HEAD(list, entry);
		h2_block_free(b);
	}
}

/* --- DATA that came ------------------------------------------------------- */

static void
drop_more(struct h2_stream *s)
{
	struct h2_more *m;

	while ((m = TAILQ_FIRST(&s->more)) != NULL) {
		TAILQ_REMOVE(&s->more, m, entry);
		stream_buf_release(&m->buf, false);
		free(m);
	}
	s->n_more = 0;
}

/* The next buffer becomes the stream's own; the end stands behind the last. */
static void
refill(struct h2_stream *s)
{
	struct h2_more *m = TAILQ_FIRST(&s->more);

	if (s->base.in.n == 0 && m != NULL) {
		stream_buf_release(&s->base.in, false);
		s->base.in = m->buf;
		s->n_more -= m->buf.n;
		TAILQ_REMOVE(&s->more, m, entry);
		free(m);
	}
	s->base.ended = s->got_end && TAILQ_EMPTY(&s->more);
}

/* Where more bytes go: the last buffer, if it has room, else a new one. */
static struct stream_buf *
tail(struct h2_stream *s)
{
	struct h2_more *m =
	    TAILQ_EMPTY(&s->more) ? NULL : TAILQ_LAST(&s->more, h2_mores);

	if (m == NULL && s->base.in.n < STREAM_IN_MAX)
		return &s->base.in;
	if (m != NULL && m->buf.n < STREAM_IN_MAX)
		return &m->buf;
	m = calloc(1, sizeof(*m));
	if (m == NULL)
		return NULL;
	TAILQ_INSERT_TAIL(&s->more, m, entry);
	return &m->buf;
}

bool
h2_stream_data(struct h2_stream *s, struct slice data)
{
	s->unread += data.n;
	s->n_data += data.n;
	s->base.n_in += data.n;
	while (data.n != 0) {
		struct stream_buf *b = tail(s);
		if (b == NULL)
			return false;
		struct slice part = slice_first(data, STREAM_IN_MAX - b->n);
		uint8_t *p = stream_buf_tail(b, part.n, STREAM_IN_MAX);
		if (p == NULL)
			return false;
		memcpy(p, part.p, part.n);
		b->n += part.n;
		if (b != &s->base.in)
			s->n_more += part.n;
		data = slice_from(data, part.n);
	}
	h2_stream_check(s);
	h2_stream_news(s);
	return true;
}

/* Two lengths of one message: RFC 9113 8.1.1. */
static void
cut(struct h2_stream *s)
{
	if (s->known && !s->c->broken) {
		(void)nghttp2_submit_rst_stream(s->c->session,
		    NGHTTP2_FLAG_NONE, s->id, H2_PROTOCOL_ERROR);
		h2_wake(s->c);
	}
	s->got_end = false;
	s->base.broken = true;
	stream_fail(&s->base,
	    s->is_request ? REASON_HTTP_FRAMING : REASON_UP_RESPONSE,
	    "DATA differs from the length");
	drop_more(s);
	h2_stream_news(s);
}

void
h2_stream_check(struct h2_stream *s)
{
	if (s->expect != UINT64_MAX && !s->base.broken &&
	    (s->n_data > s->expect || (s->got_end && s->n_data != s->expect)))
		cut(s);
	refill(s);
}

/* --- life ----------------------------------------------------------------- */

static void
stream_touched(struct stream *base)
{
	struct h2_stream *s = of(base);

	refill(s);
	if (s->c == NULL || s->is_touched)
		return;
	s->is_touched = true;
	TAILQ_INSERT_TAIL(&s->c->touched, s, touch);
	h2_wake(s->c);
}

void
h2_stream_count(struct h2_stream *s)
{
	if (!s->told)
		s->c->n_streams++;
	s->told = true;
}

/* Its owner has closed it. */
static void
leave(struct h2_stream *s)
{
	if (s->told && --s->c->n_streams == 0)
		s->c->has_news = true; /* idle */
	s->told = false;
	s->c->heads_size -= s->heads_size;
	s->heads_size = 0;
}

/* No list of the connection's has it any more. */
static void
unlink_stream(struct h2_stream *s)
{
	struct h2_conn *c = s->c;

	if (c == NULL)
		return;
	leave(s);
	TAILQ_REMOVE(&c->streams, s, all);
	if (s->is_touched)
		TAILQ_REMOVE(&c->touched, s, touch);
	if (s->has_news)
		TAILQ_REMOVE(&c->news, s, tell);
	s->is_touched = s->has_news = false;
	s->c = NULL;
}

static void
destroy(struct h2_stream *s)
{
	unlink_stream(s);
	h2_block_free(s->filling);
	h2_block_free(s->trailers);
	h2_block_free(s->put_trailers);
	h2_blocks_free(&s->heads);
	h2_blocks_free(&s->sending);
	drop_more(s);
	free(s);
}

static void
stream_free(struct stream *base)
{
	struct h2_stream *s = of(base);

	/* nghttp2 may have frames of it that point into our lists. */
	if (s->known && s->c != NULL && !s->c->broken)
		s->orphan = true;
	else
		destroy(s);
}

void
h2_stream_gone(struct h2_stream *s)
{
	s->known = false;
	s->c->n_begun--;
	s->c->has_news = true; /* another may be opened */
}

void
h2_stream_detach(struct h2_stream *s)
{
	if (s->orphan)
		destroy(s);
	else
		unlink_stream(s);
}

static const struct stream_ops ops = {
	.free = stream_free,
	.touched = stream_touched,
};

bool
h2_is_stream(const struct stream *s)
{
	return s->ops == &ops;
}

bool
h2_has_news(const struct stream *s)
{
	return ((const struct h2_stream *)s)->has_news;
}

struct h2_conn *
h2_conn_of(const struct stream *s)
{
	struct h2_conn *c = ((const struct h2_stream *)s)->c;

	return c == NULL || c->closed ? NULL : c;
}

struct h2_stream *
h2_stream_new(struct h2_conn *c)
{
	struct h2_stream *s = calloc(1, sizeof(*s));
	enum err err;

	if (s == NULL || stream_init(&s->base, &ops, c->loop, -1, &err) != 0) {
		free(s);
		return NULL;
	}
	s->base.ready = true;
	s->c = c;
	s->is_request = c->is_server;
	s->expect = UINT64_MAX;
	STAILQ_INIT(&s->heads);
	STAILQ_INIT(&s->sending);
	TAILQ_INIT(&s->more);
	/* What the connection's dial and its address were is true of it. */
	s->base.tag = c->bytes->tag;
	memcpy(s->base.peer, c->bytes->peer, sizeof(s->base.peer));
	TAILQ_INSERT_TAIL(&c->streams, s, all);
	return s;
}

void
h2_stream_news(struct h2_stream *s)
{
	/* One whose head never comes whole is not its owner's. */
	if (s->c == NULL || s->has_news || s->base.closed ||
	    (s->is_new && s->n_heads == 0))
		return;
	s->has_news = s->base.news = true;
	TAILQ_INSERT_TAIL(&s->c->news, s, tell);
}

void
h2_stream_break(struct h2_stream *s, enum reason reason, const char *text)
{
	/* Both messages are whole, or nobody has been told of it. */
	if (s->base.broken || (s->got_end && s->base.shut))
		return;
	s->base.broken = true;
	stream_fail(&s->base, reason, text);
	h2_stream_news(s);
	if (s->is_new && !s->has_news)
		stream_close(&s->base);
}

/* What is not whole is reset; an answer may be without its request's end. */
static int
let_go(struct h2_stream *s)
{
	leave(s);
	if (!s->known || (s->got_end && s->base.shut))
		return 0;
	s->counted = true;
	return nghttp2_submit_rst_stream(s->c->session, NGHTTP2_FLAG_NONE,
	    s->id, s->is_request && s->base.shut ? H2_NO_ERROR : H2_CANCEL);
}

bool
h2_stream_settle(struct h2_stream *s)
{
	struct h2_conn *c = s->c;
	size_t held = s->base.closed ? 0 : s->base.in.n + s->n_more;
	int error = 0;

	if (c->broken) {
		if (s->base.closed)
			leave(s);
		return true;
	}
	if (s->unread > held) {
		error = nghttp2_session_consume(c->session, s->id,
		    s->unread - held);
		s->unread = held;
	}
	if (error == 0 && s->base.closed) {
		error = let_go(s);
	} else if (error == 0 && s->known && s->deferred &&
	    (s->base.out.n != 0 || s->base.want_shut)) {
		s->deferred = false;
		error = nghttp2_session_resume_data(c->session, s->id);
	}
	return error != NGHTTP2_ERR_NOMEM;
}

/* --- heads that came ------------------------------------------------------ */

static enum parse
fail_with(struct parse_fail *fail, enum reason reason, const char *detail)
{
	*fail = (struct parse_fail){ reason, detail, 0 };
	return PARSE_BAD;
}

/* Give the list's memory to the reader: what is parsed points into it. */
static struct slice
give(struct h2_block *b, struct buf *head)
{
	size_t max = head->max;

	buf_release(head);
	*head = b->fields;
	head->max = max;
	buf_init(&b->fields, 0);
	h2_block_free(b);
	return buf_slice(head);
}

static struct h2_block *
take_head(struct h2_stream *s)
{
	struct h2_block *b = STAILQ_FIRST(&s->heads);

	if (b != NULL) {
		STAILQ_REMOVE_HEAD(&s->heads, entry);
		s->n_heads--;
	}
	return b;
}

static uint64_t
expected(enum http_body body, uint64_t length)
{
	return body == HTTP_BODY_NONE ? 0 :
	    body == HTTP_BODY_LENGTH  ? length :
					UINT64_MAX;
}

enum parse
h2_read_request(struct stream *base, struct http_request *req, struct buf *head,
    struct parse_fail *fail)
{
	struct h2_stream *s = of(base);
	struct h2_block *b = take_head(s);

	if (b == NULL)
		return fail_with(fail, REASON_INTERNAL, "head was read");
	bool ends = b->ends, too_long = b->too_long;
	struct slice list = give(b, head);
	if (too_long)
		return fail_with(fail, REASON_LIMIT_BYTES, HTTP_HEAD_TOO_LONG);
	enum parse answer = h2_request_take(list, ends, req, fail);
	if (answer == PARSE_DONE) {
		s->expect = expected(req->body, req->length);
		h2_stream_check(s);
	}
	return answer;
}

enum parse
h2_read_response(struct stream *base, struct slice method,
    struct http_response *res, struct buf *head, struct parse_fail *fail)
{
	struct h2_stream *s = of(base);
	struct h2_block *b = take_head(s);

	if (b == NULL)
		return PARSE_MORE;
	bool ends = b->ends, too_long = b->too_long;
	struct slice list = give(b, head);
	if (too_long)
		return fail_with(fail, REASON_UP_RESPONSE, HTTP_HEAD_TOO_LONG);
	enum parse answer = h2_response_take(list, ends, method, res, fail);
	if (answer == PARSE_DONE && res->status >= 200) {
		s->expect = expected(res->body, res->length);
		h2_stream_check(s);
	}
	return answer;
}

enum parse
h2_read_trailers(struct stream *base, struct field_list *fields,
    struct buf *head, struct parse_fail *fail)
{
	struct h2_stream *s = of(base);
	struct h2_block *b = s->trailers;
	enum reason reason =
	    s->is_request ? REASON_HTTP_MALFORMED : REASON_UP_RESPONSE;

	fields->n = 0;
	if (b == NULL)
		return PARSE_DONE;
	s->trailers = NULL;
	bool too_long = b->too_long;
	struct slice list = give(b, head);
	if (too_long)
		return fail_with(fail, reason, HTTP_TRAILERS_TOO_LONG);
	return h2_trailers_take(list, reason, fields, fail);
}

/* --- ends ----------------------------------------------------------------- */

void
h2_reset(struct stream *base, uint32_t code)
{
	struct h2_stream *s = of(base);

	if (s->known && s->c != NULL && !s->c->broken) {
		s->counted = true;
		(void)nghttp2_submit_rst_stream(s->c->session,
		    NGHTTP2_FLAG_NONE, s->id, code);
		h2_wake(s->c);
	}
	base->broken = true;
	stream_fail(base, REASON_INTERNAL, "reset by us");
}

uint32_t
h2_error(const struct stream *s)
{
	return ((const struct h2_stream *)s)->error;
}

bool
h2_was_refused(const struct stream *s)
{
	return ((const struct h2_stream *)s)->refused;
}
