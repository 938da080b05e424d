/* SPDX-License-Identifier: Apache-2.0 */
#include "stream_tls_bed.h"

#define ROOTS "; for a root of one's own there is `upstream: roots`"

static const struct {
	const char *name;
	struct bed_cert cert;
	const char *host;
	bool literal;
	const char *text; /* NULL: it is fine */
} origins[] = {
	{ "good", { .dns = "ok.test", .to_day = 5 }, "ok.test", false, NULL },
	{ "wildcard of one label", { .dns = "*.ok.test", .to_day = 5 },
	    "a.ok.test", false, NULL },
	{ "good address", { .ip = "192.0.2.7", .to_day = 5 }, "192.0.2.7", true,
	    NULL },
	{ "expired", { .dns = "ok.test", .from_day = -9, .to_day = -1 },
	    "ok.test", false, "certificate is expired" },
	{ "early", { .dns = "ok.test", .from_day = 2, .to_day = 5 }, "ok.test",
	    false, "certificate is not yet valid" },
	{ "self-signed", { .dns = "ok.test", .to_day = 5, .self_signed = true },
	    "ok.test", false, "certificate is self-signed" ROOTS },
	{ "other name", { .dns = "no.test", .to_day = 5 }, "ok.test", false,
	    "certificate is for another name" },
	{ "common name only", { .common = "ok.test", .to_day = 5 }, "ok.test",
	    false, "certificate is for another name" },
	{ "wildcard over two labels", { .dns = "*.test", .to_day = 5 },
	    "a.ok.test", false, "certificate is for another name" },
	{ "partial wildcard", { .dns = "o*.ok.test", .to_day = 5 },
	    "ox.ok.test", false, "certificate is for another name" },
	{ "address for a name", { .ip = "192.0.2.7", .to_day = 5 }, "ok.test",
	    false, "certificate is for another name" },
	{ "name for an address", { .dns = "192.0.2.7", .to_day = 5 },
	    "192.0.2.7", true, "certificate is not for this address" },
	{ "client's", { .dns = "ok.test", .to_day = 5, .client_only = true },
	    "ok.test", false, "certificate is not for a server" },
	{ "unknown issuer", { .dns = "ok.test", .to_day = 5, .other_ca = true },
	    "ok.test", false, "certificate's issuer is unknown" ROOTS },
	{ "SHA-1", { .dns = "ok.test", .to_day = 5, .sha1 = true }, "ok.test",
	    false, "a signature in the certificate's chain is too weak" },
};

/* A plain OpenSSL server on the other end, stepped while the loop turns. */
static SSL *
origin_on(SSL_CTX *ctx, int fd)
{
	SSL *ssl = SSL_new(ctx);

	assert_int_equal(SSL_set_fd(ssl, fd), 1);
	SSL_set_accept_state(ssl);
	return ssl;
}

static void
stream_tls_verifies_the_origin(void **state)
{
	struct bed *b = *state;

	for (size_t i = 0; i < COUNT_OF(origins); i++) {
		int fd[2];
		print_message("# %s\n", origins[i].name);
		bed_pair(fd);
		SSL_CTX *ctx = bed_origin(b, &origins[i].cert);
		SSL *ssl = origin_on(ctx, fd[0]);
		struct stream *s =
		    connect_one(b, fd[1], origins[i].host, origins[i].literal);
		assert_true(stream_put(s, SLICE("secret")));
		step(b, ssl);
		assert_int_equal(stream_is_ready(s), origins[i].text == NULL);
		assert_int_equal(stream_is_broken(s), origins[i].text != NULL);
		assert_int_equal(stream_tls_is_verified(s,
				     slice_of_str(origins[i].host),
				     origins[i].literal),
		    origins[i].text == NULL);
		if (origins[i].text != NULL) {
			assert_int_equal(stream_reason(s), REASON_UP_CERT);
			assert_string_equal(stream_text(s), origins[i].text);
			char byte;
			assert_true(SSL_read(ssl, &byte, 1) <= 0);
		}
		stream_close(s);
		bed_turn(b);
		SSL_free(ssl);
		SSL_CTX_free(ctx);
		close(fd[0]);
	}
}

