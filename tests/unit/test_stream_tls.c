/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/socket.h>

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/attr.h"
#include "tests/unit/tls_bed.h"
#include "tls/stream_tls.h"

static struct stream *
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

static struct stream *
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

static void
stream_tls_carries_bytes_and_each_end(void **state)
{
	struct bed *b = *state;
	int fd[2];

	bed_pair(fd);
	struct stream *server = accept_one(b, fd[0], (struct slice){ 0 });
	struct stream *client = connect_one(b, fd[1], "ok.test", false);
	assert_false(stream_is_ready(client));
	assert_true(stream_put(client, SLICE("question")));
	bed_turn(b);
	assert_true(stream_is_ready(server));
	assert_true(stream_is_ready(client));
	assert_true(slice_eq(stream_peek(server), SLICE("question")));
	stream_take(server, 8);
	assert_true(stream_tls_is_verified(client, SLICE("ok.test"), false));
	assert_false(stream_tls_is_verified(client, SLICE("no.test"), false));
	assert_false(stream_tls_is_verified(server, SLICE("ok.test"), false));

	/* One side may end and still be answered. */
	stream_shut(client);
	bed_turn(b);
	assert_true(stream_is_shut(client));
	assert_true(stream_is_eof(server));
	assert_false(stream_is_broken(server));
	assert_true(stream_put(server, SLICE("answer")));
	stream_shut(server);
	bed_turn(b);
	assert_true(slice_eq(stream_peek(client), SLICE("answer")));
	assert_false(stream_is_eof(client));
	stream_take(client, 6);
	assert_true(stream_is_eof(client));
	assert_false(stream_is_broken(client));
	stream_close(server);
	stream_close(client);
	bed_turn(b);
}

static void
stream_tls_is_cut_not_ended_without_close_notify(void **state)
{
	struct bed *b = *state;
	int fd[2];

	bed_pair(fd);
	struct stream *server = accept_one(b, fd[0], (struct slice){ 0 });
	struct stream *client = connect_one(b, fd[1], "ok.test", false);
	bed_turn(b);
	assert_true(stream_put(server, SLICE("half an ans")));
	bed_turn(b);
	/* The server's TCP ends, its TLS does not. */
	shutdown(fd[0], SHUT_WR);
	bed_turn(b);
	assert_true(slice_eq(stream_peek(client), SLICE("half an ans")));
	stream_take(client, 11);
	assert_true(stream_is_broken(client));
	assert_false(stream_is_eof(client));
	assert_int_equal(stream_reason(client), REASON_UP_RESPONSE);
	assert_string_equal(stream_text(client),
	    "connection was cut without TLS's close_notify");

	shutdown(fd[1], SHUT_WR);
	bed_turn(b);
	assert_true(stream_is_broken(server));
	assert_int_equal(stream_reason(server), REASON_CLIENT_ABORT);
	stream_close(server);
	stream_close(client);
	bed_turn(b);
}

static void
stream_tls_reads_what_was_peeked_at_first(void **state)
{
	struct bed *b = *state;

	for (size_t keep = 1; keep < 4000; keep = keep * 3 + 1) {
		int fd[2];
		uint8_t hello[4096];
		bed_pair(fd);
		struct stream *client = connect_one(b, fd[1], "ok.test", false);
		bed_turn(b);
		ssize_t n = recv(fd[0], hello, keep, 0);
		assert_true(n > 0);
		struct stream *server =
		    accept_one(b, fd[0], slice_of(hello, (size_t)n));
		memset(hello, 0, sizeof(hello));
		bed_turn(b);
		assert_true(stream_is_ready(server));
		assert_true(stream_is_ready(client));
		stream_close(server);
		stream_close(client);
		bed_turn(b);
	}
}

