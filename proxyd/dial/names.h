/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many distinct names a sandbox may have dialled under wildcards within an
 * hour.  A name under a wildcard is chosen by the sandbox, and its labels reach
 * a resolver: the budget bounds what they can carry.
 * Pure, but for its memory.
 */
#ifndef DIAL_NAMES_H
#define DIAL_NAMES_H

#include <sys/queue.h>

#include "base/limits.h"
#include "base/slice.h"

#define NAMES_TEXT_MAX 253 /* bytes of a canonical name */
#define NAMES_MS 3600000   /* an hour */

struct names {
	size_t n, cap;
	struct names_at {
		uint64_t ms; /* when it was dialled last */
		uint8_t n;
		uint8_t text[NAMES_TEXT_MAX];
	} * at; /* owned */
};

/*
 * `name` is about to be dialled, one of at most `max`.  False: it would be one
 * more than there may be within the hour that ends now.
 */
bool names_spend(struct names *names, size_t max, struct slice name,
    uint64_t now_ms);

void names_release(struct names *names);

/* Of rules that have a number of their own: one each, made on first need. */
SLIST_HEAD(names_list, names_of_rule);

/* NULL: no memory. */
struct names *names_of(struct names_list *list, uint32_t rule);

/* Each rule has another number now, as `now` says; VERDICT_NONE: it is gone. */
void names_list_renumber(struct names_list *list,
    uint32_t (*now)(uint32_t rule, void *arg), void *arg);

void names_list_release(struct names_list *list);

#endif