static const struct {
	const char *name;
	uint32_t root_item, item; /* of the root, of the host */
	bool only, good;
} roots[] = {
	{ "everybody's root", CTX_ITEM_NONE, CTX_ITEM_NONE, false, true },
	{ "everybody's root, a host of an item", CTX_ITEM_NONE, 2, false,
	    true },
	{ "everybody's root, only_roots", CTX_ITEM_NONE, 2, true, false },
	{ "the item's root", 2, 2, false, true },
	{ "the item's root, only_roots", 2, 2, true, true },
	{ "another item's root", 1, 2, false, false },
	{ "an item's root, a host of none", 2, CTX_ITEM_NONE, false, false },
};

static void
stream_tls_counts_the_roots_of_its_host(void **state)
{
	struct bed *b = *state;
	const struct bed_cert good = { .dns = "ok.test", .to_day = 5 };

	for (size_t i = 0; i < COUNT_OF(roots); i++) {
		const struct ctx_root list[] = { { SLICE("no certificate"),
						     CTX_ITEM_NONE },
			{ b->root.der, roots[i].root_item } };
		const struct stream_tls_peer peer = { .host = SLICE("ok.test"),
			.item = roots[i].item,
			.only_roots = roots[i].only };
		enum err err;
		int fd[2];
		print_message("# %s\n", roots[i].name);
		struct ctx_client *client = ctx_client_new(list, 2, &err);
		assert_non_null(client);
		bed_pair(fd);
		SSL_CTX *ctx = bed_origin(b, &good);
		SSL *ssl = origin_on(ctx, fd[0]);
		struct stream *s =
		    stream_tls_connect(b->loop, fd[1], client, &peer, &err);
		assert_non_null(s);
		step(b, ssl);
		assert_int_equal(stream_is_ready(s), roots[i].good);
		stream_close(s);
		bed_turn(b);
		ctx_client_free(client);
		SSL_free(ssl);
		SSL_CTX_free(ctx);
		close(fd[0]);
	}
}

static void
stream_tls_says_that_the_origin_wants_a_certificate(void **state)
{
	struct bed *b = *state;
	const struct bed_cert good = { .dns = "ok.test", .to_day = 5 };
	static const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };
	static const char *const texts[] = { "the peer refused the handshake",
		"the origin wants a client certificate" };

	for (int i = 0; i < 2; i++) {
		int fd[2];
		bed_pair(fd);
		SSL_CTX *ctx = bed_origin(b, &good);
		SSL_CTX_set_max_proto_version(ctx, versions[i]);
		SSL_CTX_set_verify(ctx,
		    SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
		SSL *ssl = origin_on(ctx, fd[0]);
		struct stream *s = connect_one(b, fd[1], "ok.test", false);
		step(b, ssl);
		assert_true(stream_is_broken(s));
		assert_int_equal(stream_reason(s), REASON_UP_CERT);
		assert_string_equal(stream_text(s), texts[i]);
		stream_close(s);
		bed_turn(b);
		SSL_free(ssl);
		SSL_CTX_free(ctx);
		close(fd[0]);
	}
}

static const struct {
	const char *name, *alpn; /* as on the wire; NULL: none */
	int max_version;	 /* 0: the newest */
	enum alpn choice;
	enum reason reason; /* ALLOW: it comes up */
	const char *chosen;
} clients[] = {
	{ "no ALPN", NULL, 0, ALPN_HTTP11, REASON_ALLOW, "" },
	{ "no ALPN, none chosen", NULL, 0, ALPN_NONE, REASON_ALLOW, "" },
	{ "http/1.1", "\x08http/1.1", 0, ALPN_HTTP11, REASON_ALLOW,
	    "http/1.1" },
	{ "h2 first", "\x02h2\x08http/1.1", 0, ALPN_HTTP11, REASON_ALLOW,
	    "http/1.1" },
	{ "h2 chosen", "\x02h2\x08http/1.1", 0, ALPN_H2, REASON_ALLOW, "h2" },
	{ "h2 chosen, last", "\x08http/1.1\x02h2", 0, ALPN_H2, REASON_ALLOW,
	    "h2" },
	{ "none chosen", "\x02h2\x08http/1.1", 0, ALPN_NONE, REASON_ALLOW, "" },
	{ "h2 alone", "\x02h2", 0, ALPN_HTTP11, REASON_TLS_VERSION, "" },
	{ "http/1.1 alone", "\x08http/1.1", 0, ALPN_H2, REASON_TLS_VERSION,
	    "" },
	{ "http/1.0 alone", "\x08http/1.0", 0, ALPN_HTTP11, REASON_TLS_VERSION,
	    "" },
	{ "longer name", "\x09http/1.1x", 0, ALPN_HTTP11, REASON_TLS_VERSION,
	    "" },
	{ "TLS 1.2", "\x08http/1.1", TLS1_2_VERSION, ALPN_HTTP11, REASON_ALLOW,
	    "http/1.1" },
	{ "TLS 1.2, h2", "\x02h2", TLS1_2_VERSION, ALPN_H2, REASON_ALLOW,
	    "h2" },
	{ "TLS 1.1", "\x08http/1.1", TLS1_1_VERSION, ALPN_HTTP11,
	    REASON_TLS_VERSION, "" },
	{ "TLS 1.0", "\x08http/1.1", TLS1_VERSION, ALPN_HTTP11,
	    REASON_TLS_VERSION, "" },
};

