/* SPDX-License-Identifier: Apache-2.0 */
#include "http/h1.h"

/*
 * The length of the head at the front of `in`, its empty line too; 0 if it has
 * no end yet.  Looks at nothing before `seen` again.
 */
static size_t
head_length(struct slice in, size_t seen)
{
	size_t at = seen;

	while (at < in.n) {
		const uint8_t *lf = memchr(in.p + at, '\n', in.n - at);
		if (lf == NULL)
			return 0;
		at = (size_t)(lf - in.p) + 1;
		if (at >= 4 && memcmp(lf - 3, "\r\n\r", 3) == 0)
			return at;
	}
	return 0;
}

/*
 * Copy a whole head off the stream, so that it stays when the stream's buffer
 * moves: the request is needed until its record is written.
 */
static bool
keep_head(struct stream *s, size_t n, struct buf *head, struct parse_fail *fail)
{
	buf_clear(head);
	if (!buf_put(head, slice_first(stream_peek(s), n))) {
		*fail = (struct parse_fail){ REASON_INTERNAL,
			"no memory for a head", 0 };
		return false;
	}
	stream_take(s, n);
	return true;
}

/* What the parser of a part answers, for a stream that will give no more. */
static enum parse
more(const struct stream *s, struct parse_fail *fail)
{
	if (!stream_is_full(s))
		return PARSE_MORE;
	*fail = (struct parse_fail){ REASON_LIMIT_BYTES, HTTP_HEAD_TOO_LONG,
		STREAM_IN_MAX };
	return PARSE_BAD;
}

enum parse
h1_read_request(struct stream *s, struct http_request *req, struct buf *head,
    struct parse_fail *fail)
{
	struct slice in = stream_peek(s);
	size_t n = head_length(in, req->scan.seen);
	size_t used = 0;

	if (n == 0 || n > LIMIT_HEAD_SIZE) {
		enum parse part =
		    h1_request_take(in, &h1_limits, req, &used, fail);
		return part == PARSE_BAD ? PARSE_BAD : more(s, fail);
	}
	if (!keep_head(s, n, head, fail))
		return PARSE_BAD;
	/* It is whole: where it might end was looked for already. */
	req->scan = (struct http_scan){ .seen = n };
	enum parse whole =
	    h1_request_take(buf_slice(head), &h1_limits, req, &used, fail);
	if (whole == PARSE_DONE && used == n)
		return PARSE_DONE;
	if (whole != PARSE_BAD)
		*fail = (struct parse_fail){ REASON_HTTP_MALFORMED,
			"empty line inside a head", used };
	return PARSE_BAD;
}

bool
h1_read_again(struct http_request *req, const struct buf *head)
{
	struct parse_fail fail;
	size_t used = 0;

	*req = (struct http_request){ .scan = { .seen = head->n } };
	return h1_request_take(buf_slice(head), &h1_limits, req, &used,
		   &fail) == PARSE_DONE &&
	    used == head->n;
}

enum parse
h1_read_response(struct stream *s, struct slice method,
    struct http_response *res, struct buf *head, struct parse_fail *fail)
{
	struct slice in = stream_peek(s);
	size_t n = head_length(in, res->scan.seen);
	size_t used = 0;

	if (n == 0 || n > LIMIT_HEAD_SIZE) {
		enum parse part =
		    h1_response_take(in, &h1_limits, method, res, &used, fail);
		if (part != PARSE_BAD)
			part = more(s, fail);
		if (part == PARSE_BAD)
			fail->reason = REASON_UP_RESPONSE;
		return part;
	}
	if (!keep_head(s, n, head, fail))
		return PARSE_BAD;
	res->scan = (struct http_scan){ .seen = n };
	enum parse whole = h1_response_take(buf_slice(head), &h1_limits, method,
	    res, &used, fail);
	if (whole == PARSE_DONE && used == n)
		return PARSE_DONE;
	if (whole != PARSE_BAD)
		*fail = (struct parse_fail){ REASON_UP_RESPONSE,
			"empty line inside a head", used };
	return PARSE_BAD;
}

/* Frame `data` anew; the stream has room for it (see http/stage.h). */
static bool
put_data(const struct way *w, struct stream *to, struct slice data)
{
	uint8_t line[H1_CHUNK_HEAD_MAX];

	if (data.n == 0)
		return true;
	if (w->out != HTTP_BODY_OPEN)
		return stream_put(to, data);
	return stream_put(to,
		   slice_of(line, h1_body_put_chunk(data.n, line))) &&
	    stream_put(to, data) && stream_put(to, SLICE(H1_CHUNK_END));
}

