/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder_bed.h"

static void
ends_are_asked_for_one_at_a_time(void **state)
{
	struct bed *b = *state;

	connect_scribe(b, true);
	for (int i = 0; i < 50; i++) {
		assert_int_equal(send_kind(b, EVENT_FLOW_END, NULL), 0);
		run(b);
	}
	assert_int_equal(b->n_got, 50);
	assert_true(b->got[0].id != 0);
	for (int i = 1; i < 50; i++)
		assert_int_equal(b->got[i].id, 0);
	/* Its answer: the other 49 are asked for by an empty one. */
	confirm(b, b->got[0].id, true);
	run(b);
	assert_int_equal(b->n_got, 51);
	assert_true(b->got[50].empty);
	confirm(b, b->got[50].id, true);
	run(b);
	assert_int_equal(b->n_got, 51);
	lose_scribe(b);
	connect_scribe(b, true);
	assert_int_equal(b->n_got, 51);
}

static void
ends_of_a_turn_leave_in_one_message(void **state)
{
	struct bed *b = *state;

	connect_scribe(b, true);
	for (int i = 0; i < 50; i++)
		assert_int_equal(send_kind(b, EVENT_FLOW_END, NULL), 0);
	run(b);
	assert_int_equal(b->n_messages, 1);
	assert_int_equal(b->n_got, 50);
	assert_true(b->got[49].id != 0);
	/* What came before it is confirmed by the same answer. */
	confirm(b, b->got[49].id, true);
	run(b);
	assert_true(recorder_is_empty(b->r));
}

static void
send_end(struct bed *b, const char *verdict)
{
	struct event e;

	event_init(&e, EVENT_REQUEST_END);
	event_number(&e, FIELD_BYTES_UP, 0);
	event_str(&e, FIELD_VERDICT, verdict);
	assert_int_equal(recorder_send(b->r, &e, NULL, b), 0);
}

/* One turn of the loop, with what has come. */
static void
turn(struct bed *b)
{
	event_base_loop(loop_base(b->loop), EVLOOP_NONBLOCK);
}

static void
ends_of_what_was_allowed_wait_for_others(void **state)
{
	struct bed *b = *state;

	connect_scribe(b, true);
	for (int i = 0; i < 40; i++) {
		send_end(b, "allow");
		turn(b);
	}
	assert_true(b->n_messages < 40);
	/* ... but not longer than that takes them to leave by themselves. */
	while (b->n_got < 40)
		event_base_loop(loop_base(b->loop), EVLOOP_ONCE);
	/* A denial leaves with the turn, and takes them along. */
	unsigned before = (unsigned)b->n_messages;
	send_end(b, "allow");
	send_end(b, "deny");
	turn(b);
	turn(b);
	assert_int_equal(b->n_messages, before + 1);
	assert_int_equal(b->n_got, 42);
}

static void
who_waits_in_one_message_gets_one_answer(void **state)
{
	struct bed *b = *state;

	connect_scribe(b, true);
	assert_int_equal(send_kind(b, EVENT_FLOW_BEGIN, on_written), 0);
	assert_int_equal(send_kind(b, EVENT_REQUEST_BEGIN, on_written), 0);
	assert_int_equal(send_kind(b, EVENT_DNS, NULL), 0);
	run(b);
	assert_int_equal(b->n_messages, 1);
	assert_int_equal(b->got[0].kind, EVENT_FLOW_BEGIN);
	assert_int_equal(b->got[1].kind, EVENT_REQUEST_BEGIN);
	assert_int_equal(b->got[2].kind, EVENT_DNS);
	/* Another message meanwhile has an answer of its own. */
	assert_int_equal(send_kind(b, EVENT_FLOW_BEGIN, on_written), 0);
	run(b);
	assert_int_equal(b->yes + b->no, 0);
	confirm(b, b->got[2].id, false);
	run(b);
	assert_int_equal(b->no, 2);
	assert_int_equal(b->yes, 0);
	confirm(b, b->got[3].id, true);
	run(b);
	assert_int_equal(b->yes, 1);
	assert_true(recorder_is_empty(b->r));
}

static void
who_waits_in_a_message_that_cannot_leave_is_told(void **state)
{
	struct bed *b = *state;

	connect_scribe(b, true);
	assert_int_equal(send_kind(b, EVENT_FLOW_END, NULL), 0);
	assert_int_equal(send_kind(b, EVENT_FLOW_BEGIN, on_written), 0);
	/* The scribe ends before this turn does. */
	channel_free(b->scribe);
	b->scribe = NULL;
	assert_int_equal(b->yes + b->no, 0);
	run(b);
	assert_int_equal(b->no, 1);
	channel_free(b->ours);
	b->ours = NULL;
	run(b);
	b->answers = true;
	connect_scribe(b, true);
	/* What had happened is the next one's. */
	assert_int_equal(b->n_got, 1);
	assert_int_equal(b->got[0].kind, EVENT_FLOW_END);
}

