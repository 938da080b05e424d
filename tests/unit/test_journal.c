/* SPDX-License-Identifier: Apache-2.0 */
#include "journal_bed.h"

static void
journal_writes_what_was_put_at_a_flush(void **state UNUSED)
{
	int owner = 0;

	new_file();
	struct journal *j = open_log(false);
	assert_false(journal_is_started(j));
	assert_false(put_flow(j, EVENT_FLOW_BEGIN, "a", &owner));
	assert_true(journal_start(j, machine, signature));
	assert_true(journal_takes(j));
	assert_true(put_flow(j, EVENT_FLOW_BEGIN, "a", &owner));
	assert_true(put_flow(j, EVENT_FLOW_END, "a", &owner));
	assert_true(journal_waits(j) > 0);
	assert_int_equal(read_back(), 1);
	assert_true(journal_flush(j));
	assert_int_equal(read_back(), 3);
	journal_free(j);
	journal_free(NULL);
	unlink(path);
}

static void
journal_checkpoints_once_what_is_new(void **state UNUSED)
{
	new_file();
	struct journal *j = open_and_start(false);
	assert_true(journal_checkpoint(j));
	assert_true(journal_checkpoint(j));
	assert_int_equal(count_lines("\"event\":\"checkpoint\""), 1);
	assert_true(put_stop(j));
	assert_true(journal_checkpoint(j));
	assert_int_equal(count_lines("\"event\":\"checkpoint\""), 2);
	journal_free(j);
	unlink(path);
}

static void
journal_ends_the_flows_of_a_worker_that_is_gone(void **state UNUSED)
{
	int one = 0, two = 0;

	new_file();
	struct journal *j = open_and_start(false);
	assert_true(put_flow(j, EVENT_FLOW_BEGIN, "a", &one));
	assert_true(put_flow(j, EVENT_FLOW_BEGIN, "b", &two));
	assert_true(put_flow(j, EVENT_FLOW_BEGIN, "c", &one));
	assert_true(put_flow(j, EVENT_FLOW_END, "c", &one));
	assert_true(journal_has_flows(j));
	journal_end_flows(j, &one, "gone");
	assert_true(journal_flush(j));
	assert_int_equal(count_lines("\"reason\":\"internal\""), 1);
	journal_end_flows(j, NULL, "the end");
	assert_false(journal_has_flows(j));
	assert_true(journal_flush(j));
	assert_int_equal(count_lines("\"reason\":\"internal\""), 2);
	assert_int_equal(read_back(), 7);
	journal_free(j);
	unlink(path);
}

static void
journal_counts_denials_and_alarms_of_its_run(void **state UNUSED)
{
	struct event e;

	new_file();
	struct journal *j = open_and_start(false);
	event_init(&e, EVENT_DNS);
	event_str(&e, FIELD_SANDBOX, "s");
	event_str(&e, FIELD_VERDICT, "deny");
	event_reason(&e, REASON_DNS_DENIED);
	assert_true(journal_put(j, &e, NULL));
	event_number(&e, FIELD_COUNTED, 40);
	assert_true(journal_put(j, &e, NULL));
	/* A connection on which something was refused says so at its end. */
	assert_true(put_flow(j, EVENT_FLOW_BEGIN, "w0-1", NULL));
	event_init(&e, EVENT_REQUEST_END);
	event_str(&e, FIELD_SANDBOX, "s");
	event_str(&e, FIELD_FLOW, "w0-1");
	event_str(&e, FIELD_VERDICT, "deny");
	event_reason(&e, REASON_TLS_SNI_DENIED);
	assert_true(journal_put(j, &e, NULL));
	e.kind = EVENT_FLOW_END;
	assert_true(journal_put(j, &e, NULL));
	event_str(&e, FIELD_FLOW, "w0-2");
	assert_true(journal_put(j, &e, NULL));
	/* What the sandbox gave up itself was not blocked. */
	event_reason(&e, REASON_CLIENT_ABORT);
	assert_true(journal_put(j, &e, NULL));
	event_init(&e, EVENT_ALARM);
	event_str(&e, FIELD_DETAIL, "look");
	assert_true(journal_put(j, &e, NULL));
	assert_true(put_stop(j));
	assert_int_equal(journal_sum(j).n_denied, 43);
	assert_int_equal(journal_sum(j).n_alarms, 1);
	journal_free(j);
	j = open_log(true);
	assert_int_equal(journal_sum(j).n_denied, 43);
	journal_free(j);
	j = open_log(false);
	assert_int_equal(journal_sum(j).n_denied, 0);
	journal_free(j);
	unlink(path);
}

/* DO-15: the order of a log is its numbers and its chain, not its times. */
static void
journal_goes_on_when_the_wall_clock_is_set(void **state UNUSED)
{
	static const uint64_t walls[] = { 1700000000000000, 1700086400000000,
		1699913600000000, 1, 1700000000000000 };
	int owner = 0;

	new_file();
	struct journal *j = open_and_start(false);
	for (size_t i = 0; i < COUNT_OF(walls); i++) {
		clock_set(0, walls[i]);
		assert_true(put_flow(j, EVENT_FLOW_BEGIN, "a", &owner));
		assert_true(put_flow(j, EVENT_FLOW_END, "a", &owner));
		assert_true(journal_flush(j));
		assert_true(journal_checkpoint(j));
	}
	clock_set(0, 0);
	journal_free(j);
	assert_int_equal(read_back(), 1 + 3 * COUNT_OF(walls));
	assert_int_equal(count_lines(
			     "\"time\":\"1970-01-01T00:00:00.000001Z\""),
	    3);
	j = open_and_start(true);
	assert_true(put_stop(j));
	journal_free(j);
	unlink(path);
}

/* DO-18: of a flow that is over, or never began, nothing is kept. */
static void
journal_keeps_nothing_of_denied_requests(void **state UNUSED)
{
	size_t before = 0;
	int owner = 0;
	struct event e;
	char flow[16];

	new_file();
	struct journal *j = open_and_start(false);
	for (unsigned i = 0; i < 3000; i++) {
		bool begins = i % 3 != 0;
		if (i == 1000)
			before = mallinfo2().uordblks;
		snprintf(flow, sizeof(flow), "f%04u", i);
		if (begins)
			assert_true(
			    put_flow(j, EVENT_FLOW_BEGIN, flow, &owner));
		event_init(&e, EVENT_REQUEST_END);
		event_str(&e, FIELD_SANDBOX, "s");
		event_str(&e, FIELD_FLOW, flow);
		event_str(&e, FIELD_VERDICT, "deny");
		event_str(&e, FIELD_REASON, "http.path_denied");
		assert_true(journal_put(j, &e, &owner));
		if (i % 3 == 1)
			assert_true(put_flow(j, EVENT_FLOW_END, flow, &owner));
		else if (begins)
			journal_end_flows(j, &owner, "worker is gone");
		assert_true(journal_flush(j));
	}
	assert_int_equal(mallinfo2().uordblks, before);
	assert_int_equal(journal_sum(j).n_denied, 3000);
	journal_free(j);
	unlink(path);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(journal_writes_what_was_put_at_a_flush),
		cmocka_unit_test(journal_checkpoints_once_what_is_new),
		cmocka_unit_test(
		    journal_ends_the_flows_of_a_worker_that_is_gone),
		cmocka_unit_test(journal_counts_denials_and_alarms_of_its_run),
		cmocka_unit_test(journal_goes_on_when_the_wall_clock_is_set),
		cmocka_unit_test(journal_keeps_nothing_of_denied_requests),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
