/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "net/splice.h"
#include "net/stream_tcp.h"

#define MANY (8 << 20) /* bytes: more than all buffers between two sockets */

/* Two peers, and what is between them. */
struct bed {
	struct loop *loop;
	struct pipes pipes;
	struct stream *client, *upstream;
	int peer[2]; /* their other ends: client's, upstream's */
	struct splice *splice;
	size_t n_news;
};

static void
on_news(void *arg)
{
	((struct bed *)arg)->n_news++;
}

/* A connection over loopback, since only TCP knows of resets. */
static void
connect_pair(int fds[2])
{
	struct sockaddr_in sa = { .sin_family = AF_INET };
	socklen_t n = sizeof(sa);
	int listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(listening, (struct sockaddr *)&sa, n), 0);
	assert_int_equal(listen(listening, 1), 0);
	assert_int_equal(getsockname(listening, (struct sockaddr *)&sa, &n), 0);
	fds[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(connect(fds[0], (struct sockaddr *)&sa, n), 0);
	fds[1] = accept4(listening, NULL, NULL, SOCK_CLOEXEC);
	assert_true(fds[1] >= 0);
	close(listening);
	for (int i = 0; i < 2; i++)
		assert_int_equal(fcntl(fds[i], F_SETFL, O_NONBLOCK), 0);
}

static void
turn(struct bed *b)
{
	for (int i = 0; i < 20; i++)
		event_base_loop(loop_base(b->loop), EVLOOP_NONBLOCK);
}

static void
set_up(struct bed *b)
{
	enum err err;
	int fds[2];

	*b = (struct bed){ .loop = loop_new(&err) };
	assert_non_null(b->loop);
	pipes_init(&b->pipes);
	connect_pair(fds);
	b->peer[0] = fds[0];
	b->client = stream_tcp_new(b->loop, fds[1], &err);
	connect_pair(fds);
	b->peer[1] = fds[0];
	b->upstream = stream_tcp_new(b->loop, fds[1], &err);
	assert_true(b->client != NULL && b->upstream != NULL);
}

static void
begin(struct bed *b)
{
	b->splice = splice_new(b->client, b->upstream, &b->pipes, on_news, b);
	assert_non_null(b->splice);
	turn(b);
}

static void
tear_down(struct bed *b)
{
	splice_free(b->splice);
	stream_close(b->client);
	stream_close(b->upstream);
	turn(b);
	pipes_release(&b->pipes);
	loop_free(b->loop);
	for (int i = 0; i < 2; i++)
		if (b->peer[i] >= 0)
			close(b->peer[i]);
}

static void
expect_bytes(int fd, const char *text)
{
	char got[64];
	size_t n = strlen(text);

	assert_int_equal(read(fd, got, sizeof(got)), n);
	assert_memory_equal(got, text, n);
}

static void
expect_end(int fd)
{
	char c;

	assert_int_equal(read(fd, &c, 1), 0);
}

static void
splice_passes_bytes_and_an_end_each_way(void **state)
{
	struct bed b;

	(void)state;
	set_up(&b);
	begin(&b);
	/* The server may speak first. */
	assert_int_equal(write(b.peer[1], "220 hello", 9), 9);
	turn(&b);
	expect_bytes(b.peer[0], "220 hello");
	assert_int_equal(write(b.peer[0], "quit", 4), 4);
	shutdown(b.peer[0], SHUT_WR);
	turn(&b);
	expect_bytes(b.peer[1], "quit");
	expect_end(b.peer[1]);
	assert_int_equal(splice_state(b.splice), SPLICE_OPEN);
	/* The other direction goes on. */
	assert_int_equal(write(b.peer[1], "bye", 3), 3);
	turn(&b);
	expect_bytes(b.peer[0], "bye");
	shutdown(b.peer[1], SHUT_WR);
	turn(&b);
	expect_end(b.peer[0]);
	assert_int_equal(splice_state(b.splice), SPLICE_OVER);
	assert_int_equal(b.upstream->n_out, 4);
	assert_int_equal(b.client->n_out, 12);
	assert_int_equal(b.client->n_in, 4);
	assert_int_equal(b.pipes.n, b.pipes.n_kept);
	tear_down(&b);
}

static void
splice_passes_first_what_was_read_already(void **state)
{
	struct bed b;

	(void)state;
	set_up(&b);
	assert_int_equal(write(b.peer[0], "hello, ", 7), 7);
	assert_int_equal(write(b.peer[1], "first", 5), 5);
	turn(&b);
	assert_int_equal(stream_peek(b.client).n, 7);
	assert_int_equal(write(b.peer[0], "world", 5), 5);
	shutdown(b.peer[0], SHUT_WR);
	turn(&b); /* the end was seen before, too */
	begin(&b);
	expect_bytes(b.peer[1], "hello, world");
	expect_end(b.peer[1]);
	expect_bytes(b.peer[0], "first");
	assert_int_equal(b.upstream->n_out, 12);
	tear_down(&b);
}

static uint8_t
byte_at(size_t i)
{
	return (uint8_t)(i * 31 + (i >> 8) * 7 + (i >> 16));
}

/* Write until the peer takes no more; how many it took. */
static size_t
write_all_it_takes(struct bed *b, int fd, size_t from, size_t end)
{
	static uint8_t block[65536];
	int idle = 0;

	while (from < end && idle < 3) {
		size_t n =
		    end - from < sizeof(block) ? end - from : sizeof(block);
		for (size_t i = 0; i < n; i++)
			block[i] = byte_at(from + i);
		ssize_t done = write(fd, block, n);
		from += done > 0 ? (size_t)done : 0;
		idle = done > 0 ? 0 : idle + 1;
		turn(b);
	}
	return from;
}

