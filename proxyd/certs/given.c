/* SPDX-License-Identifier: Apache-2.0 */
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/clock.h"
#include "certs/given.h"
#include "certs/issue.h"

#define RSA_BITS_MIN 2048

static X509 *
parse(struct slice der)
{
	const uint8_t *p = der.p;
	X509 *cert = der.n == 0 ? NULL : d2i_X509(NULL, &p, (long)der.n);

	if (cert == NULL || p == der.p + der.n)
		return cert;
	X509_free(cert);
	return NULL;
}

/* What every client verifies: others would not do for all of them. */
static bool
is_strong(EVP_PKEY *key)
{
	static const char *const groups[] = { "prime256v1", "secp384r1",
		"secp521r1" };
	char group[32] = "";

	if (key == NULL)
		return false;
	if (EVP_PKEY_get_base_id(key) == EVP_PKEY_RSA)
		return EVP_PKEY_get_bits(key) >= RSA_BITS_MIN;
	if (EVP_PKEY_get_base_id(key) != EVP_PKEY_EC ||
	    EVP_PKEY_get_group_name(key, group, sizeof(group), NULL) != 1)
		return false;
	for (size_t i = 0; i < COUNT_OF(groups); i++)
		if (strcmp(group, groups[i]) == 0)
			return true;
	return false;
}

/* One of them; `below`: certificates of CAs between it and a leaf. */
static const char *
check_one(X509 *cert, size_t below, bool later)
{
	time_t now = (time_t)(clock_wall_us() / 1000000);
	long most = X509_get_pathlen(cert);

	if (X509_check_ca(cert) != 1 ||
	    (X509_get_key_usage(cert) & KU_KEY_CERT_SIGN) == 0)
		return "a certificate in it is no CA's";
	if (!later && X509_cmp_time(X509_get0_notBefore(cert), &now) >= 0)
		return "a certificate in it is not valid yet";
	if (X509_cmp_time(X509_get0_notAfter(cert), &now) <= 0)
		return "a certificate in it has expired";
	if (!is_strong(X509_get0_pubkey(cert)))
		return "a key in it is weak or of another kind: RSA of 2048 "
		       "bits, P-256, P-384 or P-521 is expected";
	if (most >= 0 && (size_t)most < below)
		return "a certificate in it allows no CA that far below it";
	return NULL;
}

/* The leaf's AKI is a copy of it, so it must be there. */
static bool
has_key_id(X509 *cert)
{
	return X509_get0_subject_key_id(cert) != NULL;
}

static const char *
check_chain(X509 *const *certs, size_t n, bool later)
{
	const char *wrong = NULL;

	for (size_t i = 0; i < n && wrong == NULL; i++)
		wrong = check_one(certs[i], i, later);
	for (size_t i = 0; i + 1 < n && wrong == NULL; i++)
		if (X509_check_issued(certs[i + 1], certs[i]) != X509_V_OK ||
		    X509_verify(certs[i], X509_get0_pubkey(certs[i + 1])) != 1)
			wrong = "a certificate in it is not signed by the one "
				"behind it; expected the signing CA's first, "
				"then those above it";
	if (wrong == NULL && X509_self_signed(certs[n - 1], 1) != 1)
		wrong = "it ends in no root: put those above the signing CA's "
			"behind it, up to the one that signed itself";
	if (wrong == NULL && !has_key_id(certs[0]))
		wrong = "its first certificate has no subject key identifier";
	return wrong;
}

const char *
given_check(const struct slice *certs, size_t n, bool later)
{
	X509 *parsed[GIVEN_CERTS_MAX];
	const char *wrong = NULL;
	size_t have = 0;

	issue_start();
	if (n == 0 || n > GIVEN_CERTS_MAX)
		return n == 0 ? "no certificate is in it" :
				"more than 8 certificates are in it";
	while (have < n && (parsed[have] = parse(certs[have])) != NULL)
		have++;
	if (have < n)
		wrong = "a certificate in it cannot be read";
	else
		wrong = check_chain(parsed, n, later);
	while (have > 0)
		X509_free(parsed[--have]);
	return wrong;
}

/* Nobody is there to be asked. */
static int
no_password(char *room UNUSED, int size UNUSED, int writes UNUSED,
    void *arg UNUSED)
{
	return -1;
}

static EVP_PKEY *
read_key(struct slice pem)
{
	BIO *bio = BIO_new_mem_buf(pem.p, (int)pem.n);
	EVP_PKEY *key = bio == NULL ?
	    NULL :
	    PEM_read_bio_PrivateKey(bio, NULL, no_password, NULL);

	BIO_free(bio);
	return key;
}

struct ca *
given_load(const struct slice *certs, size_t n, struct slice key,
    const char **why)
{
	uint8_t *der = NULL;
	struct ca *ca = NULL;
	enum err err = ERR_NONE;

	*why = given_check(certs, n, false);
	if (*why != NULL)
		return NULL;
	*why = "the key's file has no private key (PEM), or one with a "
	       "password";
	EVP_PKEY *private = key.n == 0 ? NULL : read_key(key);
	int size = private == NULL ? 0 : i2d_PrivateKey(private, &der);
	EVP_PKEY_free(private);
	if (size <= 0)
		return NULL;
	*why = "the key is not that of its first certificate";
	ca = ca_load(certs[0], slice_of(der, (size_t)size), &err);
	OPENSSL_clear_free(der, (size_t)size);
	return ca;
}
