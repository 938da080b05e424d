/* SPDX-License-Identifier: Apache-2.0 */
#include "git/entries.h"
#include "base/limits.h"

#define FIRST_CAP 256
#define KIND_BITS 3
#define KIND_MASK 7U

void
entries_release(struct entries *e)
{
	free(e->low);
	free(e->high);
	free(e->names);
	*e = (struct entries){ 0 };
}

static bool
grow(struct entries *e)
{
	size_t cap = e->cap == 0 ? FIRST_CAP : 2 * e->cap;
	uint32_t *low = realloc(e->low, cap * sizeof(*low));

	if (low == NULL)
		return false;
	e->low = low;
	uint8_t *high = realloc(e->high, cap);
	if (high == NULL)
		return false;
	e->high = high;
	e->cap = cap;
	return true;
}

bool
entries_put(struct entries *e, uint64_t at, enum object_kind k)
{
	if (at >= ENTRIES_AT_MAX || (e->n == e->cap && !grow(e)))
		return false;
	e->low[e->n] = (uint32_t)at;
	e->high[e->n] = (uint8_t)(at >> 32 << KIND_BITS | k);
	e->n++;
	return true;
}

static uint64_t
at_of(const struct entries *e, size_t i)
{
	return (uint64_t)(e->high[i] >> KIND_BITS) << 32 | e->low[i];
}

bool
entries_find(const struct entries *e, uint64_t at, size_t *i)
{
	size_t from = 0, to = e->n;

	while (from < to) {
		size_t middle = from + (to - from) / 2;
		if (at_of(e, middle) < at)
			from = middle + 1;
		else
			to = middle;
	}
	*i = from;
	return from < e->n && at_of(e, from) == at;
}

enum object_kind
entries_kind(const struct entries *e, size_t i)
{
	return (enum object_kind)(e->high[i] & KIND_MASK);
}

void
entries_set(struct entries *e, size_t i, enum object_kind k)
{
	e->high[i] = (uint8_t)((e->high[i] & ~KIND_MASK) | k);
}

/* The slot that has the hash, or the empty one where it belongs. */
static size_t
slot_of(const uint64_t *names, size_t cap, uint64_t hash)
{
	size_t i = hash & (cap - 1);

	while (names[i] != 0 && names[i] != hash)
		i = (i + 1) & (cap - 1);
	return i;
}

static bool
grow_names(struct entries *e)
{
	size_t cap = e->names_cap == 0 ? FIRST_CAP : 2 * e->names_cap;
	uint64_t *names = calloc(cap, sizeof(*names));

	if (names == NULL)
		return false;
	for (size_t i = 0; i < e->names_cap; i++) {
		if (e->names[i] != 0)
			names[slot_of(names, cap, e->names[i])] = e->names[i];
	}
	free(e->names);
	e->names = names;
	e->names_cap = cap;
	return true;
}

void
entries_name(struct entries *e, uint64_t hash)
{
	if (hash == 0 || e->n_names >= LIMIT_PACK_NAMES ||
	    (2 * (e->n_names + 1) > e->names_cap && !grow_names(e)))
		return;
	size_t i = slot_of(e->names, e->names_cap, hash);
	e->n_names += e->names[i] == 0;
	e->names[i] = hash;
}

bool
entries_has_name(const struct entries *e, uint64_t hash)
{
	return hash != 0 && e->names_cap != 0 &&
	    e->names[slot_of(e->names, e->names_cap, hash)] == hash;
}
