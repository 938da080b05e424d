/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/queue.h>

#include "base/clock.h"
#include "keep/told.h"

#define BUCKETS 4096 /* a power of two; cookies count up, so they spread */

/* All entries are made at once: the table never grows, and never fails. */
struct entry {
	TAILQ_ENTRY(entry) age;	     /* on told->ages, last used first */
	LIST_ENTRY(entry) neighbour; /* in its bucket, while `used` */
	bool used;
	struct told_dial dial;
};

struct told {
	struct entry *entries; /* owned; TOLD_MAX of them */
	TAILQ_HEAD(age_list, entry) ages;
	LIST_HEAD(, entry) buckets[BUCKETS];
	uint64_t forgive_ms; /* see told_forgive() */
};

struct told *
told_new(enum err *err)
{
	struct told *t = calloc(1, sizeof(*t));

	*err = ERR_MEMORY;
	if (t == NULL)
		return NULL;
	t->entries = calloc(TOLD_MAX, sizeof(*t->entries));
	if (t->entries == NULL) {
		free(t);
		return NULL;
	}
	TAILQ_INIT(&t->ages);
	for (size_t i = 0; i < BUCKETS; i++)
		LIST_INIT(&t->buckets[i]);
	for (size_t i = 0; i < TOLD_MAX; i++)
		TAILQ_INSERT_TAIL(&t->ages, &t->entries[i], age);
	*err = ERR_NONE;
	return t;
}

void
told_free(struct told *t)
{
	if (t == NULL)
		return;
	free(t->entries);
	free(t);
}

static struct entry *
find(struct told *t, uint64_t cookie)
{
	struct entry *e;

	LIST_FOREACH(e, &t->buckets[cookie % BUCKETS], neighbour)
		if (e->dial.cookie == cookie)
			return e;
	return NULL;
}

static void
touch(struct told *t, struct entry *e)
{
	TAILQ_REMOVE(&t->ages, e, age);
	TAILQ_INSERT_HEAD(&t->ages, e, age);
}

void
told_put(struct told *t, const struct told_dial *dial)
{
	struct entry *e = find(t, dial->cookie);

	if (e == NULL) {
		e = TAILQ_LAST(&t->ages, age_list);
		if (e->used)
			LIST_REMOVE(e, neighbour);
		LIST_INSERT_HEAD(&t->buckets[dial->cookie % BUCKETS], e,
		    neighbour);
		e->used = true;
	}
	e->dial = *dial;
	touch(t, e);
}

const struct told_dial *
told_find(struct told *t, uint64_t cookie)
{
	struct entry *e = find(t, cookie);

	if (e == NULL)
		return NULL;
	touch(t, e);
	return &e->dial;
}

void
told_forgive(struct told *t, uint64_t until_ms)
{
	t->forgive_ms = until_ms;
}

bool
told_may_have_forgotten(const struct told *t)
{
	return clock_ms() < t->forgive_ms;
}
