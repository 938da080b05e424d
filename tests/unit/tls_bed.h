/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For the tests of tls/: a CA, leaves for a server context's key, origins with
 * certificates that are wrong in one way each, and a plain OpenSSL peer over a
 * socket pair, stepped by hand.
 */
#ifndef TESTS_TLS_BED_H
#define TESTS_TLS_BED_H

#include <openssl/ssl.h>

#include "base/slice.h"
#include "net/stream.h"
#include "tls/ctx.h"
#include "tls/leaf.h"

struct ca;

struct bed {
	struct loop *loop;
	struct ca *ca;
	struct ctx_server *server;
	struct ctx_client *client;
	struct ctx_root root;
};

int bed_setup(void **state);
int bed_teardown(void **state);

/* A leaf for that name; the caller's reference. */
struct leaf *bed_leaf(struct bed *b, struct slice name, bool literal);

/* A connected, non-blocking pair. */
void bed_pair(int fd[2]);

/* Let the loop do what it can now. */
void bed_turn(struct bed *b);

/* A certificate for `key` with these properties, signed by the bed's CA. */
struct bed_cert {
	const char *dns;      /* subjectAltName, or NULL */
	const char *ip;	      /* ... or NULL */
	const char *common;   /* common name, or NULL */
	int from_day, to_day; /* relative to now */
	bool self_signed;
	bool client_only; /* extendedKeyUsage clientAuth */
	bool sha1;
	bool other_ca; /* signed by a CA that nobody trusts */
};

/* A server context that shows such a certificate, for an origin. */
SSL_CTX *bed_origin(struct bed *b, const struct bed_cert *how);

#endif
