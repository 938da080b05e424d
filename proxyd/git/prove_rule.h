/* SPDX-License-Identifier: Apache-2.0 */
/* What git/prove.h is asked, from a rule of git+https and the list of a push. */
#ifndef GIT_PROVE_RULE_H
#define GIT_PROVE_RULE_H

#include "git/prove.h"
#include "git/push.h"
#include "policy/program.h"

/*
 * What rule `rule` has proven of a push.  The patterns point into `p`.  False
 * without memory; also if it is no rule of git+https that allows pushes.
 * prove_rule_release() in any case.
 */
MUST_USE bool prove_rule_init(struct prove_rule *r, const struct program *p,
    uint32_t rule);
void prove_rule_release(struct prove_rule *r);

/* The commands of a whole list, `list->n_commands` of them; NULL without
 * memory.  To be freed. */
MUST_USE struct prove_command *prove_commands(const struct push *list);

/* Bytes of an object's name in that push. */
size_t prove_id_size(const struct push *list);

#endif
