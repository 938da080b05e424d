/* SPDX-License-Identifier: Apache-2.0 */
#include "stream_tls_bed.h"

static struct stream *
accept_as(struct bed *b, int fd, struct slice kept, enum alpn alpn)
{
	enum err err;
	struct leaf *leaf = bed_leaf(b, SLICE("ok.test"), false);
	const struct stream_tls_answer answer = { leaf, kept, alpn };
	struct stream *s =
	    stream_tls_accept(b->loop, fd, b->server, &answer, &err);

	assert_non_null(s);
	leaf_unref(leaf);
	return s;
}

struct stream *
accept_one(struct bed *b, int fd, struct slice kept)
{
	return accept_as(b, fd, kept, ALPN_HTTP11);
}

struct stream *
accept_alpn(struct bed *b, int fd, enum alpn alpn)
{
	return accept_as(b, fd, (struct slice){ 0 }, alpn);
}

static struct stream *
connect_to(struct bed *b, int fd, const struct stream_tls_peer *peer)
{
	enum err err;
	struct stream *s =
	    stream_tls_connect(b->loop, fd, b->client, peer, &err);

	assert_non_null(s);
	return s;
}

struct stream *
connect_one(struct bed *b, int fd, const char *host, bool literal)
{
	return connect_to(b, fd,
	    &(struct stream_tls_peer){ .host = slice_of_str(host),
		.literal = literal,
		.alpn = ALPN_OFFER_HTTP11,
		.item = CTX_ITEM_NONE });
}

struct stream *
connect_alpn(struct bed *b, int fd, enum alpn_offer offer)
{
	return connect_to(b, fd,
	    &(struct stream_tls_peer){ .host = SLICE("ok.test"),
		.alpn = offer,
		.item = CTX_ITEM_NONE });
}

void
step(struct bed *b, SSL *ssl)
{
	for (int i = 0; i < 6; i++) {
		bed_turn(b);
		(void)SSL_do_handshake(ssl);
	}
	bed_turn(b);
}

SSL *
client_on(SSL_CTX *ctx, int fd)
{
	SSL *ssl = SSL_new(ctx);

	assert_int_equal(SSL_set_fd(ssl, fd), 1);
	SSL_set_connect_state(ssl);
	return ssl;
}
