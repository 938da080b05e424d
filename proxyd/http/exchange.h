/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request and its response: the points where policy looks.
 *
 *  phase   waits for                                    limit   then
 *  HEAD    the request's fields, whole                  head    JUDGE GONE
 *  JUDGE   the verdict, and that it is recorded         refuse  READ REACH REFUSE GONE
 *  READ    what the owner has to read of the body       list    REACH REFUSE GONE
 *  REACH   an upstream connection: pooled, or a dial    dial    ATTACH JUDGE REFUSE GONE
 *  ATTACH  the credential, released by the keeper       release SEND REACH JUDGE REFUSE GONE
 *  SEND    request to upstream; its answer may begin    idle    ANSWER TUNNEL REACH REFUSE GONE
 *  ANSWER  the response's fields and body               idle    DONE GONE
 *  TUNNEL  bytes either way behind an upgrade, unread   idle    DONE GONE
 *  REFUSE  our own answer to leave                      refuse  DONE GONE
 *  DONE    nothing (HTTP/1.1: the next HEAD)            -       -
 *  GONE    nothing: reset or lost; `end` says how       -       -
 *
 * SEND goes back to REACH once: a pooled connection was stale, nothing of the
 * answer came, and the request may be repeated (RFC 9110 9.2.2).  ATTACH goes
 * back to it, and both to JUDGE, when their owner says so: the policy has
 * changed.
 *
 * What differs between HTTP/1.1 and HTTP/2 is a table of functions: the heads,
 * how bodies are framed, and how an exchange ends (exchange_step.h).
 *
 * The exchange knows no policy: its owner answers its questions by the
 * functions below, at once or later, and calls exchange_run() whenever anything
 * happened (news of a stream, an answer, its timer).
 */
#ifndef HTTP_EXCHANGE_H
#define HTTP_EXCHANGE_H

#include "http/exchange_ops.h"
#include "http/refuse.h"
#include "http/way.h"
#include "net/timer.h"
#include "wire/message.h"

enum exchange_phase {
	EXCHANGE_HEAD,
	EXCHANGE_JUDGE,
	EXCHANGE_READ,
	EXCHANGE_REACH,
	EXCHANGE_ATTACH,
	EXCHANGE_SEND,
	EXCHANGE_ANSWER,
	EXCHANGE_TUNNEL,
	EXCHANGE_REFUSE,
	EXCHANGE_DONE,
	EXCHANGE_GONE,
	EXCHANGE_PHASE_COUNT
};

struct exchange_version;

/* On both sides: none is translated into another. */
extern const struct exchange_version exchange_h1, exchange_h2;

/* Credentials: written last into the head, and behind the query. */
struct exchange_slots {
	const struct field *fields, *parameters;
	size_t n_fields, n_parameters;
};

struct exchange {
	const struct exchange_version *version;
	const struct exchange_ops *ops;
	void *arg;		   /* borrowed */
	struct stream *client;	   /* borrowed; lives longer */
	struct stream *upstream;   /* owned; NULL: none */
	struct timer limit;	   /* of the present phase */
	enum exchange_phase phase; /* written by exchange_enter() alone */
	uint64_t number;	   /* on its connection, from 1 */
	const char *flow;	   /* borrowed: id for our own answers */

	struct buf head; /* owned; req points into it */
	struct http_request req;
	struct parse_fail fail;	 /* what went wrong; reason ALLOW: nothing */
	bool is_bad;		 /* the head could not be read */
	const struct host *host; /* set by judge; the name that is sent */
	uint16_t port;		 /* set by judge; 0: not written into Host */
	uint64_t idle_ms;	 /* set by judge, or LIMIT_IDLE_MS */
	struct slice path;	 /* set by judge; canonical, owner's memory */
	struct refusal refusal;	 /* owned */

	struct buf answer_head; /* owned; res points into it */
	struct http_response res;
	struct exchange_slots credentials; /* owner's; empty once sent */
	struct way up, down;		   /* owned; the bodies */