static void
stream_tls_answers_each_kind_of_client(void **state)
{
	struct bed *b = *state;

	for (size_t i = 0; i < COUNT_OF(clients); i++) {
		int fd[2];
		const unsigned char *got = NULL;
		unsigned n = 0;
		print_message("# %s\n", clients[i].name);
		bed_pair(fd);
		SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
		SSL_CTX_set_security_level(ctx, 0);
		SSL_CTX_set_cipher_list(ctx, "ALL:@SECLEVEL=0");
		SSL_CTX_set_max_proto_version(ctx, clients[i].max_version);
		SSL *ssl = client_on(ctx, fd[1]);
		if (clients[i].alpn != NULL)
			SSL_set_alpn_protos(ssl,
			    (const unsigned char *)clients[i].alpn,
			    (unsigned)strlen(clients[i].alpn));
		struct stream *s = accept_alpn(b, fd[0], clients[i].choice);
		step(b, ssl);
		assert_int_equal(stream_is_ready(s),
		    clients[i].reason == REASON_ALLOW);
		assert_int_equal(stream_reason(s), clients[i].reason);
		SSL_get0_alpn_selected(ssl, &got, &n);
		assert_true(slice_eq_str(slice_of(got, n), clients[i].chosen));
		assert_true(slice_eq_str(alpn_name(stream_tls_alpn(s)),
		    clients[i].chosen));
		stream_close(s);
		bed_turn(b);
		SSL_free(ssl);
		SSL_CTX_free(ctx);
		close(fd[1]);
	}
}

/* An origin that chooses what it likes: a name, NULL for nothing. */
static int
on_offer(SSL *ssl, const unsigned char **out, unsigned char *n,
    const unsigned char *in, unsigned in_n, void *arg)
{
	const char *choice = arg;

	(void)ssl;
	(void)in;
	(void)in_n;
	if (choice == NULL)
		return SSL_TLSEXT_ERR_NOACK;
	*out = (const unsigned char *)choice;
	*n = (unsigned char)strlen(choice);
	return SSL_TLSEXT_ERR_OK;
}

static const struct {
	const char *name;
	enum alpn_offer offer;
	const char *choice;
	enum alpn alpn;
	bool good;
} choices[] = {
	{ "both offered, h2 chosen", ALPN_OFFER_H2_HTTP11, "h2", ALPN_H2,
	    true },
	{ "both offered, http/1.1 chosen", ALPN_OFFER_H2_HTTP11, "http/1.1",
	    ALPN_HTTP11, true },
	{ "both offered, none chosen", ALPN_OFFER_H2_HTTP11, NULL, ALPN_NONE,
	    true },
	{ "h2 offered and chosen", ALPN_OFFER_H2, "h2", ALPN_H2, true },
	{ "http/1.1 offered and chosen", ALPN_OFFER_HTTP11, "http/1.1",
	    ALPN_HTTP11, true },
	{ "nothing offered", ALPN_OFFER_NONE, "h2", ALPN_NONE, true },
	{ "h2 chosen unoffered", ALPN_OFFER_HTTP11, "h2", ALPN_NONE, false },
	{ "http/1.1 chosen unoffered", ALPN_OFFER_H2, "http/1.1", ALPN_NONE,
	    false },
	{ "another chosen", ALPN_OFFER_H2_HTTP11, "h3", ALPN_NONE, false },
};

