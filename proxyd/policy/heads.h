/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heads of a host's routes: those that could be the first of their sort.
 *
 * Sort is all that counts of a route before its path: port, scheme, whether its
 * rule denies, denies everything, only reports, is hidden; its forge, and
 * whether it grants pushes.  Whoever asks for the first route of some sort, or
 * for any, and not for a path, has the same answer of the heads alone: a route
 * that is none of them stands behind one of its sort that expires no sooner.
 * Likewise of `addresses:`, and of the keys in `query:` whose values count.
 *
 * Chosen by load/ and, for the image's check, once more.  Inside policy/ and
 * load/ only.
 * Pure.
 */
#ifndef POLICY_HEADS_H
#define POLICY_HEADS_H

#include "base/attr.h"
#include "policy/image.h"

/* Records of TABLE_LISTS. */
struct heads_range {
	uint32_t at, end;
};

/* A host's heads; where it has no index, all its routes. */
static inline struct heads_range
heads_of(const struct image *m, uint32_t host)
{
	const uint8_t *record = image_record(m, TABLE_HOSTS, host);
	uint32_t index = image_at(record, HOST_INDEX);
	uint32_t at, n;

	if (index == IMAGE_NONE) {
		at = image_at(record, HOST_LIST);
		n = image_at(record, HOST_N_LIST);
	} else {
		at = image_word(m, TABLE_INDEXES, index, INDEX_HEADS);
		n = image_word(m, TABLE_INDEXES, index, INDEX_N_HEADS);
	}
	return (struct heads_range){ at, at + n };
}

struct heads {
	const struct image *m;
	/* The caller's; a table by hash: until when the latest head of a sort
	 * is. */
	struct heads_sort {
		uint64_t sort; /* 0: none */
		uint64_t until;
	} * sorts;
	uint64_t n_sorts;   /* places: a power of two */
	uint32_t rule;	    /* of the route before */
	uint64_t addresses; /* the hash of its `addresses:` */
};

/* How many places the routes want in records `at` to `end` of TABLE_LISTS. */
uint64_t heads_room(const struct image *m, uint32_t at, uint32_t end);

/* Begin with a host: `n` places, as heads_room() says, of zero bytes. */
void heads_begin(struct heads *h, const struct image *m,
    struct heads_sort *sorts, uint64_t n);

/* Is the host's next route, in order, one of them? */
bool heads_take(struct heads *h, uint32_t route);

#endif
