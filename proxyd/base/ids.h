/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Things by number, such as sandboxes: found in O(1) however many there are.
 * The numbers count up, so buckets by their low bits are even.  And the numbers
 * that are gone since a moment: whoever asks for one of those may have asked
 * before.
 * Pure; the memory is the caller's.
 */
#ifndef BASE_IDS_H
#define BASE_IDS_H

#include <sys/queue.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define IDS_BUCKETS 1024 /* a power of two */

/* A member of whatever is to be found. */
struct ids_entry {
	LIST_ENTRY(ids_entry) neighbour; /* in its bucket */
	uint32_t id;
	void *item; /* borrowed */
};

struct ids {
	LIST_HEAD(, ids_entry) buckets[IDS_BUCKETS];
	size_t n;
};

void ids_init(struct ids *ids);

/* `item` has not that number yet, and no other has it. */
void ids_put(struct ids *ids, struct ids_entry *e, uint32_t id, void *item);
void ids_remove(struct ids *ids, struct ids_entry *e);

/* NULL: there is none. */
void *ids_find(const struct ids *ids, uint32_t id);

/* Any of them; NULL: it is empty. */
void *ids_any(const struct ids *ids);

#define IDS_GONE_MAX 256  /* the oldest are forgotten first */
#define IDS_GONE_MS 20000 /* no question waits longer for its answer */

/* Numbers that are gone. */
struct ids_gone {
	struct {
		uint32_t id;
		uint64_t ms; /* when, by clock_ms(); 0: never */
	} at[IDS_GONE_MAX];
	size_t next;
};

void ids_gone_put(struct ids_gone *g, uint32_t id, uint64_t now_ms);
bool ids_gone_has(const struct ids_gone *g, uint32_t id, uint64_t now_ms);

#endif
