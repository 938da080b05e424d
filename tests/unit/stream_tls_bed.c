/* SPDX-License-Identifier: Apache-2.0 */
#include "stream_tls_bed.h"

struct stream *
accept_one(struct bed *b, int fd, struct slice kept)
{
	enum err err;
	struct leaf *leaf = bed_leaf(b, SLICE("ok.test"), false);
	struct stream *s =
	    stream_tls_accept(b->loop, fd, b->server, leaf, kept, &err);

	assert_non_null(s);
	leaf_unref(leaf);
	return s;
}

struct stream *
connect_one(struct bed *b, int fd, const char *host, bool literal)
{
	enum err err;
	const struct stream_tls_peer peer = { .host = slice_of_str(host),
		.literal = literal,
		.alpn = true,
		.item = CTX_ITEM_NONE };
	struct stream *s =
	    stream_tls_connect(b->loop, fd, b->client, &peer, &err);

	assert_non_null(s);
	return s;
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
