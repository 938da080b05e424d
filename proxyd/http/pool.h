/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Idle upstream connections of one sandbox.  One is taken for the same name,
 * port, scheme, ALPN, kind of address and generation (the keeper releases a
 * credential only for a dial of the present one), whatever the rule: all rules
 * of a host share what is verified for it.  Any byte, end or failure while it
 * is idle ends it, and so does LIMIT_POOL_IDLE_MS.
 */
#ifndef HTTP_POOL_H
#define HTTP_POOL_H

#include "net/stream.h"
#include "wire/alpn.h"
#include "wire/host.h"

struct pool;

struct pool_key {
	const struct host *host; /* borrowed; copied by pool_put() */
	uint16_t port;
	bool tls;
	enum alpn alpn; /* what the client was given */
	/* The dial was for a rule that reaches public addresses alone. */
	bool public_only;
	uint32_t generation;
};

bool pool_key_eq(const struct pool_key *a, const struct pool_key *b);

MUST_USE struct pool *pool_new(struct loop *l);
/* Closes what is in it. */
void pool_free(struct pool *p);

/* The connection used last, the caller's now; or NULL. */
MUST_USE struct stream *pool_take(struct pool *p, const struct pool_key *key);

/* Keep `s` (the pool's now), or close it if it is not idle or there are many. */
void pool_put(struct pool *p, const struct pool_key *key, struct stream *s);

/* Close the one that was not used longest; false: there is none. */
bool pool_drop_oldest(struct pool *p);

size_t pool_count(const struct pool *p);

#endif
