/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The flows that were announced and have not ended, as the scribe knows them,
 * so that it can write their end when their worker is gone.
 */
#ifndef AUDIT_FLOWS_H
#define AUDIT_FLOWS_H

#include "audit/event.h"
#include "base/err.h"

#define FLOWS_MAX 262144 /* open flows of a log; no more are taken */

struct flows;

MUST_USE struct flows *flows_new(enum err *err); /* NULL: ERR_MEMORY */
void flows_free(struct flows *f);

/*
 * A record was taken: FLOW_BEGIN opens a flow, FLOW_END closes it, others do
 * nothing.
 *
 * owner	whose it is, compared only; NULL: nobody's yet
 *
 * False: there is no room for it, and it must not be announced.
 */
MUST_USE bool flows_put(struct flows *f, const struct event *e,
    const void *owner);

/* Is the flow that this record is of open? */
bool flows_has(const struct flows *f, const struct event *e);

bool flows_is_empty(const struct flows *f);

/* What was nobody's is this one's from now on. */
void flows_give(struct flows *f, const void *owner);

/*
 * Take one flow of this owner out, as the end that must be written for it, with
 * reason `internal`; its texts live until the next call.  False: it has none.
 */
bool flows_take(struct flows *f, const void *owner, struct event *end);

/* Likewise one of anybody's. */
bool flows_take_any(struct flows *f, struct event *end);

#endif
