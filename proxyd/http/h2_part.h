/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parts of an HTTP/2 connection that its files share; for http/h2*.c alone.
 *
 * One step (h2.c) does all that can be done now: input to nghttp2, whose
 * callbacks (h2_frames.c) record; what owners did to streams (h2_stream.c);
 * frames to `bytes`; then the owners are told.
 */
#ifndef HTTP_H2_PART_H
#define HTTP_H2_PART_H

#include <sys/queue.h>

#include <stddef.h>

#include <nghttp2/nghttp2.h>

#include "base/budget.h"
#include "http/h2_stream.h"
#include "net/timer.h"

/* A list of fields (wire/h2_head.h), read or to be written. */
struct h2_block {
	STAILQ_ENTRY(h2_block) entry;
	struct buf fields; /* owned */
	bool ends;	   /* END_STREAM is with it */
	bool too_long;	   /* it was over the limit; what is kept is not all */
	bool secret;	   /* a credential is in it */
};
STAILQ_HEAD(h2_blocks, h2_block);

/* DATA behind a full in-buffer: at most what the window lets come. */
struct h2_more {
	TAILQ_ENTRY(h2_more) entry;
	struct stream_buf buf; /* owned */
};
TAILQ_HEAD(h2_mores, h2_more);

struct h2_stream {
	struct stream base;	      /* first */
	struct h2_conn *c;	      /* borrowed; NULL: closed */
	TAILQ_ENTRY(h2_stream) all;   /* on c->streams while c is there */
	TAILQ_ENTRY(h2_stream) touch; /* on c->touched if is_touched */
	TAILQ_ENTRY(h2_stream) tell;  /* on c->news if has_news */
	int32_t id;		      /* 0: no request was put yet */
	bool is_touched, has_news;
	bool is_request; /* a client's; else one of ours to an upstream */
	bool told;	 /* it counts in c->n_streams */
	bool orphan;	 /* ... and the reaper came: goes with nghttp2's own */
	bool is_new;	 /* its owner does not know of it yet */
	bool known;	 /* nghttp2 has it */
	bool got_end;	 /* END_STREAM of the peer has come */
	bool got_head;	 /* the last head before the body has */
	bool put_head;	 /* ours, that is no 1xx, was put */
	bool deferred;	 /* nghttp2 waits for resume_data */
	bool refused;	 /* see h2_was_refused() */
	bool counted;	/* its RST_STREAM has a budget's token, or needs none */
	uint32_t error; /* of the peer's RST_STREAM */
	struct h2_block *filling; /* owned; the head that is coming */
	size_t filled;		  /* its decoded bytes, 32 more a field */
	size_t heads_size;	  /* bytes of all that came, of:  */
	struct h2_blocks heads;	  /* owned; whole, not read yet */
	unsigned n_heads;
	struct h2_block *trailers;     /* owned; NULL: none came */
	struct h2_blocks sending;      /* owned; until their frame is sent */
	struct h2_block *put_trailers; /* owned; when all bytes have left */
	struct h2_mores more;	       /* owned */
	size_t n_more;		       /* bytes in those */
	size_t unread;	 /* bytes whose windows were not opened again */
	uint64_t n_data; /* bytes of DATA that came */
	uint64_t expect; /* as its head says; UINT64_MAX: not, or not read */
};
TAILQ_HEAD(h2_streams, h2_stream);

/* A block of nghttp2's that is mapped; p NULL: none. */
struct h2_large {
	void *p;
	size_t n;
	bool is_table; /* taken as zeros: what is not zero counts */
};

#define H2_LARGE_MAX 4 /* of a session; more are taken from malloc() */

struct h2_memory {
	struct h2_large large[H2_LARGE_MAX];
};

