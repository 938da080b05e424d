/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pack of a push that a rule reads: taken in as it passes, its last bytes
 * kept back, and behind its end what the rule wants shown, with questions to
 * the upstream (flow/inquire.h) where the pack alone does not show it.
 */
#ifndef FLOW_PUSHING_PROOF_H
#define FLOW_PUSHING_PROOF_H

#include "git/prove_rule.h"

struct pushing_proof;
struct request;

/*
 * Does the rule that allowed `r` read the pack of such a push?  *proof is set
 * to what does, or NULL.  `list` is borrowed and whole; `r` is told of news by
 * request_wake().  False: no memory.
 */
MUST_USE bool pushing_proof_new(struct request *r, const struct push *list,
    struct pushing_proof **proof);

/*
 * There is no place left for it: whose pack came to a halt, longest ago.  That
 * one has no place any more, is to be refused, and wakes by itself.  NULL: all
 * of them move.
 */
MUST_USE struct request *pushing_proof_oust(struct pushing_proof *p);
void pushing_proof_free(struct pushing_proof *p);

/*
 * Take bytes of the pack; as pack_take().  Where fewer were taken than there
 * are, enough was done for one turn: see pushing_proof_is_resting().
 */
MUST_USE enum parse pushing_proof_take(struct pushing_proof *p, struct slice in,
    size_t *used, size_t *pass, struct parse_fail *fail);

/* Others have their turn; it will wake its request by itself. */
bool pushing_proof_is_resting(const struct pushing_proof *p);

/* Was the whole pack taken? */
bool pushing_proof_is_whole(const struct pushing_proof *p);

/*
 * The body has ended behind it: is all shown?  PARSE_MORE: the upstream was
 * asked, or it rests.  PARSE_BAD: not shown, *fail says what.  PARSE_DONE: it
 * is not to be asked again; its memory and its place are others' now, and the
 * pack's trailer is there.
 */
MUST_USE enum parse pushing_proof_run(struct pushing_proof *p,
    struct prove_fail *fail);

struct slice pushing_proof_trailer(const struct pushing_proof *p);

/* Of the last question that had no answer: why, for people; or "". */
const char *pushing_proof_unanswered(const struct pushing_proof *p);

/* Something of it will happen by itself; for flow/must_wait.h. */
bool pushing_proof_is_pending(const struct pushing_proof *p);

#endif