static bool
put_trailers(struct stream *to, const struct field_list *fields)
{
	uint8_t text[H1_TRAILERS_ROOM(LIMIT_TRAILER_SIZE)];
	struct wr end = wr_of(text, sizeof(text));

	h1_body_put_end(&end, fields);
	return !end.bad && stream_put(to, wr_slice(&end));
}

bool
h1_way_put_end(struct way *w, struct stream *to,
    const struct field_list *fields)
{
	w->done = true;
	if (w->out != HTTP_BODY_OPEN)
		return true;
	return fields == NULL ? stream_put(to, SLICE(H1_LAST_CHUNK)) :
				put_trailers(to, fields);
}

/* What of the trailers came with this piece of the body. */
static bool
keep_trailers(struct way *w, struct parse_fail *fail)
{
	if (w->in.section.n == 0 || buf_put(&w->trailers, w->in.section))
		return true;
	*fail =
	    (struct parse_fail){ REASON_INTERNAL, "no memory for trailers", 0 };
	return false;
}

bool
h1_way_put(struct way *w, struct stream *to, struct slice data, bool last)
{
	return put_data(w, to, data) && (!last || h1_way_put_end(w, to, NULL));
}

/* One run of data through the stages.  `last`: it is the end. */
static enum parse
carry(struct way *w, struct stream *to, struct slice data, bool last,
    struct parse_fail *fail)
{
	if (!way_pass(w, &data, last, fail))
		return PARSE_BAD;
	if (!put_data(w, to, data)) {
		/* A side that is lost is seen as such by the caller. */
		*fail = (struct parse_fail){ REASON_INTERNAL,
			"body does not fit", 0 };
		return PARSE_BAD;
	}
	return last ? PARSE_DONE : PARSE_MORE;
}

enum parse
h1_way_move(struct way *w, struct stream *from, struct stream *to,
    struct parse_fail *fail)
{
	while (!w->done) {
		struct slice in =
		    slice_first(stream_peek(from), way_portion(w, to));
		struct slice data = { 0 };
		size_t used = 0;

		if (in.n == 0 && stream_room(to) == 0)
			return PARSE_MORE;
		if (in.n == 0 && stream_is_eof(from) && h1_body_may_end(&w->in))
			return carry(w, to, data, true, fail);
		if (in.n == 0 && stream_is_eof(from))
			return way_cut(w, "ended inside a body", fail);
		if (in.n == 0 && stream_is_broken(from))
			return way_cut(w, "lost inside a body", fail);
		if (in.n == 0)
			return PARSE_MORE;
		enum parse p = h1_body_take(&w->in, in, &data, &used, fail);
		if (p == PARSE_BAD)
			return PARSE_BAD;
		if (!keep_trailers(w, fail))
			return PARSE_BAD;
		p = carry(w, to, data, p == PARSE_DONE, fail);
		stream_take(from, used);
		if (p != PARSE_MORE)
			return p;
		if (used == 0)
			return PARSE_MORE;
	}
	return PARSE_DONE;
}

/* Nothing lies there of it. */
static enum parse
pull_end(const struct way *w, const struct stream *from,
    struct parse_fail *fail)
{
	if (stream_is_eof(from) && h1_body_may_end(&w->in))
		return PARSE_DONE;
	if (stream_is_eof(from))
		return way_cut(w, "ended inside a body", fail);
	return stream_is_broken(from) ? way_cut(w, "lost inside a body", fail) :
					PARSE_MORE;
}

enum parse
h1_way_pull(struct way *w, struct stream *from, struct slice *in,
    struct parse_fail *fail)
{
	enum parse p = PARSE_MORE;

	*in = (struct slice){ 0 };
	while (w->run == 0) {
		struct slice peek = stream_peek(from), data = { 0 };
		size_t used = 0;

		if (w->in.kind != HTTP_BODY_UNTIL_CLOSE &&
		    h1_body_may_end(&w->in))
			return PARSE_DONE;
		if (peek.n == 0)
			return pull_end(w, from, fail);
		p = h1_body_take(&w->in, peek, &data, &used, fail);
		if (p == PARSE_BAD)
			return PARSE_BAD;
		/* The data ends what was used: framing stands before it. */
		stream_take(from, used - data.n);
		w->run = data.n;
	}
	*in = slice_first(stream_peek(from), w->run);
	return PARSE_MORE;
}
