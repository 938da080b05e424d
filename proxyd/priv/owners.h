/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which worker has which sandbox, as the monitor said it: dialer, keeper and
 * scribe refuse a worker that speaks of another's, whatever else it knows.
 *
 * Bounded; the oldest go first, so that a name may be used again and again.
 */
#ifndef PRIV_OWNERS_H
#define PRIV_OWNERS_H

#include "base/attr.h"
#include "base/err.h"
#include "base/slice.h"

#define OWNERS_MAX 8192	   /* sandboxes; twice what may be attached */
#define OWNERS_NAME_MAX 64 /* bytes of a sandbox's name */

struct owners;

MUST_USE struct owners *owners_new(enum err *err); /* ERR_MEMORY */
void owners_free(struct owners *o);

/*
 * The body of NAME: the sandbox, its worker, its name; sets what is not NULL.
 * What was known of that number or that name before is over.
 * 0, or -1 with ERR_MESSAGE, ERR_MEMORY.
 */
MUST_USE int owners_take(struct owners *o, struct slice body, uint32_t *sandbox,
    struct slice *name, enum err *err);

/* It is gone. */
void owners_forget(struct owners *o, uint32_t sandbox);

/* The worker's number; 0: no such sandbox is known. */
uint32_t owners_of(const struct owners *o, uint32_t sandbox);
uint32_t owners_of_name(const struct owners *o, struct slice name);

/*
 * May this worker send that body, which begins with u32 sandbox?  One that is
 * not known is nobody's: whoever looks for it says so.
 */
bool owners_may(const struct owners *o, uint32_t worker, struct slice body);

#endif
