/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The certificate authority that a sandbox trusts: a P-256 key that never
 * leaves the keeper, and its certificate.
 *
 * Profile: version 3, ECDSA P-256 with SHA-256, a subject that says what it is,
 * no subjectAltName; critical basicConstraints CA:TRUE with pathlen 0, critical
 * keyUsage keyCertSign and cRLSign, a subject key identifier, a random serial.
 * Every client that was tried accepts it; docs/tls.md says which.
 */
#ifndef CERTS_CA_H
#define CERTS_CA_H

#include "base/attr.h"
#include "base/err.h"
#include "base/secret.h"
#include "base/slice.h"

struct ca;

#define CA_HOST_MAX 40	 /* bytes of the host in the subject; CN holds 64 */
#define CA_DAYS_MAX 3650 /* ten years */

/*
 * Make a key and a certificate for it.
 *
 * host	 put into the subject, "duenna egress CA HOST"; cut at CA_HOST_MAX,
 *	 what is not printable ASCII becomes '-'
 * days	 from now, at most CA_DAYS_MAX; it begins a day ago
 */
MUST_USE struct ca *ca_make(struct slice host, unsigned days, enum err *err);

/*
 * From a certificate and a private key in DER.  NULL with ERR_INTEGRITY if
 * either is malformed, they do not belong together, or the certificate is not
 * a CA's that is valid now; ERR_CRYPTO or ERR_MEMORY.
 */
MUST_USE struct ca *ca_load(struct slice cert, struct slice key, enum err *err);

void ca_free(struct ca *ca);

/* The certificate, DER; lives as long as `ca`. */
struct slice ca_cert(const struct ca *ca);

/* A copy of the private key, DER.  0, or -1 with ERR_MEMORY, ERR_CRYPTO. */
MUST_USE int ca_key(const struct ca *ca, struct secret *key, enum err *err);

#endif
