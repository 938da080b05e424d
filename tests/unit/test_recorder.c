/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/socket.h>
#include <unistd.h>

#include <event2/event.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/rd.h"
#include "priv/ops.h"
#include "priv/spawn.h"
#include "record/recorder.h"

/* A recorder, and the other end of its channel: the test is the scribe. */
struct bed {
	struct loop *loop;
	struct recorder *r;
	struct channel *ours, *scribe;
	struct {
		enum event_kind kind;
		uint32_t id;
		bool repeated, empty;
		uint64_t count;
	} got[4096];
	size_t n_got, n_messages;
	size_t until; /* n_got that a busy loop stops at */
	bool answers; /* confirm at once what wants it */
	int yes, no;  /* callbacks */
	int ready, unready;
};

static void
confirm(struct bed *b, uint32_t id, bool written)
{
	uint8_t body = written;
	struct msg m = { .op = OP_WRITTEN, .id = id };
	enum err err = ERR_NONE;

	m.body = slice_of(&body, 1);
	assert_int_equal(channel_send(b->scribe, &m, &err), 0);
}

static void
note(struct bed *b, struct slice body, uint32_t id)
{
	struct event e;

	assert_true(b->n_got < COUNT_OF(b->got));
	b->got[b->n_got].id = id;
	b->got[b->n_got].empty = body.n == 0;
	if (body.n != 0) {
		assert_true(event_decode(body, &e));
		b->got[b->n_got].kind = e.kind;
		b->got[b->n_got].repeated = event_has(&e, FIELD_REPEATED);
		b->got[b->n_got].count = event_number_of(&e, FIELD_COUNTED);
	}
	b->n_got++;
}

static void
on_scribe(struct channel *c UNUSED, struct msg *m, void *arg)
{
	struct bed *b = arg;
	struct rd r = rd_of(m == NULL ? (struct slice){ 0 } : m->body);

	if (m == NULL)
		return;
	b->n_messages++;
	if (m->op == OP_EVENT) {
		note(b, m->body, m->id);
	} else {
		assert_int_equal(m->op, OP_EVENTS);
		while (!rd_is_done(&r)) {
			struct slice one = rd_slice16(&r);
			assert_false(r.bad);
			assert_int_not_equal(one.n, 0);
			note(b, one, r.in.n == 0 ? m->id : 0);
		}
	}
	if (b->answers && m->id != 0)
		confirm(b, m->id, true);
}

static void
on_ours(struct channel *c UNUSED, struct msg *m, void *arg)
{
	struct bed *b = arg;

	recorder_take_msg(b->r, m);
}

static void
on_ready(bool ready, void *arg)
{
	struct bed *b = arg;

	b->ready += ready ? 1 : 0;
	b->unready += ready ? 0 : 1;
}

static void
on_written(bool written, void *arg)
{
	struct bed *b = arg;

	b->yes += written ? 1 : 0;
	b->no += written ? 0 : 1;
}

static void
run(struct bed *b)
{
	for (int i = 0; i < 100; i++)
		event_base_loop(loop_base(b->loop), EVLOOP_NONBLOCK);
}

static void
connect_scribe(struct bed *b, bool takes)
{
	uint8_t body = takes;
	struct msg m = { .op = OP_STATUS };
	enum err err = ERR_NONE;
	int pair[2];

	assert_int_equal(spawn_pair(pair, &err), 0);
	b->ours = channel_new(b->loop, pair[0], on_ours, b, &err);
	b->scribe = channel_new(b->loop, pair[1], on_scribe, b, &err);
	assert_non_null(b->ours);
	assert_non_null(b->scribe);
	recorder_set_channel(b->r, b->ours);
	m.body = slice_of(&body, 1);
	assert_int_equal(channel_send(b->scribe, &m, &err), 0);
	run(b);
}

/* The scribe dies. */
static void
lose_scribe(struct bed *b)
{
	channel_free(b->scribe);
	b->scribe = NULL;
	run(b);
	channel_free(b->ours);
	b->ours = NULL;
	run(b);
}

static int
set_up(void **state)
{
	struct bed *b = calloc(1, sizeof(*b));
	enum err err = ERR_NONE;

	b->loop = loop_new(&err);
	b->r = recorder_new(b->loop, on_ready, b, &err);
	assert_non_null(b->r);
	*state = b;
	return 0;
}

static int
tear_down(void **state)
{
	struct bed *b = *state;

	recorder_free(b->r);
	channel_free(b->ours);
	channel_free(b->scribe);
	loop_free(b->loop);
	free(b);
	clock_set(0, 0);
	return 0;
}

