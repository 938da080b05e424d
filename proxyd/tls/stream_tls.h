/* SPDX-License-Identifier: Apache-2.0 */
/*
 * net/stream.h over TLS, by OpenSSL on plain events.
 *
 * The handshake is the stream's start: `ready` when it is over, broken with a
 * reason and a text if it fails.  An end without close_notify is broken, never
 * eof: a cut answer must not pass as a whole one.  stream_shut() sends
 * close_notify and the TCP end; reading goes on.
 */
#ifndef TLS_STREAM_TLS_H
#define TLS_STREAM_TLS_H

#include "net/stream.h"
#include "tls/ctx.h"
#include "tls/leaf.h"
#include "wire/alpn.h"

/* What a client is given, whose server name was judged before. */
struct stream_tls_answer {
	struct leaf
	    *leaf; /* borrowed for the call; its certificate is shared */
	struct slice kept; /* what was peeked at, the ClientHello in it; copied,
			    * read first */
	enum alpn alpn;	   /* the protocol to choose, which it offers */
};

/*
 * The server's side, towards a sandbox; `fd`, non-blocking, becomes the
 * stream's own, and is closed on failure.
 *
 * If the handshake fails the reason is TLS_VERSION (nothing that both speak,
 * ALPN too), CLIENT_ABORT (the client gave up, such as for not trusting us),
 * or TLS_NOT_TLS.  NULL with ERR_MEMORY or ERR_CRYPTO.
 */
MUST_USE struct stream *stream_tls_accept(struct loop *l, int fd,
    struct ctx_server *ctx, const struct stream_tls_answer *answer,
    enum err *err);

/* Whom a connection towards an upstream is for. */
struct stream_tls_peer {
	struct slice host; /* canonical; copied */
	bool literal;	   /* it is the text of an address */
	enum alpn_offer alpn;
	uint32_t item;	 /* of the owner's `upstream:`, or CTX_ITEM_NONE */
	bool only_roots; /* that item's own roots alone count */
};

/*
 * The client's side, towards an upstream, over the connected descriptor of a
 * dial; fd as above.  Ready means: chain and name were verified.  If the
 * handshake fails the reason is UP_CERT and the text says why;
 * so it does for a protocol chosen that was not offered.
 */
MUST_USE struct stream *stream_tls_connect(struct loop *l, int fd,
    struct ctx_client *ctx, const struct stream_tls_peer *peer, enum err *err);

/*
 * Once ready: really verified for `host`?  To be asked before a credential is
 * (two looks at one fact).  False for streams of any other kind.
 */
bool stream_tls_is_verified(const struct stream *s, struct slice host,
    bool literal);

/* Once ready: the protocol that was chosen; ALPN_NONE for any other stream. */
enum alpn stream_tls_alpn(const struct stream *s);

/* An upstream, broken: it speaks nothing that was offered, and said so. */
bool stream_tls_speaks_none(const struct stream *s);

#endif
