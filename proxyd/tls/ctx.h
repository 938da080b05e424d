/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What all TLS connections of a worker share: towards its sandboxes one P-256
 * key (every leaf is minted for it) and one context; towards upstreams a
 * context with a store of roots for each kind of host, made on first need.
 *
 * Both sides: TLS 1.2 and 1.3, forward secrecy and AEAD only, security level 2
 * (RSA of 2048 bits, no SHA-1), no compression, no renegotiation.  Towards the
 * sandbox there are no tickets and no session cache: OpenSSL resumes before
 * anybody looked at the server name, so a session of one name would open
 * another.  Upstream nothing is resumed either.
 *
 * No file is ever opened; roots come as DER.
 */
#ifndef TLS_CTX_H
#define TLS_CTX_H

#include "base/attr.h"
#include "base/err.h"
#include "base/slice.h"

struct ctx_server; /* towards sandboxes; one a worker */
struct ctx_client; /* towards upstreams; one a worker */

#define CTX_SPKI_MAX 128 /* bytes of a public key in DER; P-256 has 91 */

/* NULL with ERR_CRYPTO or ERR_MEMORY. */
MUST_USE struct ctx_server *ctx_server_new(enum err *err);
void ctx_server_free(struct ctx_server *ctx);

/*
 * What is sent behind each leaf (DER, the CA's own first): none, if the CA is a
 * root.  0, or -1 with ERR_INTEGRITY, ERR_MEMORY.
 */
MUST_USE int ctx_server_set_chain(struct ctx_server *ctx,
    const struct slice *certs, size_t n, enum err *err);

/* The public key that leaves are minted for, DER; lives as long as `ctx`. */
struct slice ctx_server_spki(const struct ctx_server *ctx);

#define CTX_ITEM_NONE UINT32_MAX /* VERDICT_NONE of the owner's image */

/* A root certificate, and the `upstream:` item that it counts for. */
struct ctx_root {
	struct slice der; /* borrowed; lives as long as the context */
	uint32_t item;	  /* CTX_ITEM_NONE: all hosts but those of only_roots */
};

/*
 * `roots` are borrowed and must live as long as the context.  A root that is
 * no certificate is left out (a log line says so when a store is made).
 */
MUST_USE struct ctx_client *ctx_client_new(const struct ctx_root *roots,
    size_t n_roots, enum err *err);
void ctx_client_free(struct ctx_client *ctx);

#endif
