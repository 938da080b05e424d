/* SPDX-License-Identifier: Apache-2.0 */
/* The policies of a script, one after the other, compiled. */
#ifndef PLAY_POLICIES_H
#define PLAY_POLICIES_H

#include "load/load.h"
#include "world.h"

struct policies {
	struct buf config, owner_image; /* owned */
	struct owner *owner;		/* owned; NULL: none yet */
	struct buf texts[WORLD_PROGRAMS_MAX], images[WORLD_PROGRAMS_MAX];
	size_t n;
};

void policies_init(struct policies *ps);
void policies_release(struct policies *ps);

/* The text of the next one; NULL: there are too many. */
struct buf *policies_next(struct policies *ps);

/* Compile it; its bytes live as long as `ps`.  NULL, and why. */
struct program *policies_compile(struct policies *ps, struct buf *why);

#endif