static size_t
read_and_compare(int fd, size_t from)
{
	static uint8_t block[65536];
	ssize_t n = read(fd, block, sizeof(block));

	for (ssize_t i = 0; i < n; i++)
		assert_int_equal(block[i], byte_at(from + (size_t)i));
	return from + (n > 0 ? (size_t)n : 0);
}

/* All bytes arrive, in order; while nobody reads, few are on their way. */
static void
pass_many(struct bed *b, int from, int to)
{
	size_t sent = write_all_it_takes(b, from, 0, SIZE_MAX), got = 0;
	size_t first = sent, end = sent + MANY;

	while (got < end) {
		size_t before = got;
		sent = write_all_it_takes(b, from, sent, end);
		got = read_and_compare(to, got);
		turn(b);
		assert_true(got > before || sent < end || got == end);
	}
	shutdown(from, SHUT_WR);
	turn(b);
	expect_end(to);
	assert_true(first < (32 << 20)); /* two sockets' buffers, no more */
}

static void
splice_holds_a_side_whose_peer_does_not_read(void **state)
{
	struct bed b;

	(void)state;
	set_up(&b);
	begin(&b);
	pass_many(&b, b.peer[0], b.peer[1]);
	pass_many(&b, b.peer[1], b.peer[0]);
	assert_int_equal(splice_state(b.splice), SPLICE_OVER);
	assert_true(b.client->n_in == b.upstream->n_out);
	/* What is in the buffers of streams would have been copied. */
	assert_true(b.pipes.n_kept != 0);
	tear_down(&b);
}

static void
splice_copies_where_no_pipe_is_left(void **state)
{
	struct pipe taken[LIMIT_PIPES], one;
	struct bed b;

	(void)state;
	set_up(&b);
	for (size_t i = 0; i < LIMIT_PIPES; i++)
		assert_true(pipes_take(&b.pipes, &taken[i]));
	assert_false(pipes_take(&b.pipes, &one));
	begin(&b);
	pass_many(&b, b.peer[0], b.peer[1]);
	pass_many(&b, b.peer[1], b.peer[0]);
	assert_int_equal(splice_state(b.splice), SPLICE_OVER);
	for (size_t i = 0; i < LIMIT_PIPES; i++)
		pipes_put(&b.pipes, &taken[i]);
	assert_int_equal(b.pipes.n, PIPES_KEPT);
	tear_down(&b);
}

static void
close_with_a_reset(int *fd)
{
	const struct linger now = { .l_onoff = 1 };

	assert_int_equal(setsockopt(*fd, SOL_SOCKET, SO_LINGER, &now,
			     sizeof(now)),
	    0);
	close(*fd);
	*fd = -1;
}

static void
splice_says_which_side_was_lost(void **state)
{
	(void)state;
	for (int side = 0; side < 2; side++) {
		struct bed b;
		set_up(&b);
		begin(&b);
		close_with_a_reset(&b.peer[side]);
		turn(&b);
		assert_int_equal(splice_state(b.splice), SPLICE_LOST);
		assert_int_equal(b.client->broken, side == 0);
		assert_int_equal(b.upstream->broken, side == 1);
		assert_false((side == 0 ? b.client : b.upstream)->ended);
		assert_true(b.n_news != 0);
		tear_down(&b);
	}
}

static void
splice_is_lost_where_nobody_reads_any_more(void **state)
{
	struct bed b;

	(void)state;
	set_up(&b);
	begin(&b);
	/* Gone in due form, and still sent to: the answer is a reset. */
	close(b.peer[0]);
	b.peer[0] = -1;
	turn(&b);
	assert_int_equal(splice_state(b.splice), SPLICE_OPEN);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(write(b.peer[1], "x", 1), 1);
		turn(&b);
	}
	assert_int_equal(splice_state(b.splice), SPLICE_LOST);
	assert_true(b.client->broken && b.client->ended);
	tear_down(&b);
}

static void
splice_is_lost_from_the_start(void **state)
{
	struct bed b;

	(void)state;
	set_up(&b);
	close_with_a_reset(&b.peer[0]);
	turn(&b);
	assert_true(b.client->broken);
	begin(&b);
	assert_int_equal(splice_state(b.splice), SPLICE_LOST);
	assert_true(b.n_news != 0);
	tear_down(&b);
}

static void
pipes_with_bytes_in_them_are_nobody_elses(void **state)
{
	struct pipes pipes;
	struct pipe one;

	(void)state;
	pipes_init(&pipes);
	assert_true(pipes_take(&pipes, &one));
	one.n = (size_t)write(one.in, "rest", 4);
	pipes_put(&pipes, &one);
	assert_int_equal(pipes.n, 0);
	assert_false(pipe_is_open(&one));
	pipes_put(&pipes, &one); /* none: nothing happens */
	assert_true(pipes_take(&pipes, &one));
	pipes_put(&pipes, &one);
	assert_int_equal(pipes.n_kept, 1);
	pipes_release(&pipes);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(splice_passes_bytes_and_an_end_each_way),
		cmocka_unit_test(splice_passes_first_what_was_read_already),
		cmocka_unit_test(splice_holds_a_side_whose_peer_does_not_read),
		cmocka_unit_test(splice_copies_where_no_pipe_is_left),
		cmocka_unit_test(splice_says_which_side_was_lost),
		cmocka_unit_test(splice_is_lost_where_nobody_reads_any_more),
		cmocka_unit_test(splice_is_lost_from_the_start),
		cmocka_unit_test(pipes_with_bytes_in_them_are_nobody_elses),
	};

	signal(SIGPIPE, SIG_IGN);
	return cmocka_run_group_tests_name("splice", tests, NULL, NULL);
}
