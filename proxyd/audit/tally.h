/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the roles say of one thing, counted: does it go together?  For
 * audit/verify.h.
 *
 * A tally reaches from one start of a log to the next; a start that only says
 * that the scribe was started anew (REPEATED) goes on with it.
 */
#ifndef AUDIT_TALLY_H
#define AUDIT_TALLY_H

#include "audit/event.h"
#include "base/err.h"

struct tally;

/* `seq`: of the record that the problem is about.  `text`: as verify's. */
typedef void tally_on_problem(uint64_t seq, const char *text, void *arg);

MUST_USE struct tally *tally_new(tally_on_problem *on_problem, void *arg,
    enum err *err);

/* False: no memory; what was counted is incomplete. */
MUST_USE bool tally_put(struct tally *t, uint64_t seq, const struct event *e);

/* All is counted: tell what is missing, forget everything. */
void tally_end(struct tally *t);
void tally_free(struct tally *t);

#endif