static int
send_kind(struct bed *b, enum event_kind kind, recorder_on_written *cb)
{
	struct event e;

	event_init(&e, kind);
	event_number(&e, FIELD_BYTES_UP, 0); /* no budget */
	return recorder_send(b->r, &e, cb, b);
}

static void
nothing_is_ready_before_the_scribe_says_so(void **state)
{
	struct bed *b = *state;

	assert_false(recorder_is_ready(b->r));
	assert_int_equal(send_kind(b, EVENT_FLOW_BEGIN, on_written), -1);
	connect_scribe(b, false);
	assert_true(recorder_has_scribe(b->r));
	assert_false(recorder_is_ready(b->r));
	assert_int_equal(send_kind(b, EVENT_FLOW_BEGIN, on_written), -1);
	lose_scribe(b);
	connect_scribe(b, true);
	assert_true(recorder_is_ready(b->r));
	assert_int_equal(b->ready, 1);
	lose_scribe(b);
	assert_false(recorder_is_ready(b->r));
	assert_int_equal(b->unready, 1);
	assert_int_equal(b->yes + b->no, 0);
}

static void
a_callback_comes_once_the_scribe_has_written(void **state)
{
	struct bed *b = *state;

	connect_scribe(b, true);
	assert_int_equal(send_kind(b, EVENT_FLOW_BEGIN, on_written), 0);
	run(b);
	assert_int_equal(send_kind(b, EVENT_FLOW_BEGIN, on_written), 0);
	assert_int_equal(b->yes + b->no, 0);
	run(b);
	assert_int_equal(b->n_got, 2);
	assert_int_equal(b->yes + b->no, 0);
	confirm(b, b->got[0].id, true);
	confirm(b, b->got[1].id, false);
	run(b);
	assert_int_equal(b->yes, 1);
	assert_int_equal(b->no, 1);
}

static void
who_waits_is_told_when_the_scribe_dies(void **state)
{
	struct bed *b = *state;

	connect_scribe(b, true);
	assert_int_equal(send_kind(b, EVENT_FLOW_BEGIN, on_written), 0);
	run(b);
	lose_scribe(b);
	assert_int_equal(b->no, 1);
	connect_scribe(b, true);
	/* It did not happen, so it is not sent again. */
	assert_int_equal(b->n_got, 1);
}

static void
who_is_forgotten_is_not_called(void **state)
{
	struct bed *b = *state;

	b->answers = true;
	connect_scribe(b, true);
	assert_int_equal(send_kind(b, EVENT_FLOW_BEGIN, on_written), 0);
	recorder_forget(b->r, b);
	run(b);
	assert_int_equal(b->yes + b->no, 0);
}

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

static void
ends_are_kept_for_the_next_scribe(void **state)
{
	struct bed *b = *state;

	connect_scribe(b, true);
	assert_int_equal(send_kind(b, EVENT_FLOW_END, NULL), 0);
	assert_int_equal(send_kind(b, EVENT_REQUEST_END, NULL), 0);
	run(b);
	lose_scribe(b);
	assert_int_equal(send_kind(b, EVENT_DNS, NULL), 0);
	b->n_got = 0;
	b->answers = true;
	connect_scribe(b, true);
	assert_int_equal(b->n_got, 4);
	assert_int_equal(b->got[0].kind, EVENT_FLOW_END);
	assert_true(b->got[0].repeated);
	assert_int_equal(b->got[1].kind, EVENT_REQUEST_END);
	assert_true(b->got[1].repeated);
	assert_int_equal(b->got[2].kind, EVENT_DNS);
	assert_false(b->got[2].repeated);
	assert_true(b->got[3].empty);
}

static void
a_channel_that_is_replaced_loses_nothing(void **state)
{
	struct bed *b = *state;
	struct channel *old_ours, *old_scribe;

	connect_scribe(b, true);
	assert_int_equal(send_kind(b, EVENT_FLOW_END, NULL), 0);
	assert_int_equal(send_kind(b, EVENT_FLOW_BEGIN, on_written), 0);
	run(b);
	old_ours = b->ours;
	old_scribe = b->scribe;
	b->answers = true;
	connect_scribe(b, true);
	assert_int_equal(b->no, 1);
	channel_free(old_ours);
	channel_free(old_scribe);
	run(b);
	assert_true(recorder_is_ready(b->r));
	bool again = false;
	for (size_t i = 0; i < b->n_got; i++)
		again = again || b->got[i].repeated;
	assert_true(again);
}

