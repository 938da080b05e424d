/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SHA-256 (FIPS 180-4), HMAC-SHA-256 (RFC 2104), comparison in constant time,
 * and hexadecimal.  Over OpenSSL's EVP.
 *
 * The library itself cannot fail here but for want of memory; then the process
 * ends, as it does when an assertion fails.
 */
#ifndef CRYPTO_DIGEST_H
#define CRYPTO_DIGEST_H

#include "base/attr.h"
#include "base/err.h"
#include "base/slice.h"

#define DIGEST_SIZE 32	    /* bytes of a SHA-256 */
#define DIGEST_SHA1_SIZE 20 /* bytes of a SHA-1 */
#define DIGEST_HEX_SIZE 65  /* its digits and a NUL */
#define DIGEST_NAME_SIZE 72 /* "sha256:", its digits and a NUL */

/*
 * Make OpenSSL ready, without its configuration file and what that may load.
 * A role calls this before it gives up opening files; others need not.
 * 0, or -1 with ERR_CRYPTO.
 */
MUST_USE int digest_setup(enum err *err);

void digest_sha256(struct slice in, uint8_t out[DIGEST_SIZE]);

/* "sha256:" and the digits, as records name programs. */
void digest_name(struct slice in, char text[DIGEST_NAME_SIZE]);

void digest_hmac(struct slice key, struct slice in, uint8_t out[DIGEST_SIZE]);

/* A SHA-256 over what comes piece by piece. */
struct digest;

MUST_USE struct digest *digest_new(enum err *err); /* NULL with ERR_MEMORY */
void digest_put(struct digest *d, struct slice in);

/*
 * The same over SHA-1 (FIPS 180-4): git names its objects so.  Nothing of our
 * own is signed or kept with it.  NULL with ERR_MEMORY or ERR_CRYPTO.
 */
MUST_USE struct digest *digest_new_sha1(enum err *err);

/* The result, of a SHA-1 the first bytes of `out`; the next put begins anew. */
void digest_end(struct digest *d, uint8_t out[DIGEST_SIZE]);
void digest_free(struct digest *d);

/* Equal?  The time depends on `n` alone. */
bool digest_eq(const uint8_t *a, const uint8_t *b, size_t n);

/* Lower-case digits of `n` bytes and a NUL: 2 * n + 1 bytes of `text`. */
void digest_hex(const uint8_t *in, size_t n, char *text);

/* Exactly 2 * n lower-case digits, else false. */
MUST_USE bool digest_unhex(struct slice text, uint8_t *out, size_t n);

#endif
