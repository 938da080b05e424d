/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>

#include <openssl/evp.h>

#include "crypto/sign.h"

struct sign_key {
	EVP_PKEY *key; /* owned */
	uint8_t public[SIGN_PUBLIC_SIZE];
};

/* Takes `key` over, also when it fails. */
static struct sign_key *
from_pkey(EVP_PKEY *key, enum err *err)
{
	struct sign_key *k = calloc(1, sizeof(*k));
	size_t n = SIGN_PUBLIC_SIZE;

	if (k == NULL || key == NULL ||
	    EVP_PKEY_get_raw_public_key(key, k->public, &n) != 1 ||
	    n != SIGN_PUBLIC_SIZE) {
		EVP_PKEY_free(key);
		free(k);
		*err = ERR_CRYPTO;
		return NULL;
	}
	k->key = key;
	return k;
}

struct sign_key *
sign_key_new(enum err *err)
{
	return from_pkey(EVP_PKEY_Q_keygen(NULL, NULL, "ED25519"), err);
}

struct sign_key *
sign_key_open(const struct secret *bytes, enum err *err)
{
	struct slice s = secret_slice(bytes);

	if (s.n != SIGN_PRIVATE_SIZE) {
		*err = ERR_CRYPTO;
		return NULL;
	}
	return from_pkey(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL,
			     s.p, s.n),
	    err);
}

int
sign_key_secret(const struct sign_key *k, struct secret *bytes, enum err *err)
{
	uint8_t raw[SIGN_PRIVATE_SIZE];
	size_t n = sizeof(raw);
	int r = -1;

	if (EVP_PKEY_get_raw_private_key(k->key, raw, &n) == 1 &&
	    n == sizeof(raw))
		r = secret_init(bytes, slice_of(raw, n), err);
	else
		*err = ERR_CRYPTO;
	explicit_bzero(raw, sizeof(raw));
	return r;
}

const uint8_t *
sign_key_public(const struct sign_key *k)
{
	return k->public;
}

void
sign_key_free(struct sign_key *k)
{
	if (k == NULL)
		return;
	EVP_PKEY_free(k->key);
	free(k);
}

int
sign_make(const struct sign_key *k, struct slice message,
    uint8_t signature[SIGN_SIZE], enum err *err)
{
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	size_t n = SIGN_SIZE;
	bool done = ctx != NULL &&
	    EVP_DigestSignInit(ctx, NULL, NULL, NULL, k->key) == 1 &&
	    EVP_DigestSign(ctx, signature, &n, message.p, message.n) == 1 &&
	    n == SIGN_SIZE;

	EVP_MD_CTX_free(ctx);
	if (!done)
		*err = ERR_CRYPTO;
	return done ? 0 : -1;
}

bool
sign_verify(const uint8_t public[SIGN_PUBLIC_SIZE], struct slice message,
    const uint8_t signature[SIGN_SIZE])
{
	EVP_PKEY *key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL,
	    public, SIGN_PUBLIC_SIZE);
	EVP_MD_CTX *ctx = EVP_MD_CTX_new();
	bool good = key != NULL && ctx != NULL &&
	    EVP_DigestVerifyInit(ctx, NULL, NULL, NULL, key) == 1 &&
	    EVP_DigestVerify(ctx, signature, SIGN_SIZE, message.p, message.n) ==
		1;

	EVP_MD_CTX_free(ctx);
	EVP_PKEY_free(key);
	return good;
}

void
sign_key_message(const uint8_t public[SIGN_PUBLIC_SIZE],
    uint8_t message[SIGN_KEY_MESSAGE_SIZE])
{
	static const char label[20] = "duenna audit key v1"; /* NUL counts */

	memcpy(message, label, sizeof(label));
	memcpy(message + sizeof(label), public, SIGN_PUBLIC_SIZE);
}
