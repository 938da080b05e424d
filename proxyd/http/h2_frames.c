/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nghttp2's session and its callbacks, which only record: they note what came,
 * and what a peer may not do.  What is HTTP in a message is not looked at by
 * nghttp2 (it would drop a bad field in silence, or reset without a word) but
 * by wire/h2_head.c.
 *
 * Budgets.  Each connection has two, both refilled at a rate:
 *  resets  RST_STREAM of the peer's, and those that it makes nghttp2 send
 *	    (CVE-2023-44487, CVE-2025-8671); what an owner resets is not counted
 *  frames  whatever costs work and carries nothing: PING, SETTINGS, PRIORITY,
 *	    WINDOW_UPDATE, unknown kinds, DATA without data.  Honest peers send
 *	    some for each frame that they get (gRPC's pings, windows), so what
 *	    we send adds to it.
 * CONTINUATION is counted a head, by nghttp2 (CVE-2024-28182); a list of fields
 * by its decoded size, however small it was (HPACK bombs).
 */
#include <stdlib.h>

#include "http/h2_part.h"

/* What RFC 9113 6.5.2 counts a field beside its name and value. */
#define FIELD_OVERHEAD 32
/* A list that is so many times over the limit is no mistake. */
#define BOMB 4

static int
abuse(struct h2_conn *c, const char *text)
{
	return h2_note_fault(c, H2_ENHANCE_YOUR_CALM, REASON_H2_ABUSE, text);
}

static int
count_frame(struct h2_conn *c)
{
	return budget_take(&c->frames, c->now_ms) ?
	    0 :
	    abuse(c, "too many frames that carry nothing");
}

int
h2_count_reset(struct h2_conn *c)
{
	return budget_take(&c->resets, c->now_ms) ?
	    0 :
	    abuse(c, "too many streams reset");
}

/* --- what comes ----------------------------------------------------------- */

/*
 * RFC 9113 5.1.1: an id may not be below the last one.  nghttp2 passes over all
 * that are, since trailers may come for a stream that it has reset; but of a
 * client that left ids out, this may be one of those.
 */
static bool
is_backwards(const struct h2_conn *c, int32_t id)
{
	return c->is_server && id < c->last_id &&
	    c->n_requests < (uint32_t)(c->last_id + 1) / 2 &&
	    h2_find(c->session, id) == NULL;
}

static int
on_begin_frame(nghttp2_session *session UNUSED, const nghttp2_frame_hd *hd,
    void *arg)
{
	struct h2_conn *c = arg;

	switch (hd->type) {
	case NGHTTP2_HEADERS:
		if (is_backwards(c, hd->stream_id))
			return h2_note_fault(c, H2_PROTOCOL_ERROR,
			    REASON_H2_PROTOCOL, "HEADERS: id below the last");
		return 0;
	case NGHTTP2_RST_STREAM: /* has a budget of its own */
	case NGHTTP2_GOAWAY:
	case NGHTTP2_CONTINUATION: /* likewise */
		return 0;
	case NGHTTP2_DATA:
		if (hd->length != 0 || hd->flags & NGHTTP2_FLAG_END_STREAM)
			return 0;
		break;
	case NGHTTP2_PUSH_PROMISE:
		/* nghttp2 takes those that come before the ACK of our SETTINGS.
		 * But a server has read them before any request that it could
		 * push for (RFC 9113 3.4, 8.4). */
		return h2_note_fault(c, H2_PROTOCOL_ERROR, REASON_H2_PROTOCOL,
		    "PUSH_PROMISE");
	case NGHTTP2_PRIORITY: /* nghttp2 passes over it unread */
		if (hd->stream_id == 0)
			return h2_note_fault(c, H2_PROTOCOL_ERROR,
			    REASON_H2_PROTOCOL, "PRIORITY: stream_id == 0");
		break;
	default:
		break;
	}
	return count_frame(c);
}

/* Unknown kinds are passed over; nghttp2 is asked for them to count them. */
static int
on_unknown_part(nghttp2_session *session UNUSED,
    const nghttp2_frame_hd *hd UNUSED, const uint8_t *p UNUSED, size_t n UNUSED,
    void *arg UNUSED)
{
	return 0;
}

static int
on_unknown(nghttp2_session *session UNUSED, void **payload UNUSED,
    const nghttp2_frame_hd *hd UNUSED, void *arg UNUSED)
{
	return NGHTTP2_ERR_CANCEL;
}

/* The stream is reset; what is left of its head is decoded and dropped. */
static int
no_memory(struct h2_conn *c)
{
	c->in_head = false;
	return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
}

static int
on_begin_headers(nghttp2_session *session, const nghttp2_frame *frame,
    void *arg)
{
	struct h2_conn *c = arg;
	struct h2_stream *s = h2_find(session, frame->hd.stream_id);

	c->in_head = true;
	if (frame->headers.cat == NGHTTP2_HCAT_REQUEST) {
		if (c->peer_left)
			return h2_note_fault(c, H2_PROTOCOL_ERROR,
			    REASON_H2_PROTOCOL, "request behind GOAWAY");
		s = h2_stream_new(c);
		if (s == NULL)
			return no_memory(c);
		s->id = frame->hd.stream_id;
		s->known = s->is_new = true;
		c->n_begun++;
		c->n_requests++;
		c->last_id = s->id;
		(void)nghttp2_session_set_stream_user_data(session, s->id, s);
	}
	if (s == NULL)
		return 0;
	h2_block_free(s->filling);
	s->filled = 0;
	s->filling = h2_block_new();
	return s->filling == NULL ? no_memory(c) : 0;
}

static struct slice
bytes_of(nghttp2_rcbuf *r)
{
	nghttp2_vec v = nghttp2_rcbuf_get_buf(r);

	return slice_of(v.base, v.len);
}

static int
on_header(nghttp2_session *session, const nghttp2_frame *frame,
    nghttp2_rcbuf *name, nghttp2_rcbuf *value, uint8_t flags, void *arg)
{
	struct h2_conn *c = arg;
	struct h2_stream *s = h2_find(session, frame->hd.stream_id);
	struct field f = { .name = bytes_of(name),
		.value = bytes_of(value),
		.never_indexed = (flags & NGHTTP2_NV_FLAG_NO_INDEX) != 0 };

	if (s == NULL || s->filling == NULL)
		return 0;
	s->filled += f.name.n + f.value.n + FIELD_OVERHEAD;
	if (s->filled > BOMB * LIMIT_HEAD_SIZE)
		return abuse(c, "list of fields far over the limit");
	size_t n = f.name.n + f.value.n + H2_FIELD_EXTRA;
	if (s->filled > (s->got_head ? LIMIT_TRAILER_SIZE : LIMIT_HEAD_SIZE) ||
	    c->heads_size + n > LIMIT_H2_HEADS_SIZE)
		s->filling->too_long = true;
	if (s->filling->too_long)
		return 0;
	uint8_t *p = buf_room(&s->filling->fields, n);
	if (p == NULL)
		return no_memory(c);
	struct wr w = wr_of(p, n);
	h2_fields_put(&w, &f);
	buf_added(&s->filling->fields, w.n);
	s->heads_size += w.n;
	c->heads_size += w.n;
	return 0;
}

/* A message that breaks the order of its parts: RFC 9113 8.1. */
static void
reset_peer(struct h2_stream *s, const char *text)
{
	(void)nghttp2_submit_rst_stream(s->c->session, NGHTTP2_FLAG_NONE, s->id,
	    H2_PROTOCOL_ERROR);
	h2_stream_break(s, REASON_H2_PROTOCOL, text);
}

/* A head is whole: an answer's (1xx too), a request's, or trailers. */
static void
head_came(struct h2_stream *s, bool ends)
{
	struct h2_block *b = s->filling;
	struct slice list = buf_slice(&b->fields);

	s->filling = NULL;
	b->ends = ends;
	if (s->got_head && ends && s->trailers == NULL) {
		s->trailers = b;
	} else if (s->got_head || s->n_heads > LIMIT_INFORMATIONAL + 1) {
		h2_block_free(b);
		reset_peer(s,
		    s->got_head ? "trailers that do not end it" :
				  "too many heads");
	} else {
		s->got_head = s->c->is_server || !h2_is_informational(list);
		h2_stream_count(s);
		STAILQ_INSERT_TAIL(&s->heads, b, entry);
		s->n_heads++;
	}
	h2_stream_news(s);
}

static void
end_came(struct h2_stream *s)
{
	s->got_end = true;
	h2_stream_check(s);
	h2_stream_news(s);
}

static int
goaway_came(struct h2_conn *c, const nghttp2_goaway *g)
{
	c->peer_left = c->has_news = true;
	if (g->error_code != H2_NO_ERROR && c->reason == REASON_ALLOW)
		snprintf(c->text, sizeof(c->text), "peer gave up: error %u",
		    (unsigned)g->error_code);
	return 0;
}

static int
on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct h2_conn *c = arg;
	struct h2_stream *s = h2_find(session, frame->hd.stream_id);
	bool ends = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;

	switch (frame->hd.type) {
	case NGHTTP2_HEADERS:
		c->in_head = false;
		if (s != NULL && s->filling != NULL)
			head_came(s, ends);
		if (s != NULL && ends)
			end_came(s);
		return 0;
	case NGHTTP2_DATA:
		if (s != NULL && ends)
			end_came(s);
		/* All of it was padding. */
		return !ends && frame->hd.length != 0 &&
			frame->data.padlen >= frame->hd.length ?
		    count_frame(c) :
		    0;
	case NGHTTP2_RST_STREAM:
		if (s != NULL)
			s->error = frame->rst_stream.error_code;
		return h2_count_reset(c);
	case NGHTTP2_SETTINGS:
		if (!(frame->hd.flags & NGHTTP2_FLAG_ACK))
			c->ready = c->has_news = true;
		return 0;
	case NGHTTP2_PING:
		if (frame->hd.flags & NGHTTP2_FLAG_ACK && c->pinged) {
			c->pinged = false;
			c->ponged = true;
		}
		return 0;
	case NGHTTP2_GOAWAY:
		return goaway_came(c, &frame->goaway);
	default:
		return 0;
	}
}

