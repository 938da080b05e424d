/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The name of a git object: SHA-1 or SHA-256 over its kind, size and content
 * (gitformat-pack(5)).
 *
 * Two contents of one SHA-1 can be made.  What is decided here by such a name
 * counts on the server, as git does, to refuse both a content that is built
 * for a collision and another content for a name that it has.
 * Pure.
 */
#ifndef GIT_OID_H
#define GIT_OID_H

#include "base/attr.h"
#include "base/slice.h"

#define OID_SHA1 20   /* bytes of a name in a SHA-1 repository */
#define OID_SHA256 32 /* bytes of a name in a SHA-256 repository */
#define OID_TEXT_SIZE (2 * OID_SHA256 + 1) /* digits of either, and a NUL */

struct oid {
	uint8_t n;	       /* OID_SHA1 or OID_SHA256; 0: no name */
	uint8_t b[OID_SHA256]; /* the first n; zeros behind */
};

static inline bool
oid_eq(const struct oid *a, const struct oid *b)
{
	return a->n == b->n && memcmp(a->b, b->b, a->n) == 0;
}

/* A name of nothing but zeros: "no object" in commands. */
bool oid_is_zero(const struct oid *o);

/* The name that stands as `n` raw bytes at `p`, n being one of the two. */
struct oid oid_of(const uint8_t *p, size_t n);

/* Exactly 2 * n lower-case digits, else false. */
MUST_USE bool oid_read(struct slice text, size_t n, struct oid *o);

/* Its lower-case digits and a NUL. */
void oid_text(const struct oid *o, char text[OID_TEXT_SIZE]);

#endif
