/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "net/channel.h"
#include "priv/dispatch.h"
#include "priv/spawn.h"

struct seen {
	int messages, answers, losts, last_op;
	bool closed;
	int fd;
};

static void
on_msg(struct channel *c, struct msg *m, void *arg)
{
	struct seen *s = arg;
	enum err err = ERR_NONE;

	if (m == NULL) {
		s->closed = true;
		return;
	}
	s->messages++;
	s->last_op = m->op;
	if (m->n_fds != 0)
		s->fd = msg_take_fd(m, 0);
	if (m->id != 0) {
		struct msg answer = { .op = (uint16_t)(m->op + 1),
			.id = m->id };
		assert_int_equal(channel_send(c, &answer, &err), 0);
	}
}

static void
on_answer(struct msg *m, void *arg)
{
	struct seen *s = arg;

	if (m == NULL)
		s->losts++;
	else
		s->answers++;
}

struct bed {
	struct loop *loop;
	struct channel *a, *b;
	struct seen of_a, of_b;
};

static void
bed_make(struct bed *t)
{
	enum err err = ERR_NONE;
	int pair[2];

	*t = (struct bed){ .of_a.fd = -1, .of_b.fd = -1 };
	t->loop = loop_new(&err);
	assert_non_null(t->loop);
	assert_int_equal(spawn_pair(pair, &err), 0);
	t->a = channel_new(t->loop, pair[0], on_msg, &t->of_a, &err);
	t->b = channel_new(t->loop, pair[1], on_msg, &t->of_b, &err);
	assert_non_null(t->a);
	assert_non_null(t->b);
}

static void
bed_turn(struct bed *t)
{
	for (int i = 0; i < 200; i++)
		event_base_loop(loop_base(t->loop), EVLOOP_NONBLOCK);
}

static void
bed_end(struct bed *t)
{
	channel_free(t->a);
	channel_free(t->b);
	loop_free(t->loop);
}

static void
channel_matches_answers_and_passes_descriptors(void **state)
{
	struct bed t;
	enum err err = ERR_NONE;
	struct msg m = { .op = OP_DIAL, .body = SLICE("x"), .n_fds = 1 };

	(void)state;
	bed_make(&t);
	m.fds[0] = STDOUT_FILENO;
	assert_true(channel_ask(t.a, &m, on_answer, &t.of_a, &err) != 0);
	bed_turn(&t);
	assert_int_equal(t.of_b.messages, 1);
	assert_int_equal(t.of_b.last_op, OP_DIAL);
	assert_int_equal(t.of_a.answers, 1);
	assert_true(t.of_b.fd > 2);
	assert_true((fcntl(t.of_b.fd, F_GETFD) & FD_CLOEXEC) != 0);
	close(t.of_b.fd);
	bed_end(&t);
}

/* Who runs out of descriptors loses those, not the other end for good. */
static void
channel_stays_when_there_is_no_room_for_a_descriptor(void **state)
{
	struct bed t;
	enum err err = ERR_NONE;
	struct msg m = { .op = OP_DIAL, .body = SLICE("x"), .n_fds = 2 };
	struct rlimit all, few;

	(void)state;
	bed_make(&t);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &all), 0);
	few = all;
	/* Room for one of the two. */
	few.rlim_cur = (rlim_t)dup(0) + 1;
	close((int)few.rlim_cur - 1);
	m.fds[0] = m.fds[1] = STDOUT_FILENO;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
	assert_int_equal(channel_send(t.a, &m, &err), 0);
	bed_turn(&t);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &all), 0);
	assert_int_equal(t.of_b.messages, 1);
	assert_int_equal(t.of_b.fd, -1);
	assert_false(t.of_b.closed);
	assert_int_equal(channel_send(t.a, &m, &err), 0);
	bed_turn(&t);
	assert_int_equal(t.of_b.messages, 2);
	assert_true(t.of_b.fd > 2);
	close(t.of_b.fd);
	bed_end(&t);
}

static void
channel_tells_every_waiting_request_that_the_other_end_is_gone(void **state)
{
	struct bed t;
	enum err err = ERR_NONE;
	struct msg m = { .op = OP_LEAF };

	(void)state;
	bed_make(&t);
	for (int i = 0; i < 3; i++)
		assert_true(
		    channel_ask(t.a, &m, on_answer, &t.of_a, &err) != 0);
	channel_free(t.b);
	t.b = NULL;
	bed_turn(&t);
	assert_int_equal(t.of_a.losts, 3);
	assert_true(t.of_a.closed);
	assert_false(channel_is_open(t.a));
	assert_int_equal(channel_send(t.a, &m, &err), -1);
	assert_int_equal(err, ERR_CLOSED);
	bed_end(&t);
}

static void
channel_drops_the_answer_to_a_cancelled_request(void **state)
{
	struct bed t;
	enum err err = ERR_NONE;
	struct msg m = { .op = OP_LEAF };

	(void)state;
	bed_make(&t);
	uint32_t id = channel_ask(t.a, &m, on_answer, &t.of_a, &err);
	assert_true(id != 0);
	channel_cancel(t.a, id);
	channel_cancel(t.a, id);
	bed_turn(&t);
	assert_int_equal(t.of_b.messages, 1);
	assert_int_equal(t.of_a.answers + t.of_a.losts, 0);
	bed_end(&t);
}

