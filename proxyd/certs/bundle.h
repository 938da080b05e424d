/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Certificates in the forms in which programs read roots: PEM (RFC 7468), the
 * name of a file in OpenSSL's hashed directory, Java's JKS.
 */
#ifndef CERTS_BUNDLE_H
#define CERTS_BUNDLE_H

#include "base/attr.h"
#include "base/buf.h"
#include "base/slice.h"

/* Append one certificate as PEM.  False: it does not fit. */
MUST_USE bool bundle_put_pem(struct buf *out, struct slice der);

/*
 * Take the first certificate off the front of PEM text and append its DER; what
 * stands between certificates is passed over.  False: there is none any more,
 * or the next one is malformed.
 */
MUST_USE bool bundle_take_pem(struct slice *text, struct buf *der);

#define BUNDLE_HASH_SIZE 9 /* eight hex digits and a NUL */

/*
 * The hash of the subject that names the certificate's file in a hashed
 * directory, HASH.0.  False: `der` is not a certificate.
 */
MUST_USE bool bundle_hash(struct slice der, char hash[BUNDLE_HASH_SIZE]);

/*
 * Append a Java key store (JKS, version 2) with these certificates as trusted
 * ones; its password is "changeit", as that of the store that Java brings.
 * False: it does not fit.
 */
MUST_USE bool bundle_put_jks(struct buf *out, const struct slice *ders,
    size_t n);

/*
 * For people: subject, SHA-256 fingerprint and last day of a certificate, a
 * line each.  False: it is not one, or does not fit.
 */
MUST_USE bool bundle_describe(struct buf *out, struct slice der);

#endif
