/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes that are locked into memory, left out of core dumps and wiped.  There
 * is no way to print one.
 */
#ifndef BASE_SECRET_H
#define BASE_SECRET_H

#include "base/attr.h"
#include "base/err.h"
#include "base/slice.h"

#define SECRET_MAX 16384 /* bytes; a private key or a long JWT fits */

struct secret {
	uint8_t *p;  /* owned: pages of its own; NULL when empty */
	size_t n;    /* bytes of the secret */
	size_t size; /* bytes mapped */
};

/* Copy `bytes` in.  0, or -1 with ERR_MEMORY; the caller wipes its own copy. */
MUST_USE int secret_init(struct secret *s, struct slice bytes, enum err *err);

/* Wipe; the page may hold the next secret.  An empty one stays so. */
void secret_release(struct secret *s);

static inline struct slice
secret_slice(const struct secret *s)
{
	return (struct slice){ s->p, s->n };
}

#endif
