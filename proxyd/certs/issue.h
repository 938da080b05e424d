/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What making a CA and minting a leaf have in common; for certs/ alone.
 */
#ifndef CERTS_ISSUE_H
#define CERTS_ISSUE_H

#include <openssl/x509.h>

#include "base/attr.h"
#include "base/slice.h"
#include "certs/ca.h"

#define ISSUE_BACKDATE_S 86400 /* a client's clock may be a day behind */
#define ISSUE_DAY_S 86400

struct ca {
	EVP_PKEY *key; /* owned; P-256, or what an operator has */
	X509 *cert;    /* owned */
	uint8_t *der;  /* owned; the certificate's encoding */
	size_t der_n;
	ASN1_OCTET_STRING *key_id; /* owned; its SKI */
};

/*
 * Call first: libcrypto reads no configuration file, which may name modules to
 * load and which a role may not open.
 */
void issue_start(void);

/* A new version 3 certificate with a random serial, for `key`, from a day ago
 * for `days` more days.  NULL: libcrypto refused. */
MUST_USE X509 *issue_begin(EVP_PKEY *key, unsigned days);

/* Add the extension `nid` whose decoded form is `value` (X509V3_add1_i2d). */
MUST_USE bool issue_extension(X509 *cert, int nid, void *value, bool critical);

/* Add keyUsage with `n` bits, each the number of RFC 5280 4.2.1.3. */
MUST_USE bool issue_key_usage(X509 *cert, const int *bits, size_t n);

/* Add the SKI: SHA-1 over the key's bits (RFC 5280 4.2.1.2, method 1). */
MUST_USE bool issue_key_id(X509 *cert);

/* The DER of `cert` in memory of OpenSSL's, or NULL. */
MUST_USE uint8_t *issue_der(X509 *cert, size_t *n);

#endif
