/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leaf certificates as a worker has them: asked of the keeper, kept for one
 * sandbox under a quota, shared by reference.
 *
 * A sandbox keeps LIMIT_LEAVES of them, the longest unused goes first.  For
 * names that only get a refusal LIMIT_REFUSED_LEAVES_PER_MIN are minted a
 * minute, so that nobody makes the keeper sign for fun.  A leaf is used for
 * half its life, then a new one is asked for.
 */
#ifndef TLS_LEAF_H
#define TLS_LEAF_H

#include "base/attr.h"
#include "base/err.h"
#include "base/reason.h"
#include "base/slice.h"

struct channel;
struct ctx_server;
struct leaf;	   /* immutable */
struct leaf_cache; /* of one sandbox */
struct leaf_wait;  /* somebody who waits for a leaf */
struct who;	   /* priv/who.h */
struct x509_st;	   /* OpenSSL's X509 */

#define LEAF_NAME_SIZE 254	/* longest name, and room for its length */
#define LEAF_HALF_LIFE_S 259200 /* three of the six days that lie ahead */

struct leaf *leaf_ref(struct leaf *leaf);
void leaf_unref(struct leaf *leaf);

/*
 * From a certificate in DER; one reference, the caller's.  NULL with
 * ERR_MESSAGE if it is none, or ERR_MEMORY.
 */
MUST_USE struct leaf *leaf_from_der(struct slice der, enum err *err);

/* For tls/ alone; lives as long as the leaf. */
struct x509_st *leaf_cert(struct leaf *leaf);

/* `server` is borrowed and lives longer.  NULL: ERR_MEMORY. */
MUST_USE struct leaf_cache *leaf_cache_new(struct ctx_server *server,
    enum err *err);

/* Who waits is forgotten, not told. */
void leaf_cache_free(struct leaf_cache *c);

/*
 * The keeper from now on, borrowed; NULL: it is away.  Whoever waits for the
 * former one is told NULL.  To be called with NULL before that channel is
 * freed.
 */
void leaf_cache_set_keeper(struct leaf_cache *c, struct channel *keeper);

/* Which leaf. */
struct leaf_name {
	struct slice name; /* canonical; copied */
	bool literal;	   /* it is the text of an address */
	bool refused;	   /* it will only get a refusal: the small budget */
};

/* A leaf that is at hand: a reference, the caller's, or NULL. */
MUST_USE struct leaf *leaf_find(struct leaf_cache *c,
    const struct leaf_name *name);

/* `leaf` lives for the call, take a reference; NULL: there will be none, and
 * the reason why. */
typedef void leaf_on_done(struct leaf *leaf, enum reason reason, void *arg);

/*
 * Ask for one that leaf_find() did not have, for `who`.  `on_done` is called
 * exactly once, from the loop, unless it is cancelled; several that wait for one
 * name ask the keeper once.  It may not free the cache.
 *
 * NULL with ERR_CLOSED (the keeper is away), ERR_FULL (the budget is spent) or
 * ERR_MEMORY.
 */
MUST_USE struct leaf_wait *leaf_ask(struct leaf_cache *c,
    const struct leaf_name *name, const struct who *who, leaf_on_done *on_done,
    void *arg, enum err *err);

/* Do not tell any more; NULL does nothing.  Not after on_done was called. */
void leaf_cancel(struct leaf_wait *wait);

#endif
