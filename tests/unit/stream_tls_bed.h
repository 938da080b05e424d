/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of stream_tls have in common. */
#ifndef STREAM_TLS_BED_H
#define STREAM_TLS_BED_H

#include <sys/socket.h>

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/attr.h"
#include "tests/unit/tls_bed.h"
#include "tls/stream_tls.h"

/* Our server's side; HTTP/1.1 is chosen, or what is said. */
struct stream *accept_one(struct bed *b, int fd, struct slice kept);
struct stream *accept_alpn(struct bed *b, int fd, enum alpn alpn);
/* Our client's; HTTP/1.1 is offered, or what is said. */
struct stream *connect_one(struct bed *b, int fd, const char *host,
    bool literal);
struct stream *connect_alpn(struct bed *b, int fd, enum alpn_offer offer);
void step(struct bed *b, SSL *ssl);
/* A plain OpenSSL client that trusts anybody, towards our server's side. */
SSL *client_on(SSL_CTX *ctx, int fd);

#endif
