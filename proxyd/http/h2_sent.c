/* SPDX-License-Identifier: Apache-2.0 */
/* nghttp2's callbacks for what leaves; they only record, see h2_frames.c. */
#include "http/h2_part.h"

/* Frames of a peer that one of ours may cause: pings, and windows, which some
 * open again with each few KiB. */
#define EARNED 3
#define EARNED_BYTES 1024 /* of DATA, for one more */
#define CRUMB 256	  /* bytes of DATA, where more waits */

static bool
is_head_of_ours(const nghttp2_frame *frame, const struct h2_stream *s)
{
	return frame->hd.type == NGHTTP2_HEADERS && s != NULL &&
	    !STAILQ_EMPTY(&s->sending);
}

int
h2_before_send(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct h2_conn *c = arg;
	struct h2_stream *s = h2_find(session, frame->hd.stream_id);

	/* For the whole frame, with its CONTINUATIONs. */
	c->secret =
	    is_head_of_ours(frame, s) && STAILQ_FIRST(&s->sending)->secret;
	return 0;
}

static void
head_left(struct h2_stream *s)
{
	struct h2_block *b = STAILQ_FIRST(&s->sending);

	STAILQ_REMOVE_HEAD(&s->sending, entry);
	h2_block_free(b);
}

/* nghttp2 ends the connection for a fault of the peer's, and says which. */
static void
goaway_left(struct h2_conn *c, const nghttp2_goaway *g)
{
	char text[STREAM_TEXT_SIZE];

	if (g->opaque_data_len != 0)
		snprintf(text, sizeof(text), "%.*s", (int)g->opaque_data_len,
		    (const char *)g->opaque_data);
	else
		snprintf(text, sizeof(text), "%s",
		    nghttp2_http2_strerror(g->error_code));
	(void)h2_note_fault(c, g->error_code,
	    g->error_code == H2_ENHANCE_YOUR_CALM ? REASON_H2_ABUSE :
						    REASON_H2_PROTOCOL,
	    text);
}

int
h2_on_send(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct h2_conn *c = arg;
	struct h2_stream *s = h2_find(session, frame->hd.stream_id);
	bool is_head = frame->hd.type == NGHTTP2_HEADERS;

	if (is_head_of_ours(frame, s))
		head_left(s);
	if (is_head || frame->hd.type == NGHTTP2_DATA) {
		/* Crumbs that a tiny window lets through earn nothing. */
		if (s == NULL || s->base.out.n == 0 ||
		    frame->hd.length >= CRUMB)
			budget_return(&c->frames,
			    EARNED + frame->hd.length / EARNED_BYTES);
		if (s != NULL && frame->hd.flags & NGHTTP2_FLAG_END_STREAM)
			s->base.shut = true;
		if (s != NULL)
			h2_stream_news(s);
		return 0;
	}
	if (frame->hd.type == NGHTTP2_RST_STREAM)
		return s != NULL && s->counted ? 0 : h2_count_reset(c);
	if (frame->hd.type != NGHTTP2_GOAWAY ||
	    frame->goaway.error_code == H2_NO_ERROR)
		return 0;
	c->sent_goaway = true;
	goaway_left(c, &frame->goaway);
	return 0;
}

int
h2_on_not_sent(nghttp2_session *session, const nghttp2_frame *frame, int error,
    void *arg)
{
	struct h2_conn *c = arg;
	struct h2_stream *s = h2_find(session, frame->hd.stream_id);

	/* A request that must not begin has no stream of nghttp2's yet. */
	if (s == NULL && frame->hd.type == NGHTTP2_HEADERS && !c->is_server)
		TAILQ_FOREACH(s, &c->streams, all)
			if (s->id == frame->hd.stream_id)
				break;
	if (!is_head_of_ours(frame, s))
		return 0;
	head_left(s);
	/* on_stream_close follows. */
	if (frame->headers.cat == NGHTTP2_HCAT_REQUEST && !s->orphan) {
		s->refused = error == NGHTTP2_ERR_START_STREAM_NOT_ALLOWED;
		h2_stream_break(s, REASON_UP_RESPONSE,
		    "no more requests on this connection");
	}
	return 0;
}