static int
on_data(nghttp2_session *session, uint8_t flags UNUSED, int32_t id,
    const uint8_t *p, size_t n, void *arg UNUSED)
{
	struct h2_stream *s = h2_find(session, id);

	if (s != NULL && !s->base.closed && !s->base.broken)
		return h2_stream_data(s, slice_of(p, n)) ? 0 :
							   NGHTTP2_ERR_NOMEM;
	/* Nobody will take them; the connection's window is for others too. */
	return nghttp2_session_consume(session, id, n);
}

/* Bad for nghttp2: the stream is reset, or the connection ends. */
static int
on_invalid_frame(nghttp2_session *session, const nghttp2_frame *frame,
    int error UNUSED, void *arg)
{
	struct h2_conn *c = arg;
	struct h2_stream *s = h2_find(session, frame->hd.stream_id);

	c->in_head = false;
	if (s == NULL)
		return 0;
	s->counted = true;
	h2_stream_break(s, REASON_H2_PROTOCOL, "frame out of order");
	return h2_count_reset(c);
}

static int
on_stream_close(nghttp2_session *session, int32_t id, uint32_t code, void *arg)
{
	struct h2_conn *c = arg;
	struct h2_stream *s = h2_find(session, id);
	char text[STREAM_TEXT_SIZE];

	if (s == NULL)
		return 0;
	h2_stream_gone(s);
	if (s->orphan) {
		h2_stream_detach(s);
		return 0;
	}
	s->error = code;
	s->refused = code == H2_REFUSED_STREAM && !s->got_head;
	snprintf(text, sizeof(text), "stream reset: %s",
	    nghttp2_http2_strerror(code));
	h2_stream_break(s,
	    c->is_server ? REASON_CLIENT_ABORT : REASON_UP_RESPONSE, text);
	return 0;
}

