/* SPDX-License-Identifier: Apache-2.0 */
/* All that can be seen of a world from outside, in one number each. */
#ifndef PLAY_SEEN_H
#define PLAY_SEEN_H

#include "world.h"

struct seen {
	size_t sends, got, records, asked, flows;
};

struct seen seen_now(const struct world *w);

/* Ends the program if it is not as `before`. */
void seen_same(const struct world *w, struct seen before);

/* One more of its records: of whose connection, and decided again. */
struct event;
void seen_record(struct world *w, const struct event *e);

/* The keeper is asked for a credential: a request said so before, each time. */
void seen_release(struct world *w);

/* Is this among its records?  Each is a line of event, verdict, reason, status. */
bool seen_has(const struct world *w, const char *line);

#endif
