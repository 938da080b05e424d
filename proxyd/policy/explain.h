/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of the line that explains a verdict.  Inside policy/ only. */
#ifndef POLICY_EXPLAIN_H
#define POLICY_EXPLAIN_H

#include "policy/facts.h"
#include "policy/program.h"

struct buf;

/* Text of a peer, cut, without what a terminal or a log would obey. */
void explain_put_shown(struct buf *out, struct slice s);

/* "rule `work` (policy.yaml:7)" */
void explain_put_rule(struct buf *out, const struct program *p, uint32_t rule);

/* The line for a verdict about git; false, and nothing, if it is about none. */
bool explain_git(const struct program *p, const struct facts *f,
    const struct verdict *v, struct buf *out);

/* The rule that is missing for a fetch or a push; false, and nothing, if the
 * request is neither. */
bool explain_git_missing(const struct facts *f, struct buf *out);

#endif
