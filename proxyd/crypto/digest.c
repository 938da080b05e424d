/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>

#include "base/ascii.h"
#include "crypto/digest.h"

struct digest {
	EVP_MD_CTX *ctx;    /* owned */
	const EVP_MD *kind; /* borrowed from the process */
};

static EVP_MD *sha256, *sha1; /* owned by the process, fetched once */

/* Not assert(): these calls have an effect. */
static void
must(bool done)
{
	if (!done)
		abort();
}

int
digest_setup(enum err *err)
{
	/* The configuration file can name modules to load: not for us. */
	if (OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL) != 1)
		goto fail;
	if (sha256 == NULL)
		sha256 = EVP_MD_fetch(NULL, "SHA256", NULL);
	if (sha256 == NULL)
		goto fail;
	return 0;
fail:
	*err = ERR_CRYPTO;
	return -1;
}

static const EVP_MD *
algorithm(void)
{
	enum err err;

	if (sha256 == NULL)
		must(digest_setup(&err) == 0);
	return sha256;
}

void
digest_sha256(struct slice in, uint8_t out[DIGEST_SIZE])
{
	unsigned n = DIGEST_SIZE;

	must(EVP_Digest(in.p, in.n, out, &n, algorithm(), NULL) == 1);
}

void
digest_name(struct slice in, char text[DIGEST_NAME_SIZE])
{
	uint8_t sum[DIGEST_SIZE];

	digest_sha256(in, sum);
	memcpy(text, "sha256:", 7);
	digest_hex(sum, sizeof(sum), text + 7);
}

void
digest_hmac(struct slice key, struct slice in, uint8_t out[DIGEST_SIZE])
{
	unsigned n = DIGEST_SIZE;
	/* OpenSSL takes a NULL key for "the last one again". */
	const void *p = key.n == 0 ? (const void *)"" : key.p;

	must(HMAC(algorithm(), p, (int)key.n, in.p, in.n, out, &n) != NULL);
}

static void
begin(struct digest *d)
{
	must(EVP_DigestInit_ex(d->ctx, d->kind, NULL) == 1);
}

static struct digest *
new_of(const EVP_MD *kind, enum err *err)
{
	struct digest *d = calloc(1, sizeof(*d));

	if (d != NULL)
		d->ctx = EVP_MD_CTX_new();
	if (d == NULL || d->ctx == NULL) {
		free(d);
		*err = ERR_MEMORY;
		return NULL;
	}
	d->kind = kind;
	begin(d);
	return d;
}

struct digest *
digest_new(enum err *err)
{
	return new_of(algorithm(), err);
}

struct digest *
digest_new_sha1(enum err *err)
{
	(void)algorithm(); /* so that OpenSSL is ready */
	if (sha1 == NULL)
		sha1 = EVP_MD_fetch(NULL, "SHA1", NULL);
	if (sha1 == NULL) {
		*err = ERR_CRYPTO;
		return NULL;
	}
	return new_of(sha1, err);
}

void
digest_put(struct digest *d, struct slice in)
{
	must(in.n == 0 || EVP_DigestUpdate(d->ctx, in.p, in.n) == 1);
}

void
digest_end(struct digest *d, uint8_t out[DIGEST_SIZE])
{
	must(EVP_DigestFinal_ex(d->ctx, out, NULL) == 1);
	begin(d);
}

void
digest_free(struct digest *d)
{
	if (d == NULL)
		return;
	EVP_MD_CTX_free(d->ctx);
	free(d);
}

bool
digest_eq(const uint8_t *a, const uint8_t *b, size_t n)
{
	return CRYPTO_memcmp(a, b, n) == 0;
}

void
digest_hex(const uint8_t *in, size_t n, char *text)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < n; i++) {
		text[2 * i] = digits[in[i] >> 4];
		text[2 * i + 1] = digits[in[i] & 15];
	}
	text[2 * n] = '\0';
}

bool
digest_unhex(struct slice text, uint8_t *out, size_t n)
{
	if (text.n != 2 * n)
		return false;
	for (size_t i = 0; i < n; i++) {
		uint8_t high = text.p[2 * i], low = text.p[2 * i + 1];
		if (ascii_is_upper(high) || ascii_is_upper(low) ||
		    ascii_hex(high) < 0 || ascii_hex(low) < 0)
			return false;
		out[i] = (uint8_t)(ascii_hex(high) << 4 | ascii_hex(low));
	}
	return true;
}
