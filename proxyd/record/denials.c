/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/queue.h>
#include <sys/random.h>

#include <stdlib.h>

#include "base/limits.h"
#include "base/siphash.h"
#include "base/wr.h"
#include "record/denials.h"

#define BUCKETS 256
#define KEY_MAX (4 * (EVENT_TEXT_MAX + 2) + 8)

/* A sandbox's budget: thousandths of a denial, refilled with time. */
struct budget {
	SLIST_ENTRY(budget) entry;
	uint64_t milli, at_ms;
	size_t n;
	uint8_t sandbox[];
};

/* Equal denials: the first of them, and how many. */
struct kind {
	SLIST_ENTRY(kind) entry;
	uint64_t hash, count;
	bool rest; /* others with this reason are counted with it */
	size_t n_key, n_event;
	uint8_t bytes[]; /* the key, then the encoded event */
};

struct denials {
	SLIST_HEAD(, budget) budgets;
	size_t n_budgets;
	struct budget *shared; /* owned: of sandboxes above the ceiling */
	SLIST_HEAD(, kind) kinds[BUCKETS];
	size_t n_kinds, size;
	uint8_t key[SIPHASH_KEY_SIZE];
	struct kind *taken; /* owned: what denials_take() gave last */
	uint8_t scratch[EVENT_SIZE_MAX];
};

static struct budget *
budget_new(struct slice sandbox)
{
	struct budget *b = calloc(1, sizeof(*b) + sandbox.n);

	if (b == NULL)
		return NULL;
	b->milli = (uint64_t)LIMIT_DENIALS_BURST * 1000;
	b->n = sandbox.n;
	if (sandbox.n != 0)
		memcpy(b->sandbox, sandbox.p, sandbox.n);
	return b;
}

struct denials *
denials_new(enum err *err)
{
	struct denials *d = calloc(1, sizeof(*d));

	*err = ERR_MEMORY;
	if (d == NULL)
		return NULL;
	d->shared = budget_new((struct slice){ 0 });
	if (d->shared == NULL ||
	    getrandom(d->key, sizeof(d->key), 0) != sizeof(d->key)) {
		denials_free(d);
		return NULL;
	}
	return d;
}

void
denials_free(struct denials *d)
{
	struct event e;

	if (d == NULL)
		return;
	while (denials_take(d, &e))
		;
	free(d->taken);
	while (!SLIST_EMPTY(&d->budgets)) {
		struct budget *b = SLIST_FIRST(&d->budgets);
		SLIST_REMOVE_HEAD(&d->budgets, entry);
		free(b);
	}
	free(d->shared);
	free(d);
}

static struct budget *
find_budget(struct denials *d, struct slice sandbox)
{
	struct budget *b;

	SLIST_FOREACH(b, &d->budgets, entry)
		if (slice_eq(slice_of(b->sandbox, b->n), sandbox))
			return b;
	if (d->n_budgets >= DENIALS_SANDBOXES_MAX ||
	    (b = budget_new(sandbox)) == NULL)
		return d->shared;
	SLIST_INSERT_HEAD(&d->budgets, b, entry);
	d->n_budgets++;
	return b;
}

/* Take one from the budget; false if it is spent. */
static bool
spend(struct budget *b, uint64_t now_ms)
{
	const uint64_t full = (uint64_t)LIMIT_DENIALS_BURST * 1000;
	uint64_t passed = now_ms > b->at_ms ? now_ms - b->at_ms : 0;

	b->at_ms = now_ms;
	if (passed > full)
		passed = full;
	b->milli += passed * LIMIT_DENIALS_PER_S;
	if (b->milli > full)
		b->milli = full;
	if (b->milli < 1000)
		return false;
	b->milli -= 1000;
	return true;
}

/* What makes two denials equal; `rest` leaves out what a peer chooses. */
static struct slice
key_of(const struct event *e, bool rest, uint8_t key[KEY_MAX])
{
	static const enum event_field parts[] = { FIELD_SANDBOX, FIELD_REASON,
		FIELD_HOST, FIELD_METHOD };
	struct wr w = wr_of(key, KEY_MAX);

	wr_u8(&w, (uint8_t)e->kind);
	wr_u8(&w, rest);
	for (size_t i = 0; i < (rest ? 2 : COUNT_OF(parts)); i++)
		wr_slice16(&w,
		    slice_first(event_text_of(e, parts[i]), EVENT_TEXT_MAX));
	return wr_slice(&w);
}

static struct kind *
find_kind(struct denials *d, struct slice key, uint64_t hash)
{
	struct kind *k;

	SLIST_FOREACH(k, &d->kinds[hash % BUCKETS], entry)
		if (k->hash == hash &&
		    slice_eq(slice_of(k->bytes, k->n_key), key))
			return k;
	return NULL;
}

static struct kind *
add_kind(struct denials *d, struct slice key, uint64_t hash,
    const struct event *e)
{
	size_t n = event_encode(e, d->scratch, sizeof(d->scratch));
	struct kind *k = calloc(1, sizeof(*k) + key.n + n);

	if (k == NULL)
		return NULL;
	k->hash = hash;
	k->n_key = key.n;
	k->n_event = n;
	memcpy(k->bytes, key.p, key.n);
	memcpy(k->bytes + key.n, d->scratch, n);
	SLIST_INSERT_HEAD(&d->kinds[hash % BUCKETS], k, entry);
	d->n_kinds++;
	d->size += n;
	return k;
}

bool
denials_covers(const struct event *e)
{
	if (e->kind == EVENT_FLOW_END && !event_has(e, FIELD_BYTES_UP))
		return true;
	return e->kind != EVENT_ALARM &&
	    slice_eq_str(event_text_of(e, FIELD_VERDICT), "deny");
}

bool
denials_count(struct denials *d, const struct event *e, uint64_t now_ms)
{
	uint8_t bytes[KEY_MAX];
	bool rest = false;

	if (spend(find_budget(d, event_text_of(e, FIELD_SANDBOX)), now_ms))
		return false;
	for (;;) {
		struct slice key = key_of(e, rest, bytes);
		uint64_t hash = siphash(d->key, key);
		struct kind *k = find_kind(d, key, hash);
		/* The rest is bounded by the closed list of reasons. */
		if (k == NULL && !rest &&
		    (d->n_kinds >= DENIALS_KINDS_MAX ||
			d->size >= DENIALS_SIZE_MAX)) {
			rest = true;
			continue;
		}
		if (k == NULL)
			k = add_kind(d, key, hash, e);
		if (k == NULL)
			return false;
		k->rest = rest;
		k->count++;
		return true;
	}
}

bool
denials_is_empty(const struct denials *d)
{
	return d->n_kinds == 0;
}

bool
denials_take(struct denials *d, struct event *e)
{
	struct kind *k = NULL;

	free(d->taken);
	d->taken = NULL;
	for (size_t i = 0; i < BUCKETS && k == NULL; i++) {
		k = SLIST_FIRST(&d->kinds[i]);
		if (k != NULL)
			SLIST_REMOVE_HEAD(&d->kinds[i], entry);
	}
	if (k == NULL)
		return false;
	d->taken = k;
	d->n_kinds--;
	d->size -= k->n_event;
	/* Bytes of our own event_encode(): they are one. */
	if (!event_decode(slice_of(k->bytes + k->n_key, k->n_event), e))
		abort();
	event_number(e, FIELD_COUNTED, k->count);
	if (k->rest)
		event_str(e, FIELD_DETAIL,
		    "the first of many; the others have this reason too");
	return true;
}
