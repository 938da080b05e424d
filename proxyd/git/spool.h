/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The objects of a pack that are kept, by name and by offset.  First come,
 * first kept: git sends commits first, then trees from the newest tip's root
 * on, so what is asked for is there when the room is used up.
 *
 * For git/pack*.c alone.
 */
#ifndef GIT_SPOOL_H
#define GIT_SPOOL_H

#include "git/pack.h"

struct spool_index {
	uint32_t *slots; /* owned; number of an object and 1, or 0 */
	size_t n;	 /* slots, a power of two; 0: none yet */
};

struct spool {
	struct object *objects; /* owned, and so are their contents */
	size_t n, cap;
	struct spool_index by_id, by_at;
	struct pack_kept kept;
	uint8_t key[SIPHASH_KEY_SIZE];
};

enum spool_put {
	SPOOL_KEPT,  /* the content is the spool's now */
	SPOOL_FULL,  /* no room or no memory: not kept */
	SPOOL_TWICE, /* it has an object of that name */
};

void spool_init(struct spool *s, const struct pack_cfg *cfg);
void spool_release(struct spool *s);

/* As pack_kept(). */
struct pack_kept spool_kept(const struct spool *s);

/* Is there room for an object of `n` bytes? */
bool spool_has_room(const struct spool *s, enum object_kind kind, size_t n);

/* Keep `o`, whose content came from malloc(); on SPOOL_KEPT it is taken. */
MUST_USE enum spool_put spool_put(struct spool *s, const struct object *o);

struct object *spool_find(const struct spool *s, const struct oid *id);
struct object *spool_at(const struct spool *s, uint64_t at);

#endif
