/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of a rule is the same in another program: a policy has changed, and what
 * was counted or decided by its former one goes on where nothing else is meant.
 * Pure.
 */
#ifndef POLICY_SAME_H
#define POLICY_SAME_H

#include "policy/policy.h"

/*
 * Rule `rule` of `p` in `q`: the one with the same URLs as they are written,
 * whatever else it says.  The search begins at `*near`, which is set to where
 * the next one may be.  VERDICT_NONE: there is none.
 */
uint32_t same_rule(const struct program *p, uint32_t rule,
    const struct program *q, uint32_t *near);

/*
 * Two verdicts of one request, each allows it: is it given the same credentials,
 * is the same taken out and looked for, has git the same leave?
 */
bool same_treatment(const struct program *p, const struct verdict *v,
    const struct program *q, const struct verdict *w);

/* Is it attached in the same way, under the same name? */
bool same_credential(const struct program_credential *a,
    const struct program_credential *b);

/*
 * Are the credentials of both programs the same ones, at the same places?  Facts
 * name them by their index.
 */
bool same_credentials(const struct program *p, const struct program *q);

#endif
