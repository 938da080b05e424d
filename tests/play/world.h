/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A world without sockets: scripted peers, roles and clock around the real
 * flow, http, policy.  Every record is decided again from its facts.
 */
#ifndef PLAY_WORLD_H
#define PLAY_WORLD_H

#include "base/buf.h"
#include "flow/flow.h"

/* One peer: what it will send, what it got. */
struct peer {
	struct world *world;
	struct buf sends;  /* bytes that we have not read yet */
	struct buf got;	   /* bytes that we wrote */
	size_t window;	   /* bytes that it takes before it stops */
	bool ends, breaks; /* behind `sends`: end of file, reset */
	bool saw_end;	   /* we announced our end */
	bool closed;	   /* our stream was freed */
	bool is_client;
	bool is_tls;	       /* the handshake happened ... */
	enum alpn alpn;	       /* ... and chose that */
	bool speaks_none;      /* ... or failed since nothing fits */
	struct stream *stream; /* NULL once closed */
};

/* What the other roles are asked. */
enum asked_kind {
	ASKED_WRITTEN,
	ASKED_DIAL,
	ASKED_RELEASE,
	ASKED_SHAKE,
	ASKED_SPOOL,
};

#define WORLD_CLIENTS_MAX 64
#define WORLD_UPSTREAMS_MAX 64
#define WORLD_RECORDS_MAX 512
#define WORLD_PROGRAMS_MAX 16

/* The records of one connection. */
struct world_flow {
	unsigned n_begun, n_ended, n_requests;
	unsigned n_faults; /* ends that say what was wrong with HTTP/2 */
};

struct world {
	struct loop *loop;
	struct sandbox *sandbox;
	/* By their generations, from 1: records are decided again by theirs. */
	struct program *programs[WORLD_PROGRAMS_MAX];
	size_t n_programs;
	size_t roles_at;     /* the one that other roles have; 0: the latest */
	struct peer *client; /* the latest of: */
	struct peer clients[WORLD_CLIENTS_MAX];
	size_t n_clients;
	struct peer upstream[WORLD_UPSTREAMS_MAX];
	size_t n_upstreams;  /* dials made */
	struct peer *latest; /* the upstream that was dialled or written to */
	struct buf records;  /* one line each: "event verdict reason status" */
	struct world_flow flows[WORLD_CLIENTS_MAX]; /* by their numbers */
	size_t n_records, n_allowed, n_passed;
	size_t n_changed;    /* records of policy.changed */
	size_t n_wrong;	     /* records that could not be decided again, and
				releases that nothing announced */
	size_t n_announced;  /* credentials, by records */
	size_t n_releases;   /* ... that were asked for */
	struct asked *asked; /* what waits, a list */
	size_t n_asked;	     /* since the start */
	enum reason admits;  /* may_admit() */
	enum reason dials;   /* what a dial comes to */
	enum reason releases;
	enum alpn chooses;	 /* upstreams, if it is offered */
	enum alpn_offer offered; /* by the last dial */
	bool fails;	    /* allocations may: what failed is tried again */
	bool speaks_none;   /* handshakes fail: nothing offered is spoken */
	bool breaks;	    /* they fail */
	bool scribe_fails;  /* nothing can be recorded */
	bool scribe_waits;  /* confirmations do not come */
	bool scribe_behind; /* what is new waits */
	bool dial_waits;    /* dials are not answered */
	bool release_waits; /* nor are releases */
	bool spools_wait;   /* nor who wants a file of the monitor's */
	bool spools_fail;   /* there is none */
	bool disk_full;	    /* ... that takes a byte */
	unsigned n_spooled; /* files that were handed over */
	uint64_t now_ms;
	int64_t wall_s;	     /* by how much the wall clock was set, in sum */
	struct slice secret; /* what the keeper releases, or: */
	struct slice (*value_of)(const struct world *w, uint32_t credential);
};

/* `program` becomes the sandbox's. */
void world_init(struct world *w, struct program *program);
void world_release(struct world *w);

/* The next program of the sandbox, whose it becomes; then everything happens. */
void world_set_program(struct world *w, struct program *program);

/* A new client, w->client, that connects to `dst`:`port`. */
void world_connect(struct world *w, const struct ip *dst, uint16_t port);

/* ... to the sandbox's proxy, and has yet to say where to. */
void world_connect_proxy(struct world *w);

/* ... which wants this token from now on. */
void world_want_token(struct world *w, struct slice token);

/* A ClientHello for `name` (empty: without SNI) that offers that. */
void world_put_hello(struct buf *out, struct slice name, enum alpn_offer offer);

/* Connections that have the records that flow/record.h promises. */
size_t world_n_accounted(const struct world *w);

/* Let everything happen that can. */
void world_turn(struct world *w);

/* The same, but nothing that was asked is answered. */
void world_move(struct world *w);

/* Is this asked?  The oldest such question is answered, if that is wanted. */
bool world_answer(struct world *w, enum asked_kind kind, bool now);

/* Time passes: timers that are due fire, then everything happens. */
void world_pass(struct world *w, uint64_t ms);

/* Somebody sets the wall clock: so many seconds on, or back; no time passes. */
void world_set_wall(struct world *w, int64_t seconds);

#endif
