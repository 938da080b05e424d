/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "net/stream_tcp.h"

static size_t n_news;

static void
count_news(struct stream *s, void *arg)
{
	(void)s;
	(void)arg;
	n_news++;
}

static void
turn(struct loop *l)
{
	for (int i = 0; i < 20; i++)
		event_base_loop(loop_base(l), EVLOOP_NONBLOCK);
}

/* A stream over one end of a pair; the other end is *peer. */
static struct stream *
make(struct loop *l, int *peer)
{
	enum err err;
	int fd[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
			     fd),
	    0);
	*peer = fd[1];
	struct stream *s = stream_tcp_new(l, fd[0], &err);
	assert_non_null(s);
	stream_on(s, count_news, NULL);
	return s;
}

/* Where system calls are interrupted, the test's own are as well. */
static ssize_t
read_now(int fd, void *p, size_t n)
{
	ssize_t got;

	do {
		got = read(fd, p, n);
	} while (got < 0 && errno == EINTR);
	return got;
}

static void
stream_carries_bytes_and_their_end(void **state)
{
	(void)state;
	enum err err;
	struct loop *l = loop_new(&err);
	int peer;
	struct stream *s = make(l, &peer);
	char got[16];

	assert_int_equal(write(peer, "hello", 5), 5);
	turn(l);
	assert_true(slice_eq(stream_peek(s), SLICE("hello")));
	stream_take(s, 2);
	assert_true(slice_eq(stream_peek(s), SLICE("llo")));
	shutdown(peer, SHUT_WR);
	turn(l);
	assert_false(stream_is_eof(s)); /* three bytes are still there */
	stream_take(s, 3);
	assert_true(stream_is_eof(s));
	assert_false(stream_is_broken(s));

	assert_true(stream_put(s, SLICE("wor")));
	assert_true(stream_put(s, SLICE("ld")));
	stream_shut(s);
	assert_false(stream_put(s, SLICE("late")));
	assert_int_equal(stream_backlog(s), 5);
	turn(l);
	assert_true(stream_is_shut(s));
	assert_int_equal(read_now(peer, got, sizeof(got)), 5);
	assert_memory_equal(got, "world", 5);
	assert_int_equal(read_now(peer, got, sizeof(got)), 0);
	assert_int_equal(s->n_in, 5);
	assert_int_equal(s->n_out, 5);
	stream_close(s);
	turn(l);
	close(peer);
	loop_free(l);
}

static void
stream_stops_reading_when_full(void **state)
{
	(void)state;
	enum err err;
	struct loop *l = loop_new(&err);
	int peer;
	struct stream *s = make(l, &peer);
	static char block[8192];
	size_t sent = 0, taken = 0;

	for (int round = 0; round < 200; round++) {
		ssize_t n = write(peer, block, sizeof(block));
		if (n > 0)
			sent += (size_t)n;
		turn(l);
	}
	assert_true(stream_is_full(s));
	assert_int_equal(stream_peek(s).n, STREAM_IN_MAX);
	assert_true(sent > STREAM_IN_MAX);
	while (taken < sent) {
		size_t n = stream_peek(s).n;
		assert_true(n != 0);
		taken += n;
		stream_take(s, n);
		turn(l);
	}
	assert_int_equal(taken, sent);
	stream_close(s);
	turn(l);
	close(peer);
	loop_free(l);
}

static void
stream_hold_keeps_bytes_with_the_peer(void **state)
{
	(void)state;
	enum err err;
	struct loop *l = loop_new(&err);
	int peer;
	struct stream *s = make(l, &peer);

	turn(l);
	stream_hold(s, true);
	assert_int_equal(write(peer, "x", 1), 1);
	turn(l);
	assert_int_equal(stream_peek(s).n, 0);
	stream_hold(s, false);
	turn(l);
	assert_int_equal(stream_peek(s).n, 1);
	stream_close(s);
	turn(l);
	close(peer);
	loop_free(l);
}

static void
stream_says_that_a_peer_is_gone(void **state)
{
	(void)state;
	enum err err;
	struct loop *l = loop_new(&err);
	int peer;
	struct stream *s = make(l, &peer);

	turn(l);
	n_news = 0;
	close(peer);
	assert_true(stream_put(s, SLICE("into the void")));
	turn(l);
	assert_true(stream_is_broken(s));
	assert_string_not_equal(stream_text(s), "");
	assert_true(n_news != 0);
	assert_false(stream_put(s, SLICE("more")));
	stream_close(s);
	n_news = 0;
	turn(l);
	assert_int_equal(n_news, 0);
	loop_free(l);
}

