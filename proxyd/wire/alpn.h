/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TLS's ALPN as far as we speak it: what a client offers, what a server
 * chooses of that.
 *
 * Source: RFC 7301; the names are those of RFC 9113 3.1 and RFC 7301 6.
 * Pure.
 */
#ifndef WIRE_ALPN_H
#define WIRE_ALPN_H

#include "base/attr.h"
#include "base/slice.h"

/* What was chosen. */
enum alpn {
	ALPN_NONE, /* nothing: then it is HTTP/1.1, too */
	ALPN_HTTP11,
	ALPN_H2,
};

/* What is offered, in that order; of other protocols we say nothing. */
enum alpn_offer {
	ALPN_OFFER_NONE,
	ALPN_OFFER_HTTP11,
	ALPN_OFFER_H2,
	ALPN_OFFER_H2_HTTP11,
	ALPN_OFFER_HTTP11_H2,
	ALPN_OFFER_COUNT
};

/* The names of a list as it stands in a hello (each s8), cut to ours. */
enum alpn_offer alpn_offer_read(struct slice list);

/* The same list as it stands in a hello; empty for ALPN_OFFER_NONE. */
struct slice alpn_offer_list(enum alpn_offer offer);

bool alpn_offer_has(enum alpn_offer offer, enum alpn alpn);

/* What the client likes best of what it offers. */
enum alpn alpn_offer_first(enum alpn_offer offer);

/* That one alone. */
enum alpn_offer alpn_offer_only(enum alpn alpn);

/* All of it but HTTP/2. */
enum alpn_offer alpn_offer_without_h2(enum alpn_offer offer);

/* A protocol's name; false: none of ours. */
MUST_USE bool alpn_read(struct slice name, enum alpn *alpn);
struct slice alpn_name(enum alpn alpn); /* empty for ALPN_NONE */

#endif
