/* SPDX-License-Identifier: Apache-2.0 */
#include "scribe_bed.h"

static void
a_worker_that_is_gone_has_its_flows_ended(void **state)
{
	struct bed *b = *state;

	begin(b, 0);
	send_flow(b, EVENT_FLOW_BEGIN, "w0-1", 5);
	send_flow(b, EVENT_FLOW_BEGIN, "w0-2", 6);
	send_flow(b, EVENT_FLOW_END, "w0-1", 7);
	assert_true(is_written(b, b->worker, 5));
	assert_true(is_written(b, b->worker, 6));
	assert_true(is_written(b, b->worker, 7));
	hang_up(&b->worker);
	stop(b);
	assert_true(is_written(b, b->monitor, 99));
	assert_int_equal(count_lines(b, "\"reason\":\"internal\""), 1);
	assert_int_equal(finish(b), 0);
}

/* kill -9, and a new scribe with the same file. */
static void
a_scribe_that_is_killed_is_followed_by_one_that_goes_on(void **state)
{
	struct bed *b = *state;
	int how;

	begin(b, 0);
	send_flow(b, EVENT_FLOW_BEGIN, "w0-1", 5);
	assert_true(is_written(b, b->worker, 5));
	kill(b->pid, SIGKILL);
	how = finish(b);
	assert_true(WIFSIGNALED(how));
	begin(b, 1);
	send_flow(b, EVENT_FLOW_END, "w0-1", 6);
	assert_true(is_written(b, b->worker, 6));
	stop(b);
	assert_true(is_written(b, b->monitor, 99));
	assert_int_equal(count_lines(b, "\"event\":\"start\""), 2);
	assert_int_equal(count_lines(b, "\"reason\":\"internal\""), 0);
	assert_int_equal(finish(b), 0);
}

static void
a_monitor_that_is_gone_is_a_log_without_stop(void **state)
{
	struct bed *b = *state;

	begin(b, 0);
	send_flow(b, EVENT_FLOW_BEGIN, "w0-1", 5);
	assert_true(is_written(b, b->worker, 5));
	assert_int_equal(finish(b), 0);
	assert_int_equal(count_lines(b, "\"event\":\"stop\""), 0);
	assert_int_equal(count_lines(b, "\"event\":\"flow.end\""), 1);
	assert_int_equal(count_lines(b, "\"event\":\"checkpoint\""), 1);
}

static void
a_stop_without_a_question_is_written_when_the_monitor_is_gone(void **state)
{
	struct bed *b = *state;
	struct event e;

	begin(b, 0);
	send_flow(b, EVENT_FLOW_BEGIN, "w0-1", 5);
	assert_true(is_written(b, b->worker, 5));
	event_init(&e, EVENT_STOP);
	send_event(b, b->monitor, &e, 0);
	assert_int_equal(finish(b), 0);
	assert_int_equal(count_lines(b, "\"event\":\"stop\""), 1);
	assert_int_equal(count_lines(b, "\"event\":\"checkpoint\""), 1);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(a_worker_that_is_gone_has_its_flows_ended),
		T(a_scribe_that_is_killed_is_followed_by_one_that_goes_on),
		T(a_monitor_that_is_gone_is_a_log_without_stop),
		T(a_stop_without_a_question_is_written_when_the_monitor_is_gone),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