struct h2_conn {
	struct loop_item dead;	  /* first: freed by the reaper */
	struct loop *loop;	  /* borrowed */
	struct stream *bytes;	  /* owned; NULL: closed */
	nghttp2_session *session; /* owned; NULL: closed */
	struct h2_memory memory;  /* the session's */
	struct timer limit;	  /* of a head that comes; else of rest */
	struct event *kick;	  /* owned; a step soon */
	struct h2_alive *alive;	  /* owned; NULL: no stream was ever open */
	const struct h2_conn_ops *ops;
	void *arg;
	struct h2_streams streams, touched, news;
	unsigned n_streams;  /* that their owners have not closed */
	unsigned n_begun;    /* streams that nghttp2 has */
	uint32_t n_requests; /* of a client's, ever; the id of the last: */
	int32_t last_id;
	int32_t windows; /* DATA that may come unread, over all streams */
	bool is_server;
	bool offer_connect;
	bool in_head;		 /* one has begun that is not whole */
	bool head_is_timed;	 /* `limit` is that head's */
	bool rested;		 /* since then nothing was carried */
	bool begun;		 /* our SETTINGS were submitted */
	bool ready;		 /* the peer's came */
	bool stepping, again;	 /* the step's own */
	bool has_news;		 /* on_news is due */
	bool peer_left, we_left; /* GOAWAY came; h2_shut() was called */
	bool pinged, ponged;	 /* the PING behind its first step; its ACK */
	bool sent_goaway;	 /* one with an error, by nghttp2 or by us */
	bool secret;		 /* the frame that is sent now has one */
	bool held;		 /* input waits for frames of ours to leave */
	bool keep_session;	 /* it is not in a state to be freed */
	bool broken, closed;
	enum h2_code code; /* for our GOAWAY; of a fault found by a callback */
	enum reason reason;
	char text[STREAM_TEXT_SIZE];
	size_t heads_size; /* bytes of heads, read or not, of open streams */
	struct budget frames, resets;
	uint64_t now_ms;
};

/* The stream of that id, as long as nghttp2 has it; else NULL. */
static inline struct h2_stream *
h2_find(nghttp2_session *session, int32_t id)
{
	return nghttp2_session_get_stream_user_data(session, id);
}

/* A step is due. */
void h2_wake(struct h2_conn *c);

/* The connection cannot go on.  GOAWAY with c->code, if none has left. */
void h2_fail(struct h2_conn *c, enum reason reason, const char *text);

/* Found by a callback: what h2_fail() will be called with. */
int h2_note_fault(struct h2_conn *c, enum h2_code code, enum reason reason,
    const char *text);

/* --- h2_frames.c --------------------------------------------------------- */

MUST_USE int h2_session_new(struct h2_conn *c);
/* Take a token for a stream that is reset; what a callback is to return. */
int h2_count_reset(struct h2_conn *c);

/* --- h2_memory.c --------------------------------------------------------- */

/* Copied by nghttp2; `m`, zeros at first, lives as long as the session. */
nghttp2_mem h2_memory_of(struct h2_memory *m);
/* No stream is there and nothing is to be sent: give back what that leaves. */
void h2_memory_rest(struct h2_memory *m);

/* --- h2_sent.c ----------------------------------------------------------- */

int h2_before_send(nghttp2_session *session, const nghttp2_frame *frame,
    void *arg);
int h2_on_send(nghttp2_session *session, const nghttp2_frame *frame, void *arg);
int h2_on_not_sent(nghttp2_session *session, const nghttp2_frame *frame,
    int error, void *arg);

/* --- h2_stream.c --------------------------------------------------------- */

/* A new one, on c->streams.  NULL: no memory. */
struct h2_stream *h2_stream_new(struct h2_conn *c);
void h2_stream_count(struct h2_stream *s); /* it has, or will have, an owner */
void h2_stream_news(struct h2_stream *s);  /* who is to be told */
/* Nothing comes or goes any more; unless both ends were there already. */
void h2_stream_break(struct h2_stream *s, enum reason reason, const char *text);
/* DATA that came.  False: no memory. */
MUST_USE bool h2_stream_data(struct h2_stream *s, struct slice data);
/* END_STREAM came, or the length is known now: do they fit? */
void h2_stream_check(struct h2_stream *s);
/* Do what its owner's calls ask for; false: nghttp2 has no memory. */
MUST_USE bool h2_stream_settle(struct h2_stream *s);
/* nghttp2 has it no more, after which nothing may point to an orphan. */
void h2_stream_gone(struct h2_stream *s);
/* Its connection is gone. */
void h2_stream_detach(struct h2_stream *s);

struct h2_block *h2_block_new(void);
void h2_block_free(struct h2_block *b);
void h2_blocks_free(struct h2_blocks *list);

/* --- h2_put.c ------------------------------------------------------------ */

/* Submit our SETTINGS and the window of the connection; 0 or nghttp2's error. */
int h2_submit_settings(struct h2_conn *c);
/* DATA of a stream, for nghttp2. */
nghttp2_data_provider h2_data_of(struct h2_stream *s);
/* The DATA frame that h2_data_of() promised. */
int h2_send_data(nghttp2_session *session, nghttp2_frame *frame,
    const uint8_t *head, size_t n, nghttp2_data_source *source, void *arg);

#endif
