/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A CA that an operator gives: a certificate that may sign leaves, those above
 * it up to a root that signed itself, and its key.  Clients are sent all but
 * the root; the root is what they have to trust.
 */
#ifndef CERTS_GIVEN_H
#define CERTS_GIVEN_H

#include "base/attr.h"
#include "base/slice.h"
#include "certs/ca.h"

#define GIVEN_CERTS_MAX 8

/*
 * What is wrong with these certificates (DER, the signing one first), a
 * literal; NULL: nothing.
 *
 * later  they need not be valid yet
 */
const char *given_check(const struct slice *certs, size_t n, bool later);

/*
 * The CA, from its certificates and its key (PEM, without a password).  NULL:
 * `why` is set to a literal.
 */
MUST_USE struct ca *given_load(const struct slice *certs, size_t n,
    struct slice key, const char **why);

#endif
