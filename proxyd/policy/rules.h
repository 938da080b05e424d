/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules that could speak about a request, from the top.  Inside policy/
 * only.
 * Pure.
 */
#ifndef POLICY_RULES_H
#define POLICY_RULES_H

#include "policy/carry.h"
#include "policy/walk.h"

/* The reason for the best rule's having come no further than that. */
enum reason rules_reason(const struct ask *a, enum progress best);

/* The first rule that matches decides; else why none does, and the nearest. */
enum reason rules_judge(struct ask *a);

#endif
