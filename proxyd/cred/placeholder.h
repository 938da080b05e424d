/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Placeholders: what a sandbox holds in the place of a credential.  Random, one
 * for each sandbox, credential and place, of a shape that the client libraries
 * of that service take for real.
 *
 * The reserved form.  Behind the shape's own prefix each has PLACEHOLDER_MARK,
 * eight fixed characters, then at least twelve random ones.  So a placeholder is
 * recognised wherever it stands and whoever made it, without a table of the
 * others' and without a key that would have to be shared between machines.  The
 * mark opens nothing; a sandbox that writes one gets its own request refused.
 */
#ifndef CRED_PLACEHOLDER_H
#define CRED_PLACEHOLDER_H

#include "base/attr.h"
#include "base/err.h"
#include "base/slice.h"

#define PLACEHOLDER_MARK "dUeNnA7q" /* found in any case */
#define PLACEHOLDER_SIZE_MAX 192    /* bytes of a placeholder */
#define PLACEHOLDER_LIKE_MAX 48	    /* bytes of a shape's prefix */
#define PLACEHOLDERS_MAX 512	    /* of one sandbox */

struct placeholder {
	uint32_t credential; /* index in the program */
	size_t n;
	uint8_t text[PLACEHOLDER_SIZE_MAX];
};

/*
 * Make one.
 *
 * like	 "ghp_", "sk-ant-", "AIza", "jwt" and those of the table there: as long as
 *	 the real ones; any other prefix of letters, digits, `-`, `_` and `.`:
 *	 it and 36 characters; empty: "duenna-" and 36
 *
 * False if `like` is no such prefix, or there is no randomness.
 */
MUST_USE bool placeholder_make(struct slice like, uint32_t credential,
    struct placeholder *p);

/* Those of one sandbox. */
struct placeholder_set {
	struct placeholder *at; /* owned; NULL while empty */
	size_t n;
};

void placeholder_set_init(struct placeholder_set *set);
void placeholder_set_release(struct placeholder_set *set);

/* Add one.  0, or -1 with ERR_MESSAGE (too long, or not of the reserved form),
 * ERR_FULL, ERR_MEMORY. */
MUST_USE int placeholder_set_add(struct placeholder_set *set,
    uint32_t credential, struct slice text, enum err *err);

/* The one that is exactly this text, or NULL. */
const struct placeholder *placeholder_find(const struct placeholder_set *set,
    struct slice text);

/* Does the mark stand anywhere in it, in any case?  Pure. */
bool placeholder_is_marked(struct slice text);

/* Is every mark in it part of one of this sandbox's placeholders?  Pure. */
bool placeholder_are_ours(const struct placeholder_set *set, struct slice text);

#endif