static void
channel_queues_what_the_socket_does_not_take_in_order(void **state)
{
	static uint8_t body[60000];
	struct bed t;
	enum err err = ERR_NONE;
	struct msg m = { .op = OP_EVENT, .body = slice_of(body, sizeof(body)) };
	int sent = 0;

	(void)state;
	bed_make(&t);
	while (sent < 200 && channel_send(t.a, &m, &err) == 0)
		sent++;
	assert_int_equal(sent, 200);
	bed_turn(&t);
	assert_int_equal(t.of_b.messages, 200);
	bed_end(&t);
}

static void
channel_queue_has_a_ceiling(void **state)
{
	struct bed t;
	enum err err = ERR_NONE;
	struct msg m = { .op = OP_EVENT };
	int sent = 0;

	(void)state;
	bed_make(&t);
	while (sent < 1000000 && channel_send(t.a, &m, &err) == 0)
		sent++;
	assert_true(sent >= CHANNEL_QUEUE_MAX);
	assert_true(sent < 1000000);
	assert_int_equal(err, ERR_FULL);
	bed_end(&t);
}

static void
msg_refuses_a_short_packet(void **state)
{
	static uint8_t packet[MSG_SIZE_MAX];
	enum err err = ERR_NONE;
	struct msg m;
	int pair[2];

	(void)state;
	assert_int_equal(spawn_pair(pair, &err), 0);
	assert_int_equal(send(pair[0], "abc", 3, 0), 3);
	assert_int_equal(msg_recv(pair[1], packet, &m, &err), -1);
	assert_int_equal(err, ERR_MESSAGE);
	assert_int_equal(msg_recv(pair[1], packet, &m, &err), -1);
	assert_int_equal(err, ERR_AGAIN);
	close(pair[0]);
	assert_int_equal(msg_recv(pair[1], packet, &m, &err), -1);
	assert_int_equal(err, ERR_CLOSED);
	close(pair[1]);
}

static void
dispatch_lets_only_the_listed_roles_speak(void **state)
{
	(void)state;
	assert_true(dispatch_may(ROLE_WORKER, ROLE_DIALER, OP_DIAL));
	assert_true(dispatch_may(ROLE_DIALER, ROLE_KEEPER, OP_TELL));
	/* The worker cannot register a dial that it did not get. */
	assert_false(dispatch_may(ROLE_WORKER, ROLE_KEEPER, OP_TELL));
	assert_false(dispatch_may(ROLE_WORKER, ROLE_KEEPER, OP_SECRET));
	assert_false(dispatch_may(ROLE_WORKER, ROLE_DIALER, OP_PROGRAM));
	assert_false(dispatch_may(ROLE_WORKER, ROLE_DIALER, OP_OWNER));
	assert_false(dispatch_may(ROLE_WORKER, ROLE_SCRIBE, OP_LOG));
	assert_false(dispatch_may(ROLE_CLERK, ROLE_KEEPER, OP_SECRET));
	assert_false(dispatch_may(ROLE_COUNT, ROLE_KEEPER, OP_LEAF));
	assert_false(dispatch_may(ROLE_WORKER, ROLE_KEEPER, 65535));
	assert_string_equal(dispatch_op_name(OP_DIAL), "DIAL");
	assert_string_equal(dispatch_op_name(9999), "?");
}

/* The kernel says ECONNRESET first if the other end left something unread. */
static void
channel_hears_the_last_words_of_an_end_that_did_not_listen(void **state)
{
	struct bed t;
	enum err err = ERR_NONE;
	struct msg m = { .op = OP_PING };

	(void)state;
	bed_make(&t);
	assert_int_equal(channel_send(t.a, &m, &err), 0);
	assert_int_equal(channel_send(t.b, &m, &err), 0);
	assert_int_equal(channel_send(t.b, &m, &err), 0);
	channel_free(t.b);
	t.b = NULL;
	bed_turn(&t);
	assert_int_equal(t.of_a.messages, 2);
	assert_true(t.of_a.closed);
	bed_end(&t);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    channel_matches_answers_and_passes_descriptors),
		cmocka_unit_test(
		    channel_stays_when_there_is_no_room_for_a_descriptor),
		cmocka_unit_test(
		    channel_tells_every_waiting_request_that_the_other_end_is_gone),
		cmocka_unit_test(
		    channel_drops_the_answer_to_a_cancelled_request),
		cmocka_unit_test(
		    channel_queues_what_the_socket_does_not_take_in_order),
		cmocka_unit_test(channel_queue_has_a_ceiling),
		cmocka_unit_test(
		    channel_hears_the_last_words_of_an_end_that_did_not_listen),
		cmocka_unit_test(msg_refuses_a_short_packet),
		cmocka_unit_test(dispatch_lets_only_the_listed_roles_speak),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
