/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the keeper knows: the owner's configuration, the secrets, and for each
 * sandbox its name and program.  All of it came from the monitor.
 */
#ifndef KEEP_STORE_H
#define KEEP_STORE_H

#include "base/attr.h"
#include "base/err.h"
#include "base/ids.h"
#include "base/reason.h"
#include "base/secret.h"
#include "policy/owner.h"
#include "priv/who.h"

#define STORE_SANDBOXES_MAX 4096
#define STORE_NAME_MAX 64   /* bytes of a sandbox's name */
#define STORE_DIGEST_MAX 80 /* bytes of "sha256:" and its digits */

struct store;

MUST_USE struct store *store_new(enum err *err); /* NULL: ERR_MEMORY */
void store_free(struct store *s);		 /* wipes the secrets */

/*
 * The owner's configuration, which becomes the store's.  Secrets that came
 * before belong to the former one and are wiped.  0 or -1: ERR_MEMORY.
 */
MUST_USE int store_set_owner(struct store *s, struct owner *owner,
    enum err *err);

/* NULL: it has not come yet. */
const struct owner *store_owner(const struct store *s);

/*
 * A secret, copied.  One line end behind it is cut off.  What is then empty, or
 * has a control character (a line end in it would be a second header), is not
 * to be had, and neither is one with `here` false.
 *
 * 0, or -1 with ERR_MESSAGE (no such credential, or not to be had: it is wiped)
 * or ERR_MEMORY.
 */
MUST_USE int store_set_secret(struct store *s, uint32_t credential, bool here,
    struct slice bytes, enum err *err);

/* It is not to be had any more. */
void store_drop_secret(struct store *s, uint32_t credential);

/* Is its secret here, and its time (`for:`) not over? */
bool store_is_current(const struct store *s, uint32_t credential);

/*
 * The value of a credential's slot, prefix and all; also of one whose time was
 * over a moment ago.
 *
 * user	 a token is to be the password of Basic beside this name; NULL: it is
 *	 what its kind says
 *
 * 0, or -1 with ERR_MISSING: it is not to be had; ERR_MEMORY; ERR_MESSAGE: it is
 * too long for that.
 */
MUST_USE int store_value(const struct store *s, uint32_t credential,
    const char *user, struct secret *value, enum err *err);

/* Its name for records, "?" if there is no such credential. */
struct slice store_name(const struct store *s, uint32_t credential);

/* One sandbox. */
struct store_sandbox {
	struct ids_entry by_id;
	uint32_t id, generation;
	struct program *program; /* owned; NULL: none yet */
	size_t n_name, n_digest;
	char name[STORE_NAME_MAX];
	char digest[STORE_DIGEST_MAX];
};

/* NULL: unknown. */
const struct store_sandbox *store_find(const struct store *s, uint32_t id);

/* It is gone. */
void store_forget(struct store *s, uint32_t id);
/* Was it forgotten a moment ago?  Then it may have been asked for before. */
bool store_is_gone(const struct store *s, uint32_t id);

/*
 * Is it the program that this sandbox has?  ALLOW; SHUTDOWN: nothing is known
 * yet, or it is gone; POLICY_NONE: no such sandbox; POLICY_CHANGED.
 *
 * forged   set: whoever asks is not ours; a generation that is over is honest
 */
MUST_USE enum reason store_check(const struct store *s, const struct who *who,
    bool *forged);

/* 0, or -1 with ERR_MESSAGE (too long), ERR_FULL, ERR_MEMORY. */
MUST_USE int store_set_name(struct store *s, uint32_t id, struct slice name,
    enum err *err);

/* `program` becomes the store's, also on failure.  As above. */
MUST_USE int store_set_program(struct store *s, uint32_t id,
    uint32_t generation, struct slice digest, struct program *program,
    enum err *err);

#endif
