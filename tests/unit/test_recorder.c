/* SPDX-License-Identifier: Apache-2.0 */
#include "recorder_bed.h"

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