static void
stream_tls_moves_much_under_backpressure(void **state)
{
	struct bed *b = *state;
	enum {
		TOTAL = 3000000
	};
	static uint8_t chunk[7777];
	size_t sent = 0, got = 0;
	int fd[2];

	bed_pair(fd);
	struct stream *server = accept_one(b, fd[0], (struct slice){ 0 });
	struct stream *client = connect_one(b, fd[1], "ok.test", false);
	while (got < TOTAL) {
		while (sent < TOTAL && stream_room(server) != 0) {
			for (size_t i = 0; i < sizeof(chunk); i++)
				chunk[i] = (uint8_t)((sent + i) % 251);
			size_t n = sizeof(chunk);
			if (n > TOTAL - sent)
				n = TOTAL - sent;
			if (n > stream_room(server))
				n = stream_room(server);
			assert_true(stream_put(server, slice_of(chunk, n)));
			sent += n;
		}
		bed_turn(b);
		struct slice in = stream_peek(client);
		assert_true(in.n <= STREAM_IN_MAX);
		for (size_t i = 0; i < in.n; i++)
			assert_int_equal(in.p[i], (got + i) % 251);
		got += in.n;
		stream_take(client, in.n);
	}
	assert_int_equal(got, TOTAL);
	stream_close(server);
	stream_close(client);
	bed_turn(b);
}

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
	    "ok.test", false, "certificate is self-signed" },
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
	    "ok.test", false, "certificate's issuer is unknown" },
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
step(struct bed *b, SSL *ssl)
{
	for (int i = 0; i < 6; i++) {
		bed_turn(b);
		(void)SSL_do_handshake(ssl);
	}
	bed_turn(b);
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

/* A plain OpenSSL client that trusts anybody, towards our server's side. */
static SSL *
client_on(SSL_CTX *ctx, int fd)
{
	SSL *ssl = SSL_new(ctx);

	assert_int_equal(SSL_set_fd(ssl, fd), 1);
	SSL_set_connect_state(ssl);
	return ssl;
}

static const struct {
	const char *name, *alpn; /* as on the wire; NULL: none */
	int max_version;	 /* 0: the newest */
	enum reason reason;	 /* ALLOW: it comes up */
	const char *chosen;
} clients[] = {
	{ "no ALPN", NULL, 0, REASON_ALLOW, "" },
	{ "http/1.1", "\x08http/1.1", 0, REASON_ALLOW, "http/1.1" },
	{ "h2 first", "\x02h2\x08http/1.1", 0, REASON_ALLOW, "http/1.1" },
	{ "h2 alone", "\x02h2", 0, REASON_TLS_VERSION, "" },
	{ "http/1.0 alone", "\x08http/1.0", 0, REASON_TLS_VERSION, "" },
	{ "longer name", "\x09http/1.1x", 0, REASON_TLS_VERSION, "" },
	{ "TLS 1.2", "\x08http/1.1", TLS1_2_VERSION, REASON_ALLOW, "http/1.1" },
	{ "TLS 1.1", "\x08http/1.1", TLS1_1_VERSION, REASON_TLS_VERSION, "" },
	{ "TLS 1.0", "\x08http/1.1", TLS1_VERSION, REASON_TLS_VERSION, "" },
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
		struct stream *s = accept_one(b, fd[0], (struct slice){ 0 });
		step(b, ssl);
		assert_int_equal(stream_is_ready(s),
		    clients[i].reason == REASON_ALLOW);
		assert_int_equal(stream_reason(s), clients[i].reason);
		SSL_get0_alpn_selected(ssl, &got, &n);
		assert_true(slice_eq_str(slice_of(got, n), clients[i].chosen));
		stream_close(s);
		bed_turn(b);
		SSL_free(ssl);
		SSL_CTX_free(ctx);
		close(fd[1]);
	}
}

static int n_sessions;

static int
on_session(SSL *ssl, SSL_SESSION *session)
{
	(void)ssl;
	(void)session;
	n_sessions++;
	return 0;
}

static void
stream_tls_never_resumes(void **state)
{
	struct bed *b = *state;
	static const int versions[] = { TLS1_2_VERSION, TLS1_3_VERSION };

	for (int v = 0; v < 2; v++) {
		SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
		SSL_SESSION *first = NULL;
		SSL_CTX_set_max_proto_version(ctx, versions[v]);
		SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT);
		SSL_CTX_sess_set_new_cb(ctx, on_session);
		for (int i = 0; i < 2; i++) {
			int fd[2];
			char byte;
			bed_pair(fd);
			SSL *ssl = client_on(ctx, fd[1]);
			if (first != NULL)
				SSL_set_session(ssl, first);
			struct stream *s =
			    accept_one(b, fd[0], (struct slice){ 0 });
			step(b, ssl);
			assert_true(stream_is_ready(s));
			(void)SSL_read(ssl, &byte, 1);
			assert_int_equal(SSL_session_reused(ssl), 0);
			/* TLS 1.3 ones come as tickets only: there are none. */
			if (versions[v] == TLS1_3_VERSION)
				assert_int_equal(n_sessions, 0);
			SSL_SESSION_free(first);
			first = SSL_get1_session(ssl);
			stream_close(s);
			bed_turn(b);
			SSL_free(ssl);
			close(fd[1]);
		}
		SSL_SESSION_free(first);
		SSL_CTX_free(ctx);
		n_sessions = 0;
	}
}

