/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of refs: what git itself refuses, and what we do.
 *
 * Source: git-check-ref-format(1), and narrower: letters, digits and `-._/+@=`,
 * each part beginning with a letter, a digit or `_`, at most GITREF_MAX bytes.
 * Outside of that are names that servers, shells and terminals read otherwise
 * than a policy does.
 * Pure.
 */
#ifndef POLICY_GITREF_H
#define POLICY_GITREF_H

#include "base/slice.h"

#define GITREF_MAX 200
#define GITREF_HEADS SLICE("refs/heads/")
#define GITREF_TAGS SLICE("refs/tags/")

/* Is it such a full name, of `refs/`, with a part behind? */
bool gitref_is_good(struct slice ref);

/* Is it such a name behind `refs/heads/`; with stars, for load/, if `glob`? */
bool gitref_is_short(struct slice name, bool glob);

#endif
