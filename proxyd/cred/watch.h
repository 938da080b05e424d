/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placeholders in a body: seen and counted, never changed, never held back.
 * They open nothing anywhere, and agents put their environment into prompts;
 * but somebody should know.
 */
#ifndef CRED_WATCH_H
#define CRED_WATCH_H

#include "base/attr.h"
#include "cred/placeholder.h"

struct search;

/* What to look for in a sandbox's bodies; made once.  NULL: no memory. */
MUST_USE struct search *watch_forms(const struct placeholder_set *set);

/* One body. */
struct watch {
	const struct search *forms; /* borrowed */
	uint64_t hits;		    /* placeholders seen so far */
	size_t n_held;
	uint8_t held[2 * PLACEHOLDER_SIZE_MAX]; /* a beginning, copied */
};

void watch_init(struct watch *w, const struct search *forms);

/* Look at the next bytes of the body. */
void watch_take(struct watch *w, struct slice in);

#endif
