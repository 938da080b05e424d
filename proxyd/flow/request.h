/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One request of a flow: what http/exchange.h asks, answered from policy, the
 * dialer and the keeper.
 */
#ifndef FLOW_REQUEST_H
#define FLOW_REQUEST_H

#include "cred/attach.h"
#include "cred/search.h"
#include "flow/flow.h"
#include "flow/git_probe.h"
#include "http/exchange.h"
#include "http/pool.h"
#include "wire/gitpath.h"

/* A refusal: what an origin chooses by ALPN is not what it chose before. */
#define REACH_OTHER_VERSION                                       \
	"the origin speaks another version of HTTP than before; " \
	"a new connection will be given that one"

struct request {
	LIST_ENTRY(request) entry; /* on flow->requests until freed */
	struct flow *flow;	   /* borrowed; lives longer */
	struct exchange x;
	struct generation *generation; /* shared; what it was judged by */
	/* Shared; what judged it again and allows it, too (flow/reload.h), and so
	 * what is asked by; NULL: that was the last. */
	struct generation *latest;
	struct verdict now; /* of that */
	struct facts facts;
	struct verdict verdict;
	struct host host; /* of the Host field; n 0: none */
	uint8_t *path;	  /* owned; facts.path and x.path point into it */
	struct gitpath
	    git; /* service NONE if no rule of git+https speaks of it */
	struct git_probe probe; /* of a fetch that may be one */
	uint8_t *git_path;	/* owned; x.path where such a rule allows it */
	uint8_t *query;		/* owned; what is left of it; NULL: all */
	char detail[STREAM_TEXT_SIZE];	/* x.fail.detail, when not ours */
	char address[STREAM_PEER_SIZE]; /* of the upstream */

	struct asked *asked;	     /* NULL: nothing */
	struct again retry;	     /* it is asked again */
	struct stream *reaching;     /* owned: TLS to the upstream goes on */
	struct link *link;	     /* HTTP/2: waits for it; NULL: for none */
	TAILQ_ENTRY(request) wait;   /* ... in its queue */
	uint64_t link_number;	     /* ... of the link that it had last */
	uint64_t cookie;	     /* of the dial's socket */
	struct attach attach;	     /* owned; wiped when sent */
	struct search *forms;	     /* owned: of those secrets; NULL: none */
	struct search *forms_before; /* owned: of the first try */
	struct spend spend;	     /* of the limits of its rule */
	struct pushing *pushing;     /* owned; NULL: it is no push */
	struct git_lfs *lfs;	     /* owned; NULL: it is no batch of LFS */

	uint64_t n_masked; /* hits in the answer */
	bool body_placeholder;
	bool has_watcher;   /* for placeholders in the body */
	bool judged;	    /* `verdict` is there */
	bool begun;	    /* request.begin was sent ... */
	bool is_recorded;   /* ... and is in the log, as all that was sent */
	bool is_otherwise;  /* `latest` would treat it in another way */
	bool is_again;	    /* another try waits for a request.begin */
	bool is_released;   /* one was asked for since the last request.begin */
	bool record_failed; /* ... or never will be */
	bool ended;	    /* request.end was sent */
	bool counted;	    /* among the sandbox's n_upstreams */
	bool news;	    /* something changed since it ran last */
	bool is_free;	    /* request_free() was called */
	unsigned n_records; /* confirmations still to come */
};

/*
 * On the flow's list.  `client` is the flow's, or a stream of HTTP/2 that is the
 * request's own, closed on failure too.  NULL: no memory.
 */
MUST_USE struct request *request_new(struct flow *f, struct stream *client);
/* Its memory stays while confirmations of records are to come. */
void request_free(struct request *r);

/* Its origin takes it over HTTP/1.1 alone: so for the next connection. */
void request_choose_http11(struct request *r);

/* No other request on its client's connection, where that is in our hand. */
void request_drain(struct request *r);

/* Something of it happened: flow_run(). */
void request_wake(struct request *r);
/* For record.c: what was sent before it goes on was written, or was not. */
void request_on_written(bool written, void *arg);

/* Do what can be done now; true: it is over. */
bool request_run(struct request *r);

/* No byte of it has come. */
bool request_is_idle(const struct request *r);

/* Behind the end: may another one come; was an answer cut; is nobody there. */
bool request_may_continue(const struct request *r);
bool request_was_cut(const struct request *r);
bool request_is_lost(const struct request *r);

/* What is wrong with it before it is judged; the first such thing counts. */
void request_fault(struct request *r, enum reason reason, const char *detail);

/* Fail it with a text that is copied. */
void request_fail(struct request *r, enum reason reason, struct slice detail);

/* Count its body as it goes up, where a limit wants that.  False: no memory. */
MUST_USE bool request_count_body(struct request *r);

/* The program that other roles are asked by for it, and its rule there. */
static inline const struct generation *
request_by(const struct request *r)
{
	return r->latest != NULL ? r->latest : r->generation;
}

static inline uint32_t
request_rule(const struct request *r)
{
	return r->latest != NULL ? r->now.rule : r->verdict.rule;
}

/* Nothing of it was sent or read: judge it anew, from its head on, as if it had
 * just come.  False: it is too late. */
MUST_USE bool request_judge_again(struct request *r);
/* Nothing of it was sent: forget the upstream that it has or waits for, and ask
 * for one again; else nothing. */
void request_reach_again(struct request *r);
/* The same a little later, if it was not tried too often. */
MUST_USE bool request_ask_again(struct request *r);

/* --- the exchange's questions; for request.c alone ----------------------- */

void request_judge(struct exchange *x, void *arg);
void request_reach(struct exchange *x, void *arg);
void request_attach(struct exchange *x, void *arg);
void request_sent(struct exchange *x, void *arg);
bool request_answered(struct exchange *x, void *arg);
void request_refusing(struct exchange *x, void *arg);
/* What was asked for, into its refusal; once is enough. */
void request_put_what(struct request *r);
bool request_trailers(struct exchange *x, bool up,
    const struct field_list *fields, struct buf *head, struct parse_fail *fail);
void request_keep(struct exchange *x, struct stream *s, void *arg);

struct pool_key request_pool_key(const struct request *r);
/* What the dialer is asked for it. */
struct dial_ask request_dial_ask(const struct request *r);
/* What its upstream runs over, whose socket the keeper knows; NULL: lost. */
struct stream *request_wire(const struct request *r);

/* For the records of those who get it from the pool: whose dial it was. */
void reach_note_dial(const struct dial_answer *a);
/* May `n` more be open?  What is idle gives way. */
bool reach_has_room(struct sandbox *sb, size_t n);
/* An upstream that nobody has asked for yet; of the flow's protocol. */
void reach_keep(struct flow *f, const struct host *host, struct stream *s);

/* What of its refusals is for the sandbox to see; `g` NULL: all. */
void request_know(struct request *r, const struct generation *g);

/* Refuse it as its verdict says, with the record of that. */
void request_deny(struct request *r);

/* Look at what is pending in each phase; before each exchange_run(). */
void request_judge_more(struct request *r);
void request_reach_more(struct request *r);
void request_attach_more(struct request *r);
void request_reach_cancel(struct request *r);

#endif
