/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An upstream's certificate: verified for the policy's name, nothing wider.
 *
 * Measured with OpenSSL 3.0: a fresh context verifies nothing; SSL_set1_host
 * takes "" and then any name passes; a leading dot means every subdomain.  So
 * only a canonical, non-empty name goes in, a common name never counts, a
 * wildcard stands for one whole label, and mode, name and result are asserted.
 */
#ifndef TLS_VERIFY_H
#define TLS_VERIFY_H

#include "base/attr.h"
#include "base/slice.h"

struct ssl_st; /* OpenSSL's SSL */

#define VERIFY_HOST_MAX 253

/*
 * Say whom the connection is for, before its handshake.
 *
 * host	    canonical: a name without trailing dot, or, if `literal`, the text
 *	    of an address
 *
 * False: `host` is not such a one, or libssl refused; the connection must not
 * be used then.
 */
MUST_USE bool verify_host(struct ssl_st *ssl, struct slice host, bool literal);

/*
 * After the handshake: was the peer really verified for that host?  True is
 * the only ground on which a credential may be asked for.
 */
bool verify_is_good(struct ssl_st *ssl, struct slice host, bool literal);

/*
 * Why the handshake failed, for people, if the certificate was the cause:
 * "certificate is expired", "certificate is for another name", ...  NULL if it
 * was not.  A literal.
 */
const char *verify_text(struct ssl_st *ssl);

#endif
