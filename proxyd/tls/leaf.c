/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/queue.h>

#include <assert.h>

#include <openssl/x509.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/rd.h"
#include "base/wr.h"
#include "net/channel.h"
#include "priv/ops.h"
#include "priv/who.h"
#include "tls/ctx.h"
#include "tls/leaf.h"

#define MINUTE_MS 60000
/* bytes of LEAF */
#define ASK_MAX (WHO_SIZE_MAX + 1 + 1 + LEAF_NAME_SIZE + 2 + CTX_SPKI_MAX)

struct leaf {
	unsigned refs;
	X509 *cert; /* owned */
};

/* A name, copied; equal means equal bytes and equal kind. */
struct key {
	uint8_t n;
	bool literal;
	uint8_t text[LEAF_NAME_SIZE];
};

struct entry {
	TAILQ_ENTRY(entry) link; /* on cache->entries, last used first */
	struct key key;
	struct leaf *leaf; /* owned: one reference */
	uint64_t born_s;   /* wall time: a suspended machine ages too */
};

struct leaf_wait {
	LIST_ENTRY(leaf_wait) link; /* on pending->waits */
	leaf_on_done *on_done;
	void *arg;
};

/* One request to the keeper, and who waits for its answer. */
struct pending {
	LIST_ENTRY(pending) link; /* on cache->pendings */
	struct leaf_cache *cache; /* borrowed */
	struct key key;
	uint32_t generation; /* that it was asked for */
	uint32_t id;	     /* of the request */
	LIST_HEAD(, leaf_wait) waits;
};

struct leaf_cache {
	struct ctx_server *server; /* borrowed */
	struct channel *keeper;	   /* borrowed; NULL: away */
	TAILQ_HEAD(entry_list, entry) entries;
	size_t n_entries;
	LIST_HEAD(, pending) pendings;
	uint64_t budget_ms; /* time saved up for refused names */
	uint64_t budget_at; /* clock_ms() when it was last counted */
};

struct leaf *
leaf_ref(struct leaf *leaf)
{
	leaf->refs++;
	return leaf;
}

void
leaf_unref(struct leaf *leaf)
{
	if (leaf == NULL || --leaf->refs != 0)
		return;
	X509_free(leaf->cert);
	free(leaf);
}

struct leaf *
leaf_from_der(struct slice der, enum err *err)
{
	struct leaf *leaf = calloc(1, sizeof(*leaf));
	const uint8_t *p = der.p;

	*err = ERR_MEMORY;
	if (leaf == NULL)
		return NULL;
	leaf->refs = 1;
	leaf->cert = der.n == 0 ? NULL : d2i_X509(NULL, &p, (long)der.n);
	if (leaf->cert == NULL || p != der.p + der.n) {
		leaf_unref(leaf);
		*err = ERR_MESSAGE;
		return NULL;
	}
	return leaf;
}

X509 *
leaf_cert(struct leaf *leaf)
{
	return leaf->cert;
}

static bool
key_init(struct key *key, const struct leaf_name *name)
{
	if (name->name.n == 0 || name->name.n >= LEAF_NAME_SIZE)
		return false;
	*key = (struct key){ .n = (uint8_t)name->name.n,
		.literal = name->literal };
	memcpy(key->text, name->name.p, name->name.n);
	return true;
}

static bool
key_eq(const struct key *a, const struct key *b)
{
	return a->n == b->n && a->literal == b->literal &&
	    memcmp(a->text, b->text, a->n) == 0;
}

struct leaf_cache *
leaf_cache_new(struct ctx_server *server, enum err *err)
{
	struct leaf_cache *c = calloc(1, sizeof(*c));

	if (c == NULL) {
		*err = ERR_MEMORY;
		return NULL;
	}
	c->server = server;
	TAILQ_INIT(&c->entries);
	LIST_INIT(&c->pendings);
	c->budget_ms = MINUTE_MS;
	c->budget_at = clock_ms();
	return c;
}

static void
drop_entry(struct leaf_cache *c, struct entry *e)
{
	TAILQ_REMOVE(&c->entries, e, link);
	c->n_entries--;
	leaf_unref(e->leaf);
	free(e);
}

