/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Facts of a decision into the fields of its record, and out of them again, so
 * that anybody with the program can decide again: what policy_decide() says of
 * the facts read back is what the record says.
 *
 * Of a query only the values of those keys are kept that a rule for this host
 * judges; other keys stand there without.
 */
#ifndef AUDIT_FACTS_EVENT_H
#define AUDIT_FACTS_EVENT_H

#include "audit/event.h"
#include "base/limits.h"
#include "policy/facts.h"
#include "policy/program.h"
#include "policy/verdict.h"

/* Where the texts stand that the event borrows; the caller's, as long. */
struct facts_text {
	char dst[IP_TEXT_SIZE];
	uint8_t query[LIMIT_TARGET_SIZE];
	uint8_t command[2 * 65 + EVENT_TEXT_MAX]; /* two ids and a ref */
};

/*
 * Put facts and verdict into `e`: the fields from VERDICT to QTYPE that there
 * is something to say of, but DETAIL and what only the caller knows.
 *
 * p	 what was decided with, or NULL (policy.none); PROGRAM and GENERATION
 *	 are the caller's to set
 */
void facts_to_event(const struct program *p, const struct facts *f,
    const struct verdict *v, struct facts_text *text, struct event *e);

/*
 * The facts of a record; slices point where the event's do.  False: it has
 * none, or they are not such as facts_to_event() writes.
 */
MUST_USE bool facts_from_event(const struct event *e, struct facts *f);

#endif
