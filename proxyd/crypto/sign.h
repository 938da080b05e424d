/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ed25519 signatures (RFC 8032): the checkpoints of an audit log (key made by
 * the scribe at its start) and that key's own certificate (the machine's audit
 * key, in the keeper).  Keys are the 32 raw bytes of the RFC.
 */
#ifndef CRYPTO_SIGN_H
#define CRYPTO_SIGN_H

#include "base/attr.h"
#include "base/err.h"
#include "base/secret.h"
#include "base/slice.h"

#define SIGN_PUBLIC_SIZE 32  /* bytes of a public key */
#define SIGN_PRIVATE_SIZE 32 /* bytes of a private key */
#define SIGN_SIZE 64	     /* bytes of a signature */

struct sign_key; /* a private key with its public half */

/* Make a new key.  NULL with ERR_CRYPTO. */
MUST_USE struct sign_key *sign_key_new(enum err *err);

/* The key of these SIGN_PRIVATE_SIZE bytes.  NULL with ERR_CRYPTO. */
MUST_USE struct sign_key *sign_key_open(const struct secret *bytes,
    enum err *err);

/* Its raw private bytes.  0, or -1 with ERR_CRYPTO or ERR_MEMORY. */
MUST_USE int sign_key_secret(const struct sign_key *k, struct secret *bytes,
    enum err *err);

/* Its public half, borrowed: SIGN_PUBLIC_SIZE bytes. */
const uint8_t *sign_key_public(const struct sign_key *k);

void sign_key_free(struct sign_key *k);

/* 0, or -1 with ERR_CRYPTO. */
MUST_USE int sign_make(const struct sign_key *k, struct slice message,
    uint8_t signature[SIGN_SIZE], enum err *err);

MUST_USE bool sign_verify(const uint8_t public[SIGN_PUBLIC_SIZE],
    struct slice message, const uint8_t signature[SIGN_SIZE]);

/*
 * What the machine's audit key signs for the key of a log, and how that is
 * checked: "duenna audit key v1", a NUL, the log's public key.
 */
#define SIGN_KEY_MESSAGE_SIZE (20 + SIGN_PUBLIC_SIZE)
void sign_key_message(const uint8_t public[SIGN_PUBLIC_SIZE],
    uint8_t message[SIGN_KEY_MESSAGE_SIZE]);

#endif
