/* SPDX-License-Identifier: Apache-2.0 */
#include <openssl/crypto.h>
#include <openssl/rand.h>
#include <openssl/x509v3.h>

#include "base/clock.h"
#include "certs/issue.h"

#define SERIAL_SIZE 16 /* bytes; RFC 5280 4.1.2.2 allows 20 */

/*
 * 126 random bits with the next one set: positive (Go 1.23 refuses negative
 * ones), always 16 bytes, and not derived from the name, since two certificates
 * of one issuer and serial are a hard error in Firefox.
 */
static bool
set_serial(X509 *cert)
{
	uint8_t raw[SERIAL_SIZE];
	BIGNUM *number;
	bool good;

	if (RAND_bytes(raw, sizeof(raw)) != 1)
		return false;
	raw[0] = (uint8_t)((raw[0] & 0x3f) | 0x40);
	number = BN_bin2bn(raw, sizeof(raw), NULL);
	good = number != NULL &&
	    BN_to_ASN1_INTEGER(number, X509_get_serialNumber(cert)) != NULL;
	BN_free(number);
	return good;
}

void
issue_start(void)
{
	OPENSSL_init_crypto(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
}

X509 *
issue_begin(EVP_PKEY *key, unsigned days)
{
	time_t now = (time_t)(clock_wall_us() / 1000000);
	time_t from = now - ISSUE_BACKDATE_S;
	time_t to = now + (time_t)days * ISSUE_DAY_S;
	X509 *cert = X509_new();

	if (cert == NULL)
		return NULL;
	if (X509_set_version(cert, X509_VERSION_3) != 1 || !set_serial(cert) ||
	    ASN1_TIME_set(X509_getm_notBefore(cert), from) == NULL ||
	    ASN1_TIME_set(X509_getm_notAfter(cert), to) == NULL ||
	    X509_set_pubkey(cert, key) != 1) {
		X509_free(cert);
		return NULL;
	}
	return cert;
}

bool
issue_extension(X509 *cert, int nid, void *value, bool critical)
{
	return X509_add1_ext_i2d(cert, nid, value, critical,
		   X509V3_ADD_DEFAULT) == 1;
}

bool
issue_key_usage(X509 *cert, const int *bits, size_t n)
{
	ASN1_BIT_STRING *usage = ASN1_BIT_STRING_new();
	bool good = usage != NULL;

	for (size_t i = 0; i < n && good; i++)
		good = ASN1_BIT_STRING_set_bit(usage, bits[i], 1) == 1;
	good = good && issue_extension(cert, NID_key_usage, usage, true);
	ASN1_BIT_STRING_free(usage);
	return good;
}

bool
issue_key_id(X509 *cert)
{
	ASN1_OCTET_STRING *id = ASN1_OCTET_STRING_new();
	uint8_t digest[EVP_MAX_MD_SIZE];
	unsigned n = 0;
	bool good = id != NULL &&
	    X509_pubkey_digest(cert, EVP_sha1(), digest, &n) == 1 &&
	    ASN1_OCTET_STRING_set(id, digest, (int)n) == 1 &&
	    issue_extension(cert, NID_subject_key_identifier, id, false);

	ASN1_OCTET_STRING_free(id);
	return good;
}

uint8_t *
issue_der(X509 *cert, size_t *n)
{
	uint8_t *der = NULL;
	int size = i2d_X509(cert, &der);

	if (size <= 0)
		return NULL;
	*n = (size_t)size;
	return der;
}
