/* SPDX-License-Identifier: Apache-2.0 */
#include "git/spool.h"
#include "base/limits.h"

#define FIRST_OBJECTS 64
/* Of an object beside its content: itself, twice as it grows, its slots. */
#define OVERHEAD (2 * sizeof(struct object) + 32)

void
spool_init(struct spool *s, const struct pack_cfg *cfg)
{
	*s = (struct spool){ .kept = cfg->before };
	memcpy(s->key, cfg->key, SIPHASH_KEY_SIZE);
}

struct pack_kept
spool_kept(const struct spool *s)
{
	return s->kept;
}

void
spool_release(struct spool *s)
{
	for (size_t i = 0; i < s->n; i++)
		free(s->objects[i].p);
	free(s->objects);
	free(s->by_id.slots);
	free(s->by_at.slots);
	*s = (struct spool){ 0 };
}

bool
spool_has_room(const struct spool *s, enum object_kind kind, size_t n)
{
	bool is_tree = kind == OBJECT_TREE;
	size_t kept = is_tree ? s->kept.trees : s->kept.commits;
	size_t most = is_tree ? LIMIT_PACK_TREES_SIZE : LIMIT_PACK_COMMITS_SIZE;

	return kept + OVERHEAD <= most && n <= most - kept - OVERHEAD;
}

static uint64_t
hash_id(const struct spool *s, const struct oid *id)
{
	return siphash(s->key, slice_of(id->b, id->n));
}

static uint64_t
hash_at(const struct spool *s, uint64_t at)
{
	return siphash(s->key, slice_of(&at, sizeof(at)));
}

static void
index_put(struct spool_index *x, uint64_t hash, size_t object)
{
	size_t i = hash & (x->n - 1);

	while (x->slots[i] != 0)
		i = (i + 1) & (x->n - 1);
	x->slots[i] = (uint32_t)object + 1;
}

/* Room for one object more: at most half of the slots are used. */
static bool
index_grow(struct spool *s, struct spool_index *x)
{
	if (2 * (s->n + 1) <= x->n)
		return true;
	size_t n = x->n == 0 ? 2 * FIRST_OBJECTS : 2 * x->n;
	uint32_t *slots = calloc(n, sizeof(*slots));
	if (slots == NULL)
		return false;
	free(x->slots);
	*x = (struct spool_index){ slots, n };
	for (size_t i = 0; i < s->n; i++) {
		const struct object *o = &s->objects[i];
		index_put(x,
		    x == &s->by_id ? hash_id(s, &o->id) : hash_at(s, o->at), i);
	}
	return true;
}

static bool
grow(struct spool *s)
{
	if (s->n == s->cap) {
		size_t cap = s->cap == 0 ? FIRST_OBJECTS : 2 * s->cap;
		struct object *o = realloc(s->objects, cap * sizeof(*o));
		if (o == NULL)
			return false;
		s->objects = o;
		s->cap = cap;
	}
	return index_grow(s, &s->by_id) && index_grow(s, &s->by_at);
}

enum spool_put
spool_put(struct spool *s, const struct object *o)
{
	if (spool_find(s, &o->id) != NULL)
		return SPOOL_TWICE;
	if (!spool_has_room(s, o->kind, o->n) || !grow(s))
		return SPOOL_FULL;
	*(o->kind == OBJECT_TREE ? &s->kept.trees : &s->kept.commits) +=
	    o->n + OVERHEAD;
	s->objects[s->n] = *o;
	index_put(&s->by_id, hash_id(s, &o->id), s->n);
	index_put(&s->by_at, hash_at(s, o->at), s->n);
	s->n++;
	return SPOOL_KEPT;
}

struct object *
spool_find(const struct spool *s, const struct oid *id)
{
	if (s->n == 0)
		return NULL;
	size_t mask = s->by_id.n - 1;
	for (size_t i = hash_id(s, id) & mask; s->by_id.slots[i] != 0;
	     i = (i + 1) & mask) {
		struct object *o = &s->objects[s->by_id.slots[i] - 1];
		if (oid_eq(&o->id, id))
			return o;
	}
	return NULL;
}

struct object *
spool_at(const struct spool *s, uint64_t at)
{
	if (s->n == 0)
		return NULL;
	size_t mask = s->by_at.n - 1;
	for (size_t i = hash_at(s, at) & mask; s->by_at.slots[i] != 0;
	     i = (i + 1) & mask) {
		struct object *o = &s->objects[s->by_at.slots[i] - 1];
		if (o->at == at)
			return o;
	}
	return NULL;
}