static void
stream_tls_offers_and_takes_what_was_offered(void **state)
{
	struct bed *b = *state;
	const struct bed_cert good = { .dns = "ok.test", .to_day = 5 };

	for (size_t i = 0; i < COUNT_OF(choices); i++) {
		char choice[16];
		int fd[2];
		print_message("# %s\n", choices[i].name);
		bed_pair(fd);
		SSL_CTX *ctx = bed_origin(b, &good);
		if (choices[i].choice != NULL)
			snprintf(choice, sizeof(choice), "%s",
			    choices[i].choice);
		SSL_CTX_set_alpn_select_cb(ctx, on_offer,
		    choices[i].choice == NULL ? NULL : choice);
		SSL *ssl = origin_on(ctx, fd[0]);
		struct stream *s = connect_alpn(b, fd[1], choices[i].offer);
		assert_int_equal(stream_tls_alpn(s), ALPN_NONE);
		step(b, ssl);
		assert_int_equal(stream_is_ready(s), choices[i].good);
		assert_int_equal(stream_tls_alpn(s), choices[i].alpn);
		assert_int_equal(stream_reason(s),
		    choices[i].good ? REASON_ALLOW : REASON_UP_CERT);
		stream_close(s);
		bed_turn(b);
		SSL_free(ssl);
		SSL_CTX_free(ctx);
		close(fd[0]);
	}
}

static int
on_none(SSL *ssl, const unsigned char **out, unsigned char *n,
    const unsigned char *in, unsigned in_n, void *arg)
{
	(void)ssl;
	(void)out;
	(void)n;
	(void)in;
	(void)in_n;
	(void)arg;
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

/* RFC 7301 3.2: an origin that speaks nothing of the list says so. */
static void
stream_tls_says_that_the_origin_speaks_nothing_offered(void **state)
{
	struct bed *b = *state;
	const struct bed_cert good = { .dns = "ok.test", .to_day = 5 };
	int fd[2];

	bed_pair(fd);
	SSL_CTX *ctx = bed_origin(b, &good);
	SSL_CTX_set_alpn_select_cb(ctx, on_none, NULL);
	SSL *ssl = origin_on(ctx, fd[0]);
	struct stream *s = connect_alpn(b, fd[1], ALPN_OFFER_H2);
	step(b, ssl);
	assert_true(stream_is_broken(s));
	assert_int_equal(stream_reason(s), REASON_UP_CERT);
	assert_string_equal(stream_text(s),
	    "the peer speaks no protocol that was offered (ALPN)");
	stream_close(s);
	bed_turn(b);
	SSL_free(ssl);
	SSL_CTX_free(ctx);
	close(fd[0]);
}

static void
stream_tls_wants_a_real_host(void **state)
{
	struct bed *b = *state;
	static const char *const bad[] = { "", ".test", "ok.test.", "*.test",
		"192.0.2.1" };

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		int fd[2];
		enum err err;
		const struct stream_tls_peer peer = { .host =
							  slice_of_str(bad[i]),
			.item = CTX_ITEM_NONE };
		bed_pair(fd);
		assert_null(
		    stream_tls_connect(b->loop, fd[1], b->client, &peer, &err));
		assert_int_equal(err, ERR_CRYPTO);
		assert_int_equal(write(fd[0], "", 1), -1); /* it was closed */
		close(fd[0]);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stream_tls_verifies_the_origin),
		cmocka_unit_test(stream_tls_counts_the_roots_of_its_host),
		cmocka_unit_test(
		    stream_tls_says_that_the_origin_wants_a_certificate),
		cmocka_unit_test(stream_tls_answers_each_kind_of_client),
		cmocka_unit_test(stream_tls_offers_and_takes_what_was_offered),
		cmocka_unit_test(
		    stream_tls_says_that_the_origin_speaks_nothing_offered),
		cmocka_unit_test(stream_tls_wants_a_real_host),
	};
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, bed_setup, bed_teardown);
}