	uint64_t bytes_up, bytes_down; /* put towards each side */
	uint64_t started_ms, moved;    /* by clock_ms(); bytes at last look */
	unsigned status;	       /* given to the client; 0: none */
	unsigned grpc_status;	       /* likewise, of our own; 0: none */
	unsigned n_informational;
	uint64_t drained;      /* of the request, by us */
	uint64_t drain_until;  /* ... by clock_ms(), of one that git reads */
	size_t told;	       /* ... and of refusal.last, put */
	uint32_t origin_error; /* HTTP/2: of the stream that it reset */
	bool had_trailers;     /* the request, which are gone once read */
	bool asked;	       /* the phase's question was put */
	bool answer_yes;       /* ... and answered so */
	bool refused;	       /* exchange_refuse() was called */
	bool expired;	       /* the limit of this phase passed */
	bool is_pooled;	       /* upstream came from the pool */
	bool want_fresh;       /* it must not come from there */
	bool head_sent;	       /* bytes went to this upstream connection */
	bool skip_cookies;     /* set by judge: Set-Cookie is left out */
	bool new_length; /* set by answered: a stage changes how long it is */
	bool upgrade;	 /* set by judge: it asks for a WebSocket */
	bool reads;	 /* set by judge: its owner reads of the body first */
	bool feeds;	 /* by exchange_feed(): its owner makes the body */
	bool has_ended;	 /* REFUSE: all of refusal.last was put */
	bool close;	 /* no other exchange on the client's connection */
	bool was_close;	 /* that, before it failed */
	bool begun;	 /* the first byte of a head was seen */
	bool answering;	 /* bytes of an answer were put to the client */
};

/*
 * `x` is all zero but x->version; `client` lives longer.  0 or -1 with
 * ERR_MEMORY.
 */
MUST_USE int exchange_init(struct exchange *x, struct loop *l,
    struct stream *client, const struct exchange_ops *ops, void *arg,
    enum err *err);
/* Ends it if it goes on (GONE); calls `ended` if that did not happen. */
void exchange_release(struct exchange *x);

/* Do what can be done now; returns the phase. */
enum exchange_phase exchange_run(struct exchange *x);

/* Is x->res what opens the WebSocket that x->req asks for? */
bool exchange_is_switch(const struct exchange *x);

/* True in DONE if another request may come on the client's connection. */
bool exchange_may_continue(const struct exchange *x);

/* --- answers of the owner; exchange_run() must follow ------------------- */

void exchange_allow(struct exchange *x);
/*
 * In REACH or ATTACH, so before anything was sent: ask for another upstream.
 * The limit of REACH goes on if it is there.
 */
void exchange_reach_again(struct exchange *x);
/*
 * In JUDGE, REACH or ATTACH, and nothing of the body was read: from its head on,
 * as if it had just come.  False: it is too late.
 */
MUST_USE bool exchange_judge_again(struct exchange *x);
/* `s` is the exchange's now, ready; pooled: it has been used before. */
void exchange_reached(struct exchange *x, struct stream *s, bool pooled);
/* What `slots` has lives until `sent` or `ended`. */
void exchange_attached(struct exchange *x, const struct exchange_slots *slots);
/*
 * Refuse with x->refusal; x->fail is what the record says.  In any phase before
 * an answer has begun; afterwards the answer is cut.
 */
void exchange_refuse(struct exchange *x, enum reason reason,
    const char *detail);

/* --- the body of the request, for its owner ------------------------------ */

/*
 * The next run of it as it came, but for framing; from READ on, by none but an
 * owner who reads or feeds.  PARSE_MORE: in->n bytes, 0 if none has come.
 * PARSE_DONE: it has ended.  PARSE_BAD: cut, or its framing is wrong.
 */
MUST_USE enum parse exchange_pull(struct exchange *x, struct slice *in,
    struct parse_fail *fail);
/* Drop `n` bytes of that run. */
void exchange_pulled(struct exchange *x, size_t n);

/*
 * The owner makes the body that goes up, see `feed`; before exchange_allow() in
 * READ.  kind: HTTP_BODY_LENGTH with its bytes, or HTTP_BODY_OPEN.
 */
void exchange_feed(struct exchange *x, enum http_body kind, uint64_t length);

const char *exchange_phase_name(enum exchange_phase p);
bool exchange_may_follow(enum exchange_phase from, enum exchange_phase to);

#endif
