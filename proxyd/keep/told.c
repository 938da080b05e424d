/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/queue.h>

#include "base/clock.h"
#include "keep/told.h"

#define BUCKETS 4096 /* a power of two; cookies count up, so they spread */

struct entry {
	TAILQ_ENTRY(entry) age;	     /* on told->ages, last used first */
	LIST_ENTRY(entry) neighbour; /* in its bucket */
	struct told_dial dial;
};

struct told {
	TAILQ_HEAD(age_list, entry) ages;
	LIST_HEAD(, entry) buckets[BUCKETS];
	size_t n;
	uint64_t forgive_ms; /* see told_forgive() */
};

struct told *
told_new(enum err *err)
{
	struct told *t = calloc(1, sizeof(*t));

	*err = ERR_MEMORY;
	if (t == NULL)
		return NULL;
	TAILQ_INIT(&t->ages);
	for (size_t i = 0; i < BUCKETS; i++)
		LIST_INIT(&t->buckets[i]);
	*err = ERR_NONE;
	return t;
}

static void
take_out(struct told *t, struct entry *e)
{
	TAILQ_REMOVE(&t->ages, e, age);
	LIST_REMOVE(e, neighbour);
	t->n--;
}

/* Take the entry that was used longest ago out; the caller's now. */
static struct entry *
take_oldest(struct told *t)
{
	struct entry *e = TAILQ_LAST(&t->ages, age_list);

	if (e != NULL)
		take_out(t, e);
	return e;
}

void
told_free(struct told *t)
{
	struct entry *e;

	if (t == NULL)
		return;
	while ((e = take_oldest(t)) != NULL)
		free(e);
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

/* A new entry; without memory for one more an old one is used again. */
static struct entry *
add(struct told *t, uint64_t cookie)
{
	struct entry *e = t->n < TOLD_MAX ? calloc(1, sizeof(*e)) : NULL;

	if (e == NULL)
		e = take_oldest(t);
	if (e == NULL)
		return NULL;
	TAILQ_INSERT_HEAD(&t->ages, e, age);
	LIST_INSERT_HEAD(&t->buckets[cookie % BUCKETS], e, neighbour);
	t->n++;
	return e;
}

bool
told_put(struct told *t, const struct told_dial *dial)
{
	struct entry *e = find(t, dial->cookie);

	if (e == NULL)
		e = add(t, dial->cookie);
	if (e == NULL)
		return false;
	e->dial = *dial;
	touch(t, e);
	return true;
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
told_forget(struct told *t, uint32_t sandbox)
{
	struct entry *e = TAILQ_FIRST(&t->ages);

	for (struct entry *after; e != NULL; e = after) {
		after = TAILQ_NEXT(e, age);
		if (e->dial.sandbox != sandbox)
			continue;
		take_out(t, e);
		free(e);
	}
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
