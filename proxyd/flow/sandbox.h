/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sandbox as its worker knows it.  A sandbox belongs to one worker, a worker
 * has one thread: all of this is plain variables.
 */
#ifndef FLOW_SANDBOX_H
#define FLOW_SANDBOX_H

#include <sys/queue.h>

#include "base/attr.h"
#include "base/budget.h"
#include "base/err.h"
#include "cred/look.h"
#include "flow/again.h"
#include "flow/asks.h"
#include "flow/choices.h"
#include "flow/hold.h"
#include "flow/spend.h"
#include "net/loop.h"
#include "net/pipes.h"
#include "net/timer.h"
#include "policy/program.h"

struct flow;
struct leaf_cache;
struct pool;
struct pushing_proof;
struct search;

#define SANDBOX_NAME_MAX 64   /* bytes, with a NUL */
#define SANDBOX_DIGEST_MAX 80 /* "sha256:" and 64 digits, with a NUL */

/* A program while anything that was judged by it goes on.  Shared. */
struct generation {
	unsigned refs;
	uint32_t number;
	struct program *program;  /* owned */
	struct look_slots slots;  /* owned; the program's */
	struct spend_rules spent; /* owned; what its limits leave */
	char digest[SANDBOX_DIGEST_MAX];
};

struct generation *generation_ref(struct generation *g);
void generation_unref(struct generation *g);

/* What clients of its proxy have to show: the token's digest alone. */
struct entry_token {
	bool is_wanted;
	uint8_t sha256[32];
};

struct sandbox {
	struct loop *loop; /* borrowed, as the next two */
	const struct asks *asks;
	void *asks_arg;
	struct leaf_cache *leaves; /* owned; NULL where nobody has TLS */
	uint32_t id;
	char name[SANDBOX_NAME_MAX];
	struct generation *generation;	     /* shared; NULL: policy.none */
	struct entry_token token;	     /* see flow/entry.h */
	struct placeholder_set placeholders; /* owned */
	struct search *placeholder_forms;    /* owned; made on first need */
	LIST_HEAD(flow_list, flow) flows;
	size_t n_flows;
	size_t n_h2_requests; /* under way; HTTP/1 has one a flow */
	size_t n_pushes;      /* under way ... */
	size_t n_proofs;      /* ... whose pack is read */
	LIST_HEAD(proof_list, pushing_proof) proofs; /* those */
	size_t push_lists;  /* bytes of the pushes' lists, as they came */
	uint64_t last_flow; /* the id given last */
	size_t n_upstreams; /* connections outward that are open or asked for */
	struct pool *pool;  /* owned */
	LIST_HEAD(link_list, link) links;    /* owned; see flow/link.h */
	uint64_t last_link;		     /* the number given last */
	unsigned n_wide_links;		     /* with a window of full size */
	struct choices choices;		     /* owned */
	struct pipes pipes;		     /* owned; of what passes unread */
	struct hold_file holds[LIMIT_HOLDS]; /* owned */
	struct again_list again_list;	     /* who asks again */
	struct budget handshakes;
	struct timer expiry;  /* each second, if some rule may expire */
	uint64_t n_questions; /* DNS questions allowed, not yet in a record */
	uint8_t *echo_hits;   /* owned; for each rule: masked answers */
	uint32_t n_echo_hits;
};

/* NULL with ERR_MEMORY. */
MUST_USE struct sandbox *sandbox_new(struct loop *l, const struct asks *asks,
    void *asks_arg, uint32_t id, enum err *err);
/* Something of all its flows has changed: each does what it can now. */
void sandbox_run(struct sandbox *s);
/* End its flows; the reaper frees them. */
void sandbox_close(struct sandbox *s);
/*
 * End them, but those that still pass on what a client has sent, who is gone;
 * true if there are none.  To be called again until it is true.
 */
bool sandbox_finish(struct sandbox *s);
/* Behind sandbox_close(), once the reaper has run. */
void sandbox_free(struct sandbox *s);

/* For the records; cut at SANDBOX_NAME_MAX. */
void sandbox_set_name(struct sandbox *s, struct slice name);

/*
 * What is judged from now on is judged by `program`, which becomes the
 * sandbox's own; what is alive is judged again (flow/reload.h).  False: no
 * memory; the old one stays in force.
 */
MUST_USE bool sandbox_set_program(struct sandbox *s, struct program *program,
    uint32_t number, struct slice digest);

/* Count an answer of a rule in which a secret was masked. */
void sandbox_note_echo(struct sandbox *s, uint32_t rule);
/* True once a rule had LIMIT_ECHO_HITS of them. */
bool sandbox_is_echoing(const struct sandbox *s, uint32_t rule);

#endif
