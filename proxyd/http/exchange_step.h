/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of an exchange, one a phase; for http/exchange*.c alone. */
#ifndef HTTP_EXCHANGE_STEP_H
#define HTTP_EXCHANGE_STEP_H

#include "http/exchange.h"

enum exchange_step {
	EXCHANGE_WAIT,	/* nothing to do before the next news */
	EXCHANGE_AGAIN, /* the phase changed: do the new one now */
};

/* What differs by version: exchange_h1.c, exchange_h2.c. */
struct exchange_version {
	bool has_end;  /* a body's end is said beside its length */
	bool has_head; /* the head is there when the exchange begins */

	/* HEAD: the request's head off x->client, into x->req and x->head. */
	enum parse (*read_request)(struct exchange *x, struct parse_fail *fail);
	/* The same once more, out of x->head: what was done to x->req is gone.
	 * False: it cannot be read. */
	bool (*read_again)(struct exchange *x);
	/* SEND: it was not put yet.  False: it does not fit. */
	bool (*put_request)(struct exchange *x, struct http_new_request *r);
	/* A head off x->upstream, into x->res and x->answer_head. */
	enum parse (
	    *read_response)(struct exchange *x, struct parse_fail *fail);
	/* x->res to the client.  False: it does not fit, or nobody is there. */
	bool (*put_response)(struct exchange *x, struct http_new_response *r);
	/* Move what can be moved of a body; as h1_way_move(). */
	enum parse (*move)(struct way *w, struct stream *from,
	    struct stream *to, struct parse_fail *fail);
	/* Put the end of the request's (`up`) or the answer's body, with its
	 * trailers.  PARSE_DONE, or PARSE_BAD with *fail set. */
	enum parse (
	    *put_end)(struct exchange *x, bool up, struct parse_fail *fail);
	/* The next run of the request's body, for its owner; as h1_way_pull(). */
	enum parse (*pull)(struct exchange *x, struct slice *in,
	    struct parse_fail *fail);
	/* Put bytes that are the owner's; as h1_way_put(). */
	bool (*put)(struct way *w, struct stream *to, struct slice data,
	    bool last);
	/* x->client is broken: GONE, with the reason. */
	enum exchange_step (*client_lost)(struct exchange *x);
	/* Upstream was lost before an answer, and will not be asked again. */
	enum exchange_step (
	    *upstream_lost)(struct exchange *x, const char *detail);
	/* Upstream was lost: may it be asked again, on a fresh connection?
	 * Nothing of a body or of an answer has come. */
	bool (*may_repeat)(const struct exchange *x);
	/* ANSWER: the answer was put to its end; DONE, or what it waits for. */
	enum exchange_step (*finish)(struct exchange *x);
	/* REFUSE: x->refusal to the client, who is there. */
	enum exchange_step (*refuse)(struct exchange *x);
	/* GONE: what is not whole must not look so; upstream may be there. */
	void (*cut)(struct exchange *x);
};

/*
 * Is there room for a head behind what the client has not taken yet?  Answers
 * without a body, and 1xx, would else pile up behind a client that reads late.
 */
bool exchange_head_fits(const struct exchange *x);

/* RFC 9110 9.2.2: a method of which another try does no harm. */
bool exchange_is_idempotent(const struct exchange *x);

/* May these trailers be passed on?  As exchange_ops.trailers, and counted. */
bool exchange_pass_trailers(struct exchange *x, bool up,
    const struct field_list *fields, struct buf *head, struct parse_fail *fail);

/* Every byte of either side sets the idle limit anew. */
void exchange_note_progress(struct exchange *x);

/* Write the answer's head (or a 1xx) to the client. */
bool exchange_relay_head(struct exchange *x);

/* x->res opens what x->req asks for: TUNNEL, if it can be verified. */
enum exchange_step exchange_switch(struct exchange *x);
/*
 * It does not: the exchange goes on as any other, but as the last.  False: it
 * succeeds as another request, which no rule has allowed.
 */
bool exchange_stay(struct exchange *x);

/* The only writer of x->phase; arms the phase's limit. */
enum exchange_step exchange_enter(struct exchange *x, enum exchange_phase to);

/* GONE, with what the record is to say. */
enum exchange_step exchange_lose(struct exchange *x, enum reason reason,
    const char *detail);

/* REFUSE, or GONE if an answer has begun; x->refusal.reason is set to it. */
enum exchange_step exchange_fail(struct exchange *x, enum reason reason,
    const char *detail);

/* Drop the upstream connection; `reset` where a message was cut. */
void exchange_drop_upstream(struct exchange *x, bool reset);

/* What the owner makes of the body, instead of move_up(): exchange_own.c. */
MUST_USE enum parse exchange_move_own(struct exchange *x,
    struct parse_fail *fail);
/* REFUSE with an answer that git reads to its end. */
enum exchange_step exchange_refuse_git(struct exchange *x);

enum exchange_step exchange_step_head(struct exchange *x);
enum exchange_step exchange_step_judge(struct exchange *x);
enum exchange_step exchange_step_read(struct exchange *x);
enum exchange_step exchange_step_reach(struct exchange *x);
enum exchange_step exchange_step_attach(struct exchange *x);
enum exchange_step exchange_step_send(struct exchange *x);
enum exchange_step exchange_step_answer(struct exchange *x);
enum exchange_step exchange_step_tunnel(struct exchange *x);
enum exchange_step exchange_step_refuse(struct exchange *x);

#endif
