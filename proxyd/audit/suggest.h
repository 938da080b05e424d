/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a log to a policy: rules that would have allowed what its last run was
 * refused.
 *
 * Nothing is wider than what was seen, but for two things that a comment tells:
 * three paths or more that differ in their last segment become `*`, and where
 * one rule would have more than SUGGEST_PATTERNS_MAX patterns they become their
 * common folder and `**`.  Hosts and ports are exact; so are methods; a query
 * has the keys that were seen, with the values that the log has.
 *
 * The texts are peers': what is written is YAML whatever they are.
 */
#ifndef AUDIT_SUGGEST_H
#define AUDIT_SUGGEST_H

#include "audit/event.h"
#include "base/buf.h"
#include "base/err.h"

#define SUGGEST_WISHES_MAX 4096	 /* different requests; more are counted */
#define SUGGEST_OTHERS_MAX 256	 /* refusals of other kinds, likewise */
#define SUGGEST_PATTERNS_MAX 16	 /* of one rule */
#define SUGGEST_SIZE_MAX 4194304 /* bytes of what is remembered */

struct suggest;

struct suggest_sum {
	size_t n_rules;
	size_t n_others; /* kinds of refusals that no rule was made of */
};

MUST_USE struct suggest *suggest_new(enum err *err); /* NULL: ERR_MEMORY */
void suggest_free(struct suggest *s);

/* The next record; a `start` that begins another run forgets those before. */
void suggest_put(struct suggest *s, const struct event *e);

/* Append the policy, a whole file; once.  Without memory `out` has failed. */
struct suggest_sum suggest_end(struct suggest *s, struct buf *out);

#endif
