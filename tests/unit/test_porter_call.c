/* SPDX-License-Identifier: Apache-2.0 */
/* How long the porter waits for a caller: inside of one process, by our clock. */
#include <sys/socket.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <unistd.h>

#include <event2/event.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/limits.h"
#include "control/content.h"
#include "priv/control_answer.h"
#include "priv/ops.h"
#include "proxyd/porter_state.h"

#define HOST "Host: duenna\r\n"

struct fixture {
	struct porter porter;
	int monitor, caller; /* the other ends */
	uint64_t now;
};

static void
on_msg(struct channel *c, struct msg *m, void *arg)
{
	(void)c;
	(void)m;
	(void)arg;
}

static void
turn(struct fixture *f)
{
	for (int i = 0; i < 8; i++)
		event_base_loop(loop_base(f->porter.loop), EVLOOP_NONBLOCK);
}

static void
pass(struct fixture *f, uint64_t ms)
{
	f->now += ms;
	clock_set(f->now, f->now * 1000);
	timer_fire_due();
	turn(f);
}

static void
say(struct fixture *f, struct slice bytes)
{
	assert_int_equal(write(f->caller, bytes.p, bytes.n), bytes.n);
	turn(f);
}

static int
set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	enum err err = ERR_NONE;
	int pair[2], stream[2];

	content_setup(1);
	f->now = 1000;
	clock_set(f->now, f->now * 1000);
	f->porter.loop = loop_new(&err);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair), 0);
	f->porter.monitor =
	    channel_new(f->porter.loop, pair[0], on_msg, NULL, &err);
	f->monitor = pair[1];
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
			     stream),
	    0);
	f->caller = stream[0];
	conn_begin(&f->porter, stream[1], 1000, 1);
	turn(f);
	assert_int_equal(f->porter.n_conns, 1);
	*state = f;
	return 0;
}

static int
tear_down(void **state)
{
	struct fixture *f = *state;

	while (!LIST_EMPTY(&f->porter.conns))
		conn_close(LIST_FIRST(&f->porter.conns));
	turn(f);
	channel_free(f->porter.monitor);
	turn(f);
	loop_free(f->porter.loop);
	close(f->monitor);
	close(f->caller);
	clock_set(0, 0);
	free(f);
	return 0;
}

static void
a_silent_caller_is_let_go(void **state)
{
	struct fixture *f = *state;

	pass(f, LIMIT_CONTROL_IDLE_MS - 1);
	assert_int_equal(f->porter.n_conns, 1);
	pass(f, 1);
	assert_int_equal(f->porter.n_conns, 0);
}

/* Each byte is no reason to wait longer for the whole. */
static void
a_call_has_a_time_from_its_first_byte(void **state)
{
	struct fixture *f = *state;

	say(f, SLICE("P"));
	pass(f, LIMIT_CONTROL_MS - 10);
	say(f, SLICE("UT /v1/sandboxes/a HTTP/1.1\r\n" HOST));
	assert_int_equal(f->porter.n_conns, 1);
	pass(f, 5);
	say(f,
	    SLICE("Content-Type: application/json\r\n"
		  "Content-Length: 9\r\n\r\n{"));
	assert_int_equal(f->porter.n_conns, 1);
	pass(f, 5);
	assert_int_equal(f->porter.n_conns, 0);
}

static void
answer(struct fixture *f)
{
	static uint8_t packet[MSG_SIZE_MAX], detail[CONTROL_DETAIL_MAX];
	static uint8_t body[CONTROL_DETAIL_MAX + 16];
	struct wr w = wr_of(body, sizeof(body));
	struct control_answer a = { CONTROL_POLICY_WRONG,
		slice_of(detail, sizeof(detail)) };
	struct msg m;
	enum err err = ERR_NONE;

	assert_int_equal(msg_recv(f->monitor, packet, &m, &err), 0);
	assert_int_equal(m.op, OP_REQUEST);
	control_answer_write(&w, &a); /* zeros: six bytes each in JSON */
	m.op = OP_ANSWER;
	m.body = wr_slice(&w);
	assert_int_equal(msg_send(f->monitor, &m, &err), 0);
	turn(f);
}

static void
the_monitor_may_take_its_time(void **state)
{
	struct fixture *f = *state;
	char got[16] = "";

	say(f, SLICE("GET /v1/status HTTP/1.1\r\n" HOST "\r\n"));
	pass(f, 10 * LIMIT_CONTROL_IDLE_MS);
	assert_int_equal(f->porter.n_conns, 1);
	answer(f);
	assert_int_equal(read(f->caller, got, 12), 12);
	assert_memory_equal(got, "HTTP/1.1 422", 12);
}

static void
an_answer_that_is_not_read_has_a_time(void **state)
{
	struct fixture *f = *state;
	int small = 4096;

	assert_int_equal(setsockopt(LIST_FIRST(&f->porter.conns)->fd,
			     SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)),
	    0);
	say(f, SLICE("GET /v1/status HTTP/1.1\r\n" HOST "\r\n"));
	answer(f);
	pass(f, LIMIT_CONTROL_IDLE_MS - 1);
	assert_int_equal(f->porter.n_conns, 1);
	pass(f, 1);
	assert_int_equal(f->porter.n_conns, 0);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, set_up, tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_silent_caller_is_let_go),
		TEST(a_call_has_a_time_from_its_first_byte),
		TEST(the_monitor_may_take_its_time),
		TEST(an_answer_that_is_not_read_has_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
