/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/queue.h>
#include <sys/random.h>

#include <stdlib.h>

#include "base/ids.h"
#include "base/rd.h"
#include "base/siphash.h"
#include "priv/owners.h"

#define BUCKETS 1024 /* by name; a power of two */

struct owned {
	struct ids_entry by_id;
	LIST_ENTRY(owned) by_name;
	TAILQ_ENTRY(owned) by_age;
	uint32_t worker;
	size_t n;
	char name[OWNERS_NAME_MAX];
};

struct owners {
	struct ids ids;
	LIST_HEAD(, owned) names[BUCKETS];
	TAILQ_HEAD(, owned) ages; /* oldest first; owned, each */
	uint8_t key[SIPHASH_KEY_SIZE];
};

struct owners *
owners_new(enum err *err)
{
	struct owners *o = calloc(1, sizeof(*o));

	if (o == NULL ||
	    getrandom(o->key, sizeof(o->key), 0) != sizeof(o->key)) {
		free(o);
		*err = ERR_MEMORY;
		return NULL;
	}
	ids_init(&o->ids);
	TAILQ_INIT(&o->ages);
	for (size_t i = 0; i < BUCKETS; i++)
		LIST_INIT(&o->names[i]);
	return o;
}

static void
drop(struct owners *o, struct owned *w)
{
	if (w == NULL)
		return;
	ids_remove(&o->ids, &w->by_id);
	LIST_REMOVE(w, by_name);
	TAILQ_REMOVE(&o->ages, w, by_age);
	free(w);
}

void
owners_free(struct owners *o)
{
	if (o == NULL)
		return;
	while (!TAILQ_EMPTY(&o->ages))
		drop(o, TAILQ_FIRST(&o->ages));
	free(o);
}

static size_t
bucket_of(const struct owners *o, struct slice name)
{
	return siphash(o->key, name) % BUCKETS;
}

static struct owned *
find_name(const struct owners *o, struct slice name)
{
	struct owned *w;

	LIST_FOREACH(w, &o->names[bucket_of(o, name)], by_name)
		if (slice_eq(slice_of(w->name, w->n), name))
			return w;
	return NULL;
}

int
owners_take(struct owners *o, struct slice body, uint32_t *sandbox,
    struct slice *name, enum err *err)
{
	struct rd r = rd_of(body);
	uint32_t id = rd_u32(&r), worker = rd_u32(&r);
	struct slice text = rd_slice8(&r);
	struct owned *w;

	*err = ERR_MESSAGE;
	if (!rd_is_done(&r) || worker == 0 || text.n == 0 ||
	    text.n > OWNERS_NAME_MAX)
		return -1;
	*err = ERR_MEMORY;
	w = calloc(1, sizeof(*w));
	if (w == NULL)
		return -1;
	drop(o, ids_find(&o->ids, id));
	drop(o, find_name(o, text));
	if (o->ids.n == OWNERS_MAX)
		drop(o, TAILQ_FIRST(&o->ages));
	w->worker = worker;
	w->n = text.n;
	memcpy(w->name, text.p, text.n);
	ids_put(&o->ids, &w->by_id, id, w);
	LIST_INSERT_HEAD(&o->names[bucket_of(o, text)], w, by_name);
	TAILQ_INSERT_TAIL(&o->ages, w, by_age);
	if (sandbox != NULL)
		*sandbox = id;
	if (name != NULL)
		*name = text;
	return 0;
}

void
owners_forget(struct owners *o, uint32_t sandbox)
{
	drop(o, ids_find(&o->ids, sandbox));
}

uint32_t
owners_of(const struct owners *o, uint32_t sandbox)
{
	const struct owned *w = ids_find(&o->ids, sandbox);

	return w == NULL ? 0 : w->worker;
}

uint32_t
owners_of_name(const struct owners *o, struct slice name)
{
	const struct owned *w = find_name(o, name);

	return w == NULL ? 0 : w->worker;
}

bool
owners_may(const struct owners *o, uint32_t worker, struct slice body)
{
	struct rd r = rd_of(body);
	uint32_t owner = owners_of(o, rd_u32(&r));

	return r.bad || owner == 0 || owner == worker;
}
