/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The budget of denials per sandbox: what is above it is counted, equal ones
 * together, so that a flood of refusals neither fills the log nor hides how
 * many there were.
 *
 * Bounded: DENIALS_KINDS_MAX different ones and DENIALS_SIZE_MAX bytes; what
 * is above that is counted by sandbox, event and reason alone.
 */
#ifndef RECORD_DENIALS_H
#define RECORD_DENIALS_H

#include "audit/event.h"
#include "base/err.h"

#define DENIALS_KINDS_MAX 512	   /* different ones kept apart */
#define DENIALS_SIZE_MAX 1048576   /* bytes of them */
#define DENIALS_SANDBOXES_MAX 1024 /* budgets; above it they share one */

struct denials;

MUST_USE struct denials *denials_new(enum err *err); /* NULL: ERR_MEMORY */
void denials_free(struct denials *d);

/* Is it what a sandbox can cause at will, without anything going out? */
bool denials_covers(const struct event *e);

/*
 * A denial at `now_ms`.  True: it is above the budget and was counted, to be
 * given by denials_take() later.  False: write it now.
 */
bool denials_count(struct denials *d, const struct event *e, uint64_t now_ms);

bool denials_is_empty(const struct denials *d);

/*
 * Take one aggregated event: the first of its kind, with COUNTED.  Its texts
 * live until the next call.  False: there is none.
 */
bool denials_take(struct denials *d, struct event *e);

#endif
