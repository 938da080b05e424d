/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One intercepted connection: (sandbox, where it wanted to go, bytes).
 *
 * Every callback of a flow ends in flow_run(); its phase is changed only by
 * flow_enter(); it ends only in flow_close(); its memory goes only in the
 * reaper.  What may be pending: the client's stream, one timer, one question
 * (`asked`), what its present request has (flow/request.h) or its passing
 * (flow/pass.h); records whose confirmation is still to come keep the memory,
 * nothing else.
 */
#ifndef FLOW_FLOW_H
#define FLOW_FLOW_H

#include <sys/queue.h>

#include "flow/phase.h"
#include "flow/sandbox.h"
#include "net/stream.h"
#include "net/timer.h"
#include "policy/policy.h"
#include "wire/hello.h"
#include "wire/host.h"

struct choose;
struct entry;
struct h2_conn;
struct pass;
struct request;

#define FLOW_NAME_MAX 32 /* "SANDBOX-NUMBER", with a NUL */

struct flow {
	struct loop_item dead;	 /* first: on the reaper's list when closed */
	LIST_ENTRY(flow) entry;	 /* on sandbox->flows until closed */
	struct sandbox *sandbox; /* borrowed; lives longer than its flows */
	struct loop *loop;	 /* borrowed */
	struct stream *client;	 /* owned; NULL: closed, or h2's */
	struct h2_conn *h2;	 /* owned; SERVE and REFUSE of HTTP/2 */
	struct timer limit;	 /* the present phase's */
	struct asked *asked;	 /* a leaf, or a dial to pass; NULL: nothing */
	struct again retry;	 /* or it is asked again */
	struct entry *proxy;   /* owned; of a proxy's client; NULL: captured */
	struct choose *choose; /* owned; CHOOSE and what came of it */
	struct pass *pass;     /* owned; DIAL, PASS and what came of them */
	LIST_HEAD(request_list, request) requests; /* owned; SERVE */
	struct generation *generation; /* shared; what JUDGE judged by */
	char name[FLOW_NAME_MAX];      /* for log, audit and our answers */
	uint64_t n_requests;
	uint64_t started_ms; /* by clock_ms() */
	enum phase phase;    /* written by flow_enter() alone */

	struct ip dst; /* where the client wanted to go */
	uint16_t port;
	bool is_tls;
	enum alpn_offer offer; /* of the client, cut to what is served */
	enum alpn alpn;	       /* what it is given */
	bool has_ech;
	struct host sni; /* n 0: none, or none that is a name */
	struct hello hello;
	uint8_t *hello_bytes; /* owned; NULL but in PEEK */

	struct facts facts; /* of the connection */
	struct verdict verdict;
	char detail[STREAM_TEXT_SIZE]; /* of a fault, for people */
	/* Of all requests that ended; or that passed unread. */
	uint64_t bytes_up, bytes_down;

	bool expired;		  /* `limit` passed in this phase */
	bool running, again;	  /* flow_run()'s own: see there */
	bool begun;		  /* flow.begin was sent ... */
	bool is_recorded;	  /* ... and is in the log */
	bool record_failed;	  /* ... or never will be */
	bool told;		  /* a request of it was recorded */
	bool asked_leaf, shook;	  /* SHAKE: asked; the answer came */
	enum reason shake_reason; /* why there is no leaf */
	uint8_t alert;		  /* REFUSE: TLS alert to send; 0: none */
	bool shut, draining;	  /* REFUSE: our end announced; gone */
	unsigned n_records;	  /* confirmations still to come */
	bool reset;		  /* end with a reset: an answer was cut */
	bool leaving;		  /* HTTP/2: it was idle for long, GOAWAY */
	bool obeyed;		  /* flow/hostile.c alone */
	size_t drained;		  /* REFUSE: bytes dropped */
};

/*
 * Take a connection in.  `fd` becomes the flow's own; what is wrong with the
 * destination already (dst.self, limit.conns) comes as `fault`, else ALLOW.
 */
void flow_accept(struct sandbox *sb, int fd, const struct ip *dst,
    uint16_t port, enum reason fault);

/* The same over a stream that is there. */
void flow_new(struct sandbox *sb, struct stream *client, const struct ip *dst,
    uint16_t port, enum reason fault);

/*
 * The same for a client of a proxy, which has yet to say where it goes: ENTRY.
 * `entry` becomes the flow's own.
 */
void flow_new_entry(struct sandbox *sb, struct stream *client,
    struct entry *entry);

/* Something happened: do what can be done now. */
void flow_run(struct flow *f);

/* Something happened that all its requests may have waited for. */
void flow_wake(struct flow *f);

/* What is spoken there, where that is known before any byte. */
void flow_set_kind(struct flow *f);

/* For record.c: a record that the flow waits for was written, or was not. */
void flow_on_written(bool written, void *arg);
/* ... of a request; what it needs of the flow is held until then. */
void flow_drop_record(struct flow *f);

/* End it, now, for a reason of ours. */
void flow_abort(struct flow *f, enum reason reason);

/* Rules may have expired: end what they allowed and is under way. */
void flow_expire(struct flow *f, uint64_t now_s);

/*
 * The same at the end of a run, but what the client has sent may still pass:
 * false if some of that is on its way.
 */
bool flow_finish(struct flow *f, enum reason reason);

#endif