static void
who_is_forgotten_takes_nobody_along(void **state)
{
	struct bed *b = *state;
	int other = 0;
	struct event e;

	event_init(&e, EVENT_FLOW_BEGIN);
	connect_scribe(b, true);
	assert_int_equal(send_kind(b, EVENT_FLOW_BEGIN, on_written), 0);
	assert_int_equal(recorder_send(b->r, &e, on_written, &other), 0);
	recorder_forget(b->r, &other);
	run(b);
	confirm(b, b->got[1].id, true);
	run(b);
	assert_int_equal(b->yes, 1);
	assert_int_equal(other, 0);
	assert_true(recorder_is_empty(b->r));
}

static void
on_busy(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct bed *b = arg;

	if (b->n_got >= b->until)
		loop_stop(b->loop);
}

/* A loop that always has something better to do keeps no record back. */
static void
ends_leave_in_time_while_the_loop_is_busy(void **state)
{
	struct bed *b = *state;
	struct event *busy;
	int pair[2];

	b->answers = true;
	connect_scribe(b, true);
	/* What is there to be read, and never is. */
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(write(pair[1], "x", 1), 1);
	busy = loop_event(b->loop, pair[0], EV_READ | EV_PERSIST, on_busy, b);
	event_add(busy, NULL);
	assert_int_equal(send_kind(b, EVENT_FLOW_END, NULL), 0);
	b->until = 1;
	loop_run(b->loop);
	/* Many need not wait that long. */
	b->n_messages = 0;
	for (int i = 0; i < 200; i++)
		assert_int_equal(send_kind(b, EVENT_FLOW_END, NULL), 0);
	b->until = 201;
	loop_run(b->loop);
	assert_int_equal(b->n_messages, 1);
	/* One that is waited for takes those before it along. */
	assert_int_equal(send_kind(b, EVENT_DNS, NULL), 0);
	assert_int_equal(send_kind(b, EVENT_FLOW_BEGIN, on_written), 0);
	b->until = 203;
	loop_run(b->loop);
	assert_int_equal(b->n_messages, 2);
	event_free(busy);
	close(pair[0]);
	close(pair[1]);
}

static void
ends_that_are_long_leave_one_by_one(void **state)
{
	struct bed *b = *state;
	static char text[EVENT_PATH_MAX + EVENT_QUERY_MAX];
	struct event e;

	memset(text, 'x', sizeof(text));
	connect_scribe(b, true);
	event_init(&e, EVENT_FLOW_END);
	event_number(&e, FIELD_BYTES_UP, 0);
	event_text(&e, FIELD_PATH, slice_of(text, EVENT_PATH_MAX));
	event_text(&e, FIELD_QUERY, slice_of(text, EVENT_QUERY_MAX));
	for (int i = 0; i < 10; i++)
		assert_int_equal(recorder_send(b->r, &e, NULL, NULL), 0);
	run(b);
	assert_int_equal(b->n_got, 10);
	assert_true(b->n_messages > 1);
}

/* A request of the longest kind, and the end of its connection behind it. */
static void
an_end_behind_a_long_one_is_not_lost(void **state)
{
	struct bed *b = *state;
	static char text[EVENT_PATH_MAX + EVENT_QUERY_MAX];
	struct event e;

	memset(text, 'x', sizeof(text));
	b->answers = true;
	connect_scribe(b, true);
	event_init(&e, EVENT_FLOW_END);
	event_number(&e, FIELD_BYTES_UP, 0);
	event_text(&e, FIELD_PATH, slice_of(text, EVENT_PATH_MAX));
	event_text(&e, FIELD_QUERY, slice_of(text, EVENT_QUERY_MAX));
	assert_int_equal(recorder_send(b->r, &e, NULL, NULL), 0);
	assert_int_equal(send_kind(b, EVENT_FLOW_BEGIN, on_written), 0);
	run(b);
	assert_int_equal(b->n_got, 2);
	assert_int_equal(b->n_messages, 2);
	assert_int_equal(b->got[0].kind, EVENT_FLOW_END);
	assert_int_equal(b->got[1].kind, EVENT_FLOW_BEGIN);
	assert_int_equal(b->yes, 1);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(ends_are_asked_for_one_at_a_time),
		T(ends_of_a_turn_leave_in_one_message),
		T(ends_of_what_was_allowed_wait_for_others),
		T(who_waits_in_one_message_gets_one_answer),
		T(who_waits_in_a_message_that_cannot_leave_is_told),
		T(who_is_forgotten_takes_nobody_along),
		T(ends_leave_in_time_while_the_loop_is_busy),
		T(ends_that_are_long_leave_one_by_one),
		T(an_end_behind_a_long_one_is_not_lost),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
