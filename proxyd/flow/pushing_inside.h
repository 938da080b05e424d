/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of flow/pushing.h; for flow/pushing*.c alone. */
#ifndef FLOW_PUSHING_INSIDE_H
#define FLOW_PUSHING_INSIDE_H

#include "flow/hold.h"
#include "flow/pushing.h"
#include "flow/pushing_body.h"
#include "flow/pushing_proof.h"
#include "flow/request.h"
#include "git/outcome.h"
#include "git/push.h"
#include "policy/git.h"

enum pushing_state {
	PUSHING_LIST,
	PUSHING_END,
	PUSHING_RECORDS,
	PUSHING_HOLD,
	PUSHING_FEED,
	PUSHING_OVER, /* allowed or refused: READ has nothing more to do */
};

struct pushing {
	struct request *r; /* borrowed */
	enum pushing_state state;
	struct pushing_body body;
	struct push list;
	bool is_denied;	 /* by its head: read only to be told so */
	bool is_whole;	 /* the list is */
	bool is_probe;	 /* and was answered so */
	bool is_told;	 /* the refusal has its text */
	bool is_counted; /* among the sandbox's pushes */
	size_t n_list;	 /* bytes of the list, among all of the sandbox's */
	bool is_begun;	 /* its commands' records were sent */
	bool is_sent;	 /* enough went up that the server may act on it */
	/* Of a whole list; point into it. */
	struct git_command *commands; /* owned */
	struct slice *options;	      /* owned */
	struct facts_push facts;

	struct git_rule rule;
	struct pushing_proof *proof; /* owned; NULL: no rule reads the pack */
	struct hold *hold;	     /* owned; NULL: it streams */
	struct buf head;	     /* the list anew; what of it is to go up */
	size_t n_given;		     /* bytes that the last feed() gave ... */
	bool gave_head;		     /* ... of `head`, else of the body */
	uint64_t pack_bytes;
	struct outcome outcome;
	bool has_outcome; /* the server's report was read */
};

/* READ is over: it goes up, or it does not. */
void pushing_allow(struct pushing *p);
void pushing_refuse(struct pushing *p, enum reason reason, const char *detail);

/* It does not go up: its places among proofs and files are others' now. */
void pushing_let_go(struct pushing *p);

/* PUSHING_HOLD: the whole pack into a file, and what is to be shown of it. */
void pushing_hold(struct pushing *p);

/*
 * Fill in x->refusal, once: a report, where the push can be told one.
 *
 * denied  by its head, or by its commands
 * proof   what the rule reads of the pack is not shown
 * fault   whatever else went wrong: x->refusal.reason, x->fail
 */
void pushing_say_denied(struct pushing *p);
void pushing_say_proof(struct pushing *p, const struct prove_fail *fail);
void pushing_say_fault(struct pushing *p);

/*
 * pushing_pack.c: the next bytes of the pack that may go on, at most `room`;
 * as exchange_ops.feed.  PARSE_BAD: *fail, and the refusal has its text.
 */
enum parse pushing_pack_next(struct pushing *p, size_t room, struct slice *out,
    struct parse_fail *fail);

#endif
