/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which kind of entry begins at which offset of a pack, five bytes each: a
 * delta names its base by offset, and what it makes is of its base's kind.
 * Beside it, which names are those of blobs, for deltas that give a name.
 *
 * For git/pack*.c alone.
 */
#ifndef GIT_ENTRIES_H
#define GIT_ENTRIES_H

#include "git/pack.h"

#define ENTRIES_AT_MAX (UINT64_C(1) << 37) /* an offset must be below */

struct entries {
	uint32_t *low; /* owned; lower part of an offset */
	uint8_t *high; /* owned; upper part, and the kind */
	size_t n, cap;
	uint64_t *names; /* owned; keyed hashes of blobs' names; 0: empty */
	size_t n_names, names_cap; /* cap: a power of two, or 0 */
};

void entries_release(struct entries *e);

/* Offsets come in rising order.  False without memory or behind the maximum. */
MUST_USE bool entries_put(struct entries *e, uint64_t at, enum object_kind k);

/* The entry that begins there; false if none does. */
MUST_USE bool entries_find(const struct entries *e, uint64_t at, size_t *i);

enum object_kind entries_kind(const struct entries *e, size_t i);
void entries_set(struct entries *e, size_t i, enum object_kind k);

/*
 * Remember a name by its hash, which nobody without the key can aim at.
 * Without room it is not remembered: then a delta against it is of no kind.
 */
void entries_name(struct entries *e, uint64_t hash);
bool entries_has_name(const struct entries *e, uint64_t hash);

#endif