/* RFC 8446 4.6.3: a peer may send key updates as it likes, and no data. */
static void
stream_tls_bears_some_key_updates_and_no_flood(void **state)
{
	struct bed *b = *state;
	int fd[2];
	size_t n = 0;

	bed_pair(fd);
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	SSL *ssl = client_on(ctx, fd[1]);
	struct stream *s = accept_one(b, fd[0], (struct slice){ 0 });
	step(b, ssl);
	for (int i = 0; i < 500; i++) {
		assert_int_equal(SSL_key_update(ssl,
				     SSL_KEY_UPDATE_NOT_REQUESTED),
		    1);
		assert_int_equal(SSL_do_handshake(ssl), 1);
		if (i % 50 == 49)
			bed_turn(b);
	}
	assert_int_equal(SSL_write(ssl, "data", 4), 4);
	bed_turn(b);
	assert_true(slice_eq(stream_peek(s), SLICE("data")));
	stream_take(s, 4);

	while (!stream_is_broken(s) && n < 20000) {
		for (int i = 0; i < 100; i++, n++) {
			(void)SSL_key_update(ssl, SSL_KEY_UPDATE_NOT_REQUESTED);
			(void)SSL_do_handshake(ssl);
		}
		bed_turn(b);
	}
	assert_true(stream_is_broken(s));
	assert_string_equal(stream_text(s),
	    "too many TLS records without data");
	assert_int_equal(stream_reason(s), REASON_CLIENT_ABORT);
	stream_close(s);
	bed_turn(b);
	SSL_free(ssl);
	SSL_CTX_free(ctx);
	close(fd[1]);
}

#define BYTES(text) text, sizeof(text) - 1

static const struct {
	const char *name, *bytes;
	size_t n;
} garbage[] = {
	{ "plain HTTP", BYTES("GET / HTTP/1.1\r\nHost: ok.test\r\n\r\n") },
	{ "SSH", BYTES("SSH-2.0-OpenSSH_9.2p1\r\n") },
	{ "application data first", BYTES("\x17\x03\x03\x00\x01xxxxxxxxxx") },
	{ "alert first", BYTES("\x15\x03\x03\x00\x02\x02\x28") },
	{ "hello of no sense", BYTES("\x16\x03\x01\x00\x05\x01\x00\x00\x01x") },
};

static void
stream_tls_refuses_what_is_not_tls(void **state)
{
	struct bed *b = *state;

	for (size_t i = 0; i < COUNT_OF(garbage); i++) {
		int fd[2];
		print_message("# %s\n", garbage[i].name);
		bed_pair(fd);
		struct stream *s = accept_one(b, fd[0],
		    slice_of(garbage[i].bytes, garbage[i].n));
		bed_turn(b);
		assert_true(stream_is_broken(s));
		assert_int_equal(stream_reason(s), REASON_TLS_NOT_TLS);
		stream_close(s);
		bed_turn(b);
		close(fd[1]);
	}
}

static void
stream_tls_says_that_the_client_went_away(void **state)
{
	struct bed *b = *state;
	int fd[2];

	bed_pair(fd);
	struct stream *s = accept_one(b, fd[0], SLICE("\x16\x03\x01"));
	close(fd[1]);
	bed_turn(b);
	assert_true(stream_is_broken(s));
	assert_int_equal(stream_reason(s), REASON_CLIENT_ABORT);
	stream_close(s);
	bed_turn(b);

	/* A client that does not trust us: its alert says so. */
	bed_pair(fd);
	SSL_CTX *ctx = SSL_CTX_new(TLS_client_method());
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER, NULL);
	SSL *ssl = client_on(ctx, fd[1]);
	s = accept_one(b, fd[0], (struct slice){ 0 });
	step(b, ssl);
	assert_true(stream_is_broken(s));
	assert_int_equal(stream_reason(s), REASON_CLIENT_ABORT);
	assert_string_equal(stream_text(s),
	    "the peer does not trust our certificate's issuer");
	stream_close(s);
	bed_turn(b);
	SSL_free(ssl);
	SSL_CTX_free(ctx);
	close(fd[1]);
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
		cmocka_unit_test(stream_tls_carries_bytes_and_each_end),
		cmocka_unit_test(
		    stream_tls_is_cut_not_ended_without_close_notify),
		cmocka_unit_test(stream_tls_reads_what_was_peeked_at_first),
		cmocka_unit_test(stream_tls_moves_much_under_backpressure),
		cmocka_unit_test(stream_tls_verifies_the_origin),
		cmocka_unit_test(stream_tls_counts_the_roots_of_its_host),
		cmocka_unit_test(
		    stream_tls_says_that_the_origin_wants_a_certificate),
		cmocka_unit_test(stream_tls_answers_each_kind_of_client),
		cmocka_unit_test(stream_tls_never_resumes),
		cmocka_unit_test(
		    stream_tls_bears_some_key_updates_and_no_flood),
		cmocka_unit_test(stream_tls_refuses_what_is_not_tls),
		cmocka_unit_test(stream_tls_says_that_the_client_went_away),
		cmocka_unit_test(stream_tls_wants_a_real_host),
	};
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, bed_setup, bed_teardown);
}