/* Tell everybody who waits, in the order of the list, and forget the request. */
static void
settle(struct pending *p, struct leaf *leaf, enum reason reason)
{
	while (!LIST_EMPTY(&p->waits)) {
		struct leaf_wait *w = LIST_FIRST(&p->waits);
		LIST_REMOVE(w, link);
		w->on_done(leaf, reason, w->arg);
		free(w);
	}
	free(p);
}

void
leaf_cache_set_keeper(struct leaf_cache *c, struct channel *keeper)
{
	struct channel *former = c->keeper;
	LIST_HEAD(, pending) lost = LIST_HEAD_INITIALIZER(lost);

	if (former == keeper)
		return;
	c->keeper = keeper;
	/* First all off the cache: a callback may ask anew. */
	while (!LIST_EMPTY(&c->pendings)) {
		struct pending *p = LIST_FIRST(&c->pendings);
		channel_cancel(former, p->id);
		LIST_REMOVE(p, link);
		LIST_INSERT_HEAD(&lost, p, link);
	}
	while (!LIST_EMPTY(&lost)) {
		struct pending *p = LIST_FIRST(&lost);
		LIST_REMOVE(p, link);
		settle(p, NULL, REASON_SHUTDOWN);
	}
}

void
leaf_cache_free(struct leaf_cache *c)
{
	if (c == NULL)
		return;
	while (!LIST_EMPTY(&c->pendings)) {
		struct pending *p = LIST_FIRST(&c->pendings);
		channel_cancel(c->keeper, p->id);
		LIST_REMOVE(p, link);
		while (!LIST_EMPTY(&p->waits))
			leaf_cancel(LIST_FIRST(&p->waits));
		free(p);
	}
	while (!TAILQ_EMPTY(&c->entries))
		drop_entry(c, TAILQ_FIRST(&c->entries));
	free(c);
}

static uint64_t
now_s(void)
{
	return clock_wall_us() / 1000000;
}

/* A clock that was set back makes a leaf old, too: mint anew, no harm done. */
static bool
is_fresh(const struct entry *e)
{
	uint64_t now = now_s();

	return now >= e->born_s && now - e->born_s < LEAF_HALF_LIFE_S;
}

static struct entry *
find_entry(struct leaf_cache *c, const struct key *key)
{
	struct entry *e;

	TAILQ_FOREACH(e, &c->entries, link)
		if (key_eq(&e->key, key))
			return e;
	return NULL;
}

struct leaf *
leaf_find(struct leaf_cache *c, const struct leaf_name *name)
{
	struct entry *e;
	struct key key;

	if (!key_init(&key, name))
		return NULL;
	e = find_entry(c, &key);
	if (e == NULL)
		return NULL;
	if (!is_fresh(e)) {
		drop_entry(c, e);
		return NULL;
	}
	TAILQ_REMOVE(&c->entries, e, link);
	TAILQ_INSERT_HEAD(&c->entries, e, link);
	return leaf_ref(e->leaf);
}

/* Keep a reference; without memory it is simply not kept. */
static void
keep(struct leaf_cache *c, const struct key *key, struct leaf *leaf)
{
	struct entry *e = find_entry(c, key);

	if (e != NULL)
		drop_entry(c, e);
	while (c->n_entries >= LIMIT_LEAVES)
		drop_entry(c, TAILQ_LAST(&c->entries, entry_list));
	e = calloc(1, sizeof(*e));
	if (e == NULL)
		return;
	e->key = *key;
	e->leaf = leaf_ref(leaf);
	e->born_s = now_s();
	TAILQ_INSERT_HEAD(&c->entries, e, link);
	c->n_entries++;
}

