/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Minting: a leaf certificate for one name and somebody else's public key.
 *
 * Profile: version 3, ECDSA with SHA-256, empty subject; critical
 * subjectAltName with exactly one dNSName or iPAddress, critical
 * basicConstraints CA:FALSE, critical keyUsage digitalSignature,
 * extendedKeyUsage serverAuth, SKI of its key, AKI with the bytes of the CA's
 * SKI; valid from a day ago for seven days in all.
 *
 * The name becomes a GENERAL_NAME object, never a piece of OpenSSL's
 * configuration text: there a comma in the name would add names.
 */
#ifndef CERTS_LEAF_H
#define CERTS_LEAF_H

#include "base/attr.h"
#include "base/buf.h"
#include "base/err.h"
#include "base/slice.h"
#include "certs/ca.h"

#define LEAF_DAYS 6	  /* from now; a day lies behind: seven in all */
#define LEAF_SPKI_MAX 128 /* bytes; a P-256 public key has 91 */
#define LEAF_NAME_MAX 253 /* bytes of a host name */

/*
 * May a leaf be minted for this name?  Labels of lower-case letters, digits,
 * `-` and `_`, 1 to 63 bytes, not beginning or ending in `-`; no dot at the
 * end; and not the text of an address.
 */
bool leaf_may_name(struct slice name);

/*
 * Mint.
 *
 * name	    a host name as above, or, if `literal`, the text of an address
 * spki	    SubjectPublicKeyInfo of a P-256 key, DER; from a worker: hostile
 * der	    the certificate is appended
 *
 * 0, or -1 with ERR_MESSAGE (name or key is not such a one, or the key is the
 * CA's own), ERR_CRYPTO, ERR_MEMORY.
 */
MUST_USE int leaf_mint(const struct ca *ca, struct slice name, bool literal,
    struct slice spki, struct buf *der, enum err *err);

#endif