/* --- the session ---------------------------------------------------------- */

static void
set_callbacks(nghttp2_session_callbacks *cb)
{
	nghttp2_session_callbacks_set_on_begin_frame_callback(cb,
	    on_begin_frame);
	nghttp2_session_callbacks_set_on_begin_headers_callback(cb,
	    on_begin_headers);
	nghttp2_session_callbacks_set_on_header_callback2(cb, on_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
	nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(cb,
	    on_invalid_frame);
	nghttp2_session_callbacks_set_on_stream_close_callback(cb,
	    on_stream_close);
	nghttp2_session_callbacks_set_before_frame_send_callback(cb,
	    h2_before_send);
	nghttp2_session_callbacks_set_on_frame_send_callback(cb, h2_on_send);
	nghttp2_session_callbacks_set_on_frame_not_send_callback(cb,
	    h2_on_not_sent);
	nghttp2_session_callbacks_set_send_data_callback(cb, h2_send_data);
	nghttp2_session_callbacks_set_on_extension_chunk_recv_callback(cb,
	    on_unknown_part);
	nghttp2_session_callbacks_set_unpack_extension_callback(cb, on_unknown);
}

static void
set_options(const struct h2_conn *c, nghttp2_option *o)
{
	nghttp2_option_set_no_auto_window_update(o, 1);
	nghttp2_option_set_no_http_messaging(o, 1);
	nghttp2_option_set_no_closed_streams(o, 1);
	nghttp2_option_set_max_continuations(o, LIMIT_H2_CONTINUATIONS);
	for (unsigned type = NGHTTP2_CONTINUATION + 1; type <= UINT8_MAX;
	     type++)
		nghttp2_option_set_user_recv_extension_type(o, (uint8_t)type);
	/* What we write may be longer than what we read. */
	nghttp2_option_set_max_send_header_block_length(o, 2 * LIMIT_HEAD_SIZE);
	/* A sandbox is near: on that way a table costs more than its bytes. */
	if (c->is_server)
		nghttp2_option_set_max_deflate_dynamic_table_size(o, 0);
}

int
h2_session_new(struct h2_conn *c)
{
	nghttp2_session_callbacks *callbacks = NULL;
	nghttp2_option *options = NULL;
	nghttp2_mem memory = h2_memory_of(&c->memory);
	int error = NGHTTP2_ERR_NOMEM;

	if (nghttp2_session_callbacks_new(&callbacks) != 0 ||
	    nghttp2_option_new(&options) != 0)
		goto out;
	set_callbacks(callbacks);
	set_options(c, options);
	error = (c->is_server ? nghttp2_session_server_new3 :
				nghttp2_session_client_new3)(&c->session,
	    callbacks, c, options, &memory);
out:
	nghttp2_session_callbacks_del(callbacks);
	nghttp2_option_del(options);
	return error;
}
