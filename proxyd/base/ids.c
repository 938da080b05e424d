/* SPDX-License-Identifier: Apache-2.0 */
#include "base/ids.h"

void
ids_init(struct ids *ids)
{
	for (size_t i = 0; i < IDS_BUCKETS; i++)
		LIST_INIT(&ids->buckets[i]);
	ids->n = 0;
}

void
ids_put(struct ids *ids, struct ids_entry *e, uint32_t id, void *item)
{
	e->id = id;
	e->item = item;
	LIST_INSERT_HEAD(&ids->buckets[id % IDS_BUCKETS], e, neighbour);
	ids->n++;
}

void
ids_remove(struct ids *ids, struct ids_entry *e)
{
	LIST_REMOVE(e, neighbour);
	ids->n--;
}

void *
ids_find(const struct ids *ids, uint32_t id)
{
	const struct ids_entry *e;

	LIST_FOREACH(e, &ids->buckets[id % IDS_BUCKETS], neighbour)
		if (e->id == id)
			return e->item;
	return NULL;
}

void *
ids_any(const struct ids *ids)
{
	for (size_t i = 0; ids->n != 0 && i < IDS_BUCKETS; i++)
		if (!LIST_EMPTY(&ids->buckets[i]))
			return LIST_FIRST(&ids->buckets[i])->item;
	return NULL;
}

void
ids_gone_put(struct ids_gone *g, uint32_t id, uint64_t now_ms)
{
	g->at[g->next].id = id;
	g->at[g->next].ms = now_ms;
	g->next = (g->next + 1) % IDS_GONE_MAX;
}

bool
ids_gone_has(const struct ids_gone *g, uint32_t id, uint64_t now_ms)
{
	for (size_t i = 0; i < IDS_GONE_MAX; i++)
		if (g->at[i].id == id && g->at[i].ms != 0 &&
		    now_ms - g->at[i].ms < IDS_GONE_MS)
			return true;
	return false;
}