static void
what_cannot_be_kept_is_counted_as_a_gap(void **state)
{
	struct bed *b = *state;

	for (int i = 0; i < RECORDER_KEPT_MAX; i++)
		assert_int_equal(send_kind(b, EVENT_FLOW_END, NULL), 0);
	for (int i = 0; i < 7; i++)
		assert_int_equal(send_kind(b, EVENT_FLOW_END, NULL), -1);
	b->answers = true;
	connect_scribe(b, true);
	/* There was no room for the gap record either before these left. */
	run(b);
	size_t gaps = 0;
	for (size_t i = 0; i < b->n_got; i++)
		if (!b->got[i].empty && b->got[i].kind == EVENT_GAP) {
			gaps++;
			assert_int_equal(b->got[i].count, 7);
		}
	assert_int_equal(gaps, 1);
}

static void
a_scribe_that_is_behind_holds_back(void **state)
{
	struct bed *b = *state;

	connect_scribe(b, true);
	for (int i = 0; i < RECORDER_BEHIND_MAX; i++)
		assert_int_equal(send_kind(b, EVENT_FLOW_END, NULL), 0);
	assert_false(recorder_is_ready(b->r));
	run(b);
	b->answers = true;
	for (size_t i = 0; i < b->n_got; i++)
		if (b->got[i].id != 0)
			confirm(b, b->got[i].id, true);
	run(b);
	assert_true(recorder_is_ready(b->r));
	assert_int_equal(b->ready, 2);
}

/* A hundred more than the budget has; how many of them came as a count. */
static uint64_t
send_too_many(struct bed *b, const struct event *e)
{
	clock_set(1000, 1);
	b->answers = true;
	connect_scribe(b, true);
	for (int i = 0; i < LIMIT_DENIALS_BURST + 100; i++) {
		assert_int_equal(recorder_send(b->r, e, NULL, NULL), 0);
		if (i % 100 == 0)
			run(b);
	}
	run(b);
	size_t before = b->n_got;
	recorder_flush(b->r);
	run(b);
	uint64_t count = 0;
	for (size_t i = before; i < b->n_got; i++)
		count += b->got[i].count;
	return count;
}

static void
denials_above_the_budget_leave_as_one_with_their_count(void **state)
{
	struct event e;

	event_init(&e, EVENT_DNS);
	event_str(&e, FIELD_SANDBOX, "s");
	event_str(&e, FIELD_VERDICT, "deny");
	event_reason(&e, REASON_DNS_DENIED);
	assert_int_equal(send_too_many(*state, &e), 100);
}

static void
connections_that_ask_for_nothing_have_the_same_budget(void **state)
{
	struct event e;

	event_init(&e, EVENT_FLOW_END);
	event_str(&e, FIELD_SANDBOX, "s");
	event_str(&e, FIELD_VERDICT, "allow");
	event_reason(&e, REASON_ALLOW);
	assert_int_equal(send_too_many(*state, &e), 100);
}

static void
what_was_announced_is_ended_one_by_one(void **state)
{
	struct event e;

	event_init(&e, EVENT_FLOW_END);
	event_str(&e, FIELD_SANDBOX, "s");
	event_str(&e, FIELD_VERDICT, "allow");
	event_reason(&e, REASON_ALLOW);
	event_number(&e, FIELD_BYTES_UP, 0);
	assert_int_equal(send_too_many(*state, &e), 0);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(nothing_is_ready_before_the_scribe_says_so),
		T(a_callback_comes_once_the_scribe_has_written),
		T(who_waits_is_told_when_the_scribe_dies),
		T(who_is_forgotten_is_not_called),
		T(ends_are_asked_for_one_at_a_time),
		T(ends_of_a_turn_leave_in_one_message),
		T(who_waits_in_one_message_gets_one_answer),
		T(who_waits_in_a_message_that_cannot_leave_is_told),
		T(who_is_forgotten_takes_nobody_along),
		T(ends_leave_in_time_while_the_loop_is_busy),
		T(ends_that_are_long_leave_one_by_one),
		T(an_end_behind_a_long_one_is_not_lost),
		T(ends_are_kept_for_the_next_scribe),
		T(a_channel_that_is_replaced_loses_nothing),
		T(what_cannot_be_kept_is_counted_as_a_gap),
		T(a_scribe_that_is_behind_holds_back),
		T(denials_above_the_budget_leave_as_one_with_their_count),
		T(connections_that_ask_for_nothing_have_the_same_budget),
		T(what_was_announced_is_ended_one_by_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
