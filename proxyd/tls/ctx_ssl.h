/* SPDX-License-Identifier: Apache-2.0 */
/* The OpenSSL side of tls/ctx.h; for tls/ alone. */
#ifndef TLS_CTX_SSL_H
#define TLS_CTX_SSL_H

#include <openssl/ssl.h>

#include "tls/ctx.h"
#include "wire/alpn.h"

/*
 * A new connection towards a sandbox that shows `cert`, of a leaf minted for
 * our key.  NULL: libssl refused (a certificate of another key, no memory).
 *
 * alpn	 what to choose; borrowed, lives as long as the connection
 */
MUST_USE SSL *ctx_server_ssl(struct ctx_server *ctx, X509 *cert,
    const enum alpn *alpn);

/*
 * A new connection towards an upstream whose host belongs to the `upstream:`
 * item `item`, or to none (CTX_ITEM_NONE).  Nothing is set that depends on the
 * host; verify_host() must follow.
 *
 * only	 only the roots of that item count
 */
MUST_USE SSL *ctx_client_ssl(struct ctx_client *ctx, uint32_t item, bool only);

#endif
