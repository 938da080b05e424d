/* SPDX-License-Identifier: Apache-2.0 */
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/x509v3.h>

#include "base/clock.h"
#include "certs/ca.h"
#include "certs/issue.h"

#define SUBJECT "duenna egress CA "
#define CERT_SIZE_MAX 16384 /* bytes of a certificate that we load */

static bool
set_subject(X509 *cert, struct slice host)
{
	char text[sizeof(SUBJECT) + CA_HOST_MAX] = SUBJECT;
	size_t n = sizeof(SUBJECT) - 1;
	X509_NAME *name = X509_get_subject_name(cert);

	for (size_t i = 0; i < host.n && i < CA_HOST_MAX; i++) {
		bool plain = host.p[i] > ' ' && host.p[i] < 0x7f;
		text[n++] = plain ? (char)host.p[i] : '-';
	}
	return X509_NAME_add_entry_by_NID(name, NID_commonName, MBSTRING_UTF8,
		   (const unsigned char *)text, (int)n, -1, 0) == 1 &&
	    X509_set_issuer_name(cert, name) == 1;
}

static bool
add_extensions(X509 *cert)
{
	static const int usage[] = { 5, 6 }; /* keyCertSign, cRLSign */
	BASIC_CONSTRAINTS *basic = BASIC_CONSTRAINTS_new();
	bool good = basic != NULL;

	if (good) {
		/* DER's TRUE (X.690 11.1).  OpenSSL writes the number as it
		 * is, and Go and Chromium take no other. */
		basic->ca = 0xff;
		basic->pathlen = ASN1_INTEGER_new();
		good = basic->pathlen != NULL &&
		    ASN1_INTEGER_set(basic->pathlen, 0) == 1 &&
		    issue_extension(cert, NID_basic_constraints, basic, true);
	}
	BASIC_CONSTRAINTS_free(basic);
	return good && issue_key_usage(cert, usage, COUNT_OF(usage)) &&
	    issue_key_id(cert);
}

/* Fill in what is found in the certificate; false: it lacks it. */
static bool
complete(struct ca *ca)
{
	ca->der = issue_der(ca->cert, &ca->der_n);
	/* The leaf's AKI is a copy of these bytes, so they must be there. */
	ca->key_id =
	    X509_get_ext_d2i(ca->cert, NID_subject_key_identifier, NULL, NULL);
	return ca->der != NULL && ca->key_id != NULL;
}

struct ca *
ca_make(struct slice host, unsigned days, enum err *err)
{
	struct ca *ca = calloc(1, sizeof(*ca));

	issue_start();
	*err = ERR_MEMORY;
	if (ca == NULL)
		return NULL;
	*err = ERR_CRYPTO;
	ca->key = EVP_EC_gen("P-256");
	if (ca->key == NULL)
		goto fail;
	ca->cert =
	    issue_begin(ca->key, days < CA_DAYS_MAX ? days : CA_DAYS_MAX);
	if (ca->cert == NULL || !set_subject(ca->cert, host) ||
	    !add_extensions(ca->cert) ||
	    X509_sign(ca->cert, ca->key, EVP_sha256()) <= 0 || !complete(ca))
		goto fail;
	*err = ERR_NONE;
	return ca;
fail:
	ca_free(ca);
	return NULL;
}

/* Is it a CA's certificate, valid now, that may sign certificates? */
static bool
is_usable(X509 *cert)
{
	time_t now = (time_t)(clock_wall_us() / 1000000);

	return X509_check_ca(cert) == 1 &&
	    (X509_get_key_usage(cert) & KU_KEY_CERT_SIGN) != 0 &&
	    X509_cmp_time(X509_get0_notBefore(cert), &now) < 0 &&
	    X509_cmp_time(X509_get0_notAfter(cert), &now) > 0;
}

struct ca *
ca_load(struct slice cert, struct slice key, enum err *err)
{
	struct ca *ca = calloc(1, sizeof(*ca));
	const uint8_t *p = cert.p;
	const uint8_t *q = key.p;

	issue_start();
	*err = ERR_MEMORY;
	if (ca == NULL)
		return NULL;
	*err = ERR_INTEGRITY;
	if (cert.n == 0 || cert.n > CERT_SIZE_MAX || key.n == 0 ||
	    key.n > SECRET_MAX)
		goto fail;
	ca->cert = d2i_X509(NULL, &p, (long)cert.n);
	ca->key = d2i_AutoPrivateKey(NULL, &q, (long)key.n);
	if (ca->cert == NULL || p != cert.p + cert.n || ca->key == NULL ||
	    q != key.p + key.n ||
	    X509_check_private_key(ca->cert, ca->key) != 1 ||
	    !is_usable(ca->cert) || !complete(ca))
		goto fail;
	*err = ERR_NONE;
	return ca;
fail:
	ca_free(ca);
	return NULL;
}

void
ca_free(struct ca *ca)
{
	if (ca == NULL)
		return;
	ASN1_OCTET_STRING_free(ca->key_id);
	OPENSSL_free(ca->der);
	X509_free(ca->cert);
	EVP_PKEY_free(ca->key); /* clears the private number */
	free(ca);
}

struct slice
ca_cert(const struct ca *ca)
{
	return slice_of(ca->der, ca->der_n);
}

int
ca_key(const struct ca *ca, struct secret *key, enum err *err)
{
	uint8_t *der = NULL;
	int n = i2d_PrivateKey(ca->key, &der);
	int result;

	if (n <= 0) {
		*err = ERR_CRYPTO;
		return -1;
	}
	result = secret_init(key, slice_of(der, (size_t)n), err);
	OPENSSL_clear_free(der, (size_t)n);
	return result;
}