/* The leaf of a LEAFED, or NULL and why. */
static struct leaf *
read_answer(const struct msg *m, enum reason *reason)
{
	struct rd r = rd_of(m->body);
	uint16_t n = rd_u16(&r);
	struct slice der = rd_slice16(&r);
	struct leaf *leaf = NULL;
	enum err err;

	*reason = REASON_INTERNAL;
	if (m->op != OP_LEAFED || !rd_is_done(&r) || n >= REASON_COUNT)
		return NULL;
	if (n == REASON_ALLOW)
		leaf = leaf_from_der(der, &err);
	if (n != REASON_ALLOW || leaf != NULL)
		*reason = (enum reason)n;
	return leaf;
}

static void
on_answer(struct msg *m, void *arg)
{
	struct pending *p = arg;
	enum reason reason = REASON_SHUTDOWN;
	struct leaf *leaf = m == NULL ? NULL : read_answer(m, &reason);

	LIST_REMOVE(p, link);
	if (leaf != NULL)
		keep(p->cache, &p->key, leaf);
	settle(p, leaf, reason);
	leaf_unref(leaf);
}

static bool
ask_keeper(struct pending *p, const struct who *who, enum err *err)
{
	uint8_t body[ASK_MAX];
	struct wr w = wr_of(body, sizeof(body));
	struct msg m = { .op = OP_LEAF };

	who_write(&w, who);
	wr_u8(&w, p->key.literal);
	wr_slice8(&w, slice_of(p->key.text, p->key.n));
	wr_slice16(&w, ctx_server_spki(p->cache->server));
	m.body = wr_slice(&w);
	p->id = channel_ask(p->cache->keeper, &m, on_answer, p, err);
	return p->id != 0;
}

/* Take one mint for a refused name out of the budget. */
static bool
spend(struct leaf_cache *c)
{
	const uint64_t cost = MINUTE_MS / LIMIT_REFUSED_LEAVES_PER_MIN;
	uint64_t now = clock_ms();

	c->budget_ms += now - c->budget_at;
	c->budget_at = now;
	if (c->budget_ms > MINUTE_MS)
		c->budget_ms = MINUTE_MS;
	if (c->budget_ms < cost)
		return false;
	c->budget_ms -= cost;
	return true;
}

static struct pending *
find_pending(struct leaf_cache *c, const struct key *key, uint32_t generation)
{
	struct pending *p;

	LIST_FOREACH(p, &c->pendings, link)
		if (key_eq(&p->key, key) && p->generation == generation)
			return p;
	return NULL;
}

static struct pending *
new_pending(struct leaf_cache *c, const struct key *key, bool refused,
    const struct who *who, enum err *err)
{
	struct pending *p;

	if (!channel_is_open(c->keeper)) {
		*err = ERR_CLOSED;
		return NULL;
	}
	if (refused && !spend(c)) {
		*err = ERR_FULL;
		return NULL;
	}
	p = calloc(1, sizeof(*p));
	if (p == NULL) {
		*err = ERR_MEMORY;
		return NULL;
	}
	p->cache = c;
	p->key = *key;
	p->generation = who->generation;
	LIST_INIT(&p->waits);
	if (!ask_keeper(p, who, err)) {
		free(p);
		return NULL;
	}
	LIST_INSERT_HEAD(&c->pendings, p, link);
	return p;
}

struct leaf_wait *
leaf_ask(struct leaf_cache *c, const struct leaf_name *name,
    const struct who *who, leaf_on_done *on_done, void *arg, enum err *err)
{
	struct leaf_wait *w = calloc(1, sizeof(*w));
	struct pending *p;
	struct key key;

	*err = ERR_MEMORY;
	if (w == NULL)
		return NULL;
	*err = ERR_MESSAGE;
	p = NULL;
	if (key_init(&key, name)) {
		p = find_pending(c, &key, who->generation);
		if (p == NULL)
			p = new_pending(c, &key, name->refused, who, err);
	}
	if (p == NULL) {
		free(w);
		return NULL;
	}
	*err = ERR_NONE;
	w->on_done = on_done;
	w->arg = arg;
	LIST_INSERT_HEAD(&p->waits, w, link);
	return w;
}

void
leaf_cancel(struct leaf_wait *wait)
{
	if (wait == NULL)
		return;
	LIST_REMOVE(wait, link);
	free(wait);
}
