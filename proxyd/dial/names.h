/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many distinct names a sandbox may have dialled under wildcards within an
 * hour.  A name under a wildcard is chosen by the sandbox, and its labels reach
 * a resolver: the budget bounds what they can carry.
 * Pure.
 */
#ifndef DIAL_NAMES_H
#define DIAL_NAMES_H

#include "base/limits.h"
#include "base/slice.h"

#define NAMES_TEXT_MAX 253 /* bytes of a canonical name */
#define NAMES_MS 3600000   /* an hour */

struct names {
	size_t n;
	struct {
		uint64_t ms; /* when it was dialled last */
		uint8_t n;
		uint8_t text[NAMES_TEXT_MAX];
	} at[LIMIT_NAMES_PER_HOUR];
};

/*
 * `name` is about to be dialled.  False: it would be one more than there may
 * be within the hour that ends now.
 */
bool names_spend(struct names *names, struct slice name, uint64_t now_ms);

#endif
