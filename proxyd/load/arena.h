/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that goes all at once: what was read from files, until the image is
 * written.  Dies when there is no more, as start-up code does.
 */
#ifndef LOAD_ARENA_H
#define LOAD_ARENA_H

#include "base/attr.h"
#include "base/slice.h"

struct arena_block;

struct arena {
	struct arena_block *blocks; /* owned; the newest first */
};

/* An arena begins as zero bytes. */
void arena_release(struct arena *a);

/* Zeroed, aligned for anything. */
MUST_USE void *arena_alloc(struct arena *a, size_t n);

/* A copy of the bytes. */
struct slice arena_copy(struct arena *a, struct slice s);

/*
 * Room for one more of `n` things of `size` bytes: `list` itself, or, when `n`
 * has reached a power of two, a copy of twice the room.
 */
MUST_USE void *arena_grow(struct arena *a, void *list, uint32_t n, size_t size);

#endif
