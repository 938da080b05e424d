/* SPDX-License-Identifier: Apache-2.0 */
#include "stream_tls_bed.h"

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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stream_tls_carries_bytes_and_each_end),
		cmocka_unit_test(
		    stream_tls_is_cut_not_ended_without_close_notify),
		cmocka_unit_test(stream_tls_reads_what_was_peeked_at_first),
		cmocka_unit_test(stream_tls_moves_much_under_backpressure),
		cmocka_unit_test(stream_tls_never_resumes),
		cmocka_unit_test(
		    stream_tls_bears_some_key_updates_and_no_flood),
		cmocka_unit_test(stream_tls_refuses_what_is_not_tls),
		cmocka_unit_test(stream_tls_says_that_the_client_went_away),
	};
	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests(tests, bed_setup, bed_teardown);
}