static void
stream_detach_leaves_the_peeked_bytes(void **state)
{
	(void)state;
	enum err err;
	struct loop *l = loop_new(&err);
	int peer;
	struct stream *s = make(l, &peer);

	assert_int_equal(write(peer, "hello", 5), 5);
	turn(l);
	int fd = stream_detach(s);
	assert_true(fd >= 0);
	assert_true(slice_eq(stream_peek(s), SLICE("hello")));
	assert_true(stream_is_broken(s));
	assert_int_equal(stream_detach(s), -1);
	stream_close(s);
	turn(l);
	assert_int_not_equal(fcntl(fd, F_GETFD), -1); /* still open */
	close(fd);
	close(peer);
	loop_free(l);
}

static void
stream_refuses_more_than_its_ceiling(void **state)
{
	(void)state;
	enum err err;
	struct loop *l = loop_new(&err);
	int peer;
	struct stream *s = make(l, &peer);
	static uint8_t block[STREAM_OUT_MAX + 1];

	assert_false(stream_put(s, slice_of(block, sizeof(block))));
	assert_true(stream_put_secret(s, slice_of(block, STREAM_OUT_MAX)));
	assert_false(stream_put(s, SLICE("1")));
	assert_int_equal(stream_room(s), 0);
	stream_reset(s);
	turn(l);
	close(peer);
	loop_free(l);
}

/* One random action on a pair of streams that pump into each other's way. */
static void
act(struct stream **s, int *peer, unsigned r)
{
	static char block[20000];
	ssize_t n = 0;

	switch (r % 8) {
	case 0:
	case 1:
		n = send(*peer, block, r % sizeof(block), MSG_NOSIGNAL);
		break;
	case 2:
		n = read(*peer, block, r % sizeof(block));
		break;
	case 3:
		if (*s != NULL)
			stream_take(*s, r % (stream_peek(*s).n + 1));
		break;
	case 4:
		if (*s != NULL)
			n = stream_put(*s, slice_of(block, r % 5000));
		break;
	case 5:
		if (*s != NULL)
			stream_hold(*s, r % 16 > 8);
		break;
	case 6:
		if (r % 64 == 6)
			shutdown(*peer, SHUT_WR);
		else if (r % 64 == 14 && *s != NULL)
			stream_shut(*s);
		break;
	default:
		if (r % 128 == 7 && *s != NULL) {
			stream_close(*s);
			*s = NULL;
		}
		break;
	}
	(void)n;
}

static void
stream_survives_random_peers(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 100; seed++) {
		enum err err;
		struct loop *l = loop_new(&err);
		int peer[2];
		struct stream *s[2] = { make(l, &peer[0]), make(l, &peer[1]) };
		unsigned r = seed;

		for (int i = 0; i < 400; i++) {
			r = r * 1664525 + 1013904223;
			act(&s[r >> 31], &peer[r >> 31], r >> 8 & 0x3fffff);
			if (s[0] != NULL && s[1] != NULL)
				(void)stream_move(s[0], s[1], r >> 16);
			event_base_loop(loop_base(l), EVLOOP_NONBLOCK);
		}
		for (int i = 0; i < 2; i++) {
			assert_true(s[i] == NULL ||
			    stream_peek(s[i]).n <= STREAM_IN_MAX);
			stream_close(s[i]);
			close(peer[i]);
		}
		turn(l);
		loop_free(l);
	}
}

/* Before a close that must not lose it; but told is from the loop alone. */
static void
stream_flush_writes_at_once(void **state)
{
	(void)state;
	enum err err;
	struct loop *l = loop_new(&err);
	int peer;
	struct stream *s = make(l, &peer);
	char got[16];

	turn(l);
	n_news = 0;
	assert_true(stream_put(s, SLICE("bye")));
	stream_shut(s);
	stream_flush(s);
	assert_int_equal(read_now(peer, got, sizeof(got)), 3);
	assert_int_equal(read_now(peer, got, sizeof(got)), 0);
	assert_true(stream_is_shut(s));
	assert_int_equal(n_news, 0);
	turn(l);
	assert_int_equal(n_news, 1);
	stream_close(s);
	turn(l);
	close(peer);
	loop_free(l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stream_flush_writes_at_once),
		cmocka_unit_test(stream_carries_bytes_and_their_end),
		cmocka_unit_test(stream_stops_reading_when_full),
		cmocka_unit_test(stream_hold_keeps_bytes_with_the_peer),
		cmocka_unit_test(stream_says_that_a_peer_is_gone),
		cmocka_unit_test(stream_detach_leaves_the_peeked_bytes),
		cmocka_unit_test(stream_refuses_more_than_its_ceiling),
		cmocka_unit_test(stream_survives_random_peers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
