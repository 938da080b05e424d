/* SPDX-License-Identifier: Apache-2.0 */
#include "scribe_bed.h"

/* Two flows in one message, and `tail` behind them. */
static void
send_two(struct bed *b, struct slice tail, uint32_t id)
{
	uint8_t one[EVENT_SIZE_MAX], both[2048];
	struct wr w = wr_of(both, sizeof(both));
	struct event e;

	event_init(&e, EVENT_FLOW_BEGIN);
	event_str(&e, FIELD_SANDBOX, "s");
	event_str(&e, FIELD_FLOW, "w0-1");
	wr_slice16(&w, slice_of(one, event_encode(&e, one, sizeof(one))));
	event_str(&e, FIELD_FLOW, "w0-2");
	wr_slice16(&w, slice_of(one, event_encode(&e, one, sizeof(one))));
	wr_bytes(&w, tail);
	send_to(b, b->worker, OP_EVENTS, id, wr_slice(&w), -1);
}

static void
records_of_one_message_have_one_answer(void **state)
{
	struct bed *b = *state;

	begin(b, 0);
	assert_false(status(b, b->worker));
	assert_true(status(b, b->worker));
	send_two(b, (struct slice){ 0 }, 5);
	assert_true(is_written(b, b->worker, 5));
	assert_int_equal(count_lines(b, "\"event\":\"flow.begin\""), 2);
	/* What is cut, empty or no record: then the answer is no. */
	send_two(b, SLICE("\0\x09x"), 6);
	assert_false(is_written(b, b->worker, 6));
	send_two(b, SLICE("\0\0"), 7);
	assert_false(is_written(b, b->worker, 7));
	send_two(b, SLICE("\0\1x"), 8);
	assert_false(is_written(b, b->worker, 8));
	send_to(b, b->worker, OP_EVENTS, 10, (struct slice){ 0 }, -1);
	assert_false(is_written(b, b->worker, 10));
	/* What stood before it was taken. */
	send_two(b, (struct slice){ 0 }, 9);
	assert_true(is_written(b, b->worker, 9));
	assert_int_equal(count_lines(b, "\"event\":\"flow.begin\""), 10);
	stop(b);
	assert_true(receive(b, b->monitor, OP_TALLY));
	assert_true(is_written(b, b->monitor, 99));
	assert_int_equal(finish(b), 0);
}

static void
records_are_written_and_answered(void **state)
{
	struct bed *b = *state;

	begin(b, 0);
	assert_false(status(b, b->worker));
	assert_true(status(b, b->worker));
	send_flow(b, EVENT_FLOW_BEGIN, "w0-1", 5);
	assert_true(is_written(b, b->worker, 5));
	assert_int_equal(count_lines(b, "\"event\":\"start\""), 1);
	assert_int_equal(count_lines(b, "\"event\":\"flow.begin\""), 1);
	send_to(b, b->monitor, OP_PING, 0, (struct slice){ 0 }, -1);
	assert_true(receive(b, b->monitor, OP_PONG));
	assert_true(receive(b, b->monitor, OP_TALLY));
	send_flow(b, EVENT_FLOW_END, "w0-1", 0);
	send_to(b, b->worker, OP_EVENT, 6, (struct slice){ 0 }, -1);
	assert_true(is_written(b, b->worker, 6));
	assert_int_equal(count_lines(b, "\"event\":\"flow.end\""), 1);
	stop(b);
	assert_true(receive(b, b->monitor, OP_TALLY));
	struct rd r = rd_of(b->m.body);
	assert_int_equal(rd_u64(&r), 0);
	assert_int_equal(rd_u64(&r), 0);
	assert_int_equal(rd_u64(&r), 0);
	assert_int_equal(rd_u64(&r), 0);
	assert_int_equal(rd_slice8(&r).n, 64);
	assert_int_equal(r.in.n, 8 * REASON_COUNT);
	assert_true(is_written(b, b->monitor, 99));
	assert_int_equal(count_lines(b, "\"event\":\"stop\""), 1);
	assert_true(count_lines(b, "\"event\":\"checkpoint\"") >= 1);
	/* The log is closed. */
	send_flow(b, EVENT_FLOW_BEGIN, "w0-2", 7);
	assert_false(is_written(b, b->worker, 7));
	assert_int_equal(finish(b), 0);
}

static void
records_that_come_before_the_start_are_kept(void **state)
{
	struct bed *b = *state;
	struct event e;

	start(b);
	event_init(&e, EVENT_ATTACH);
	event_str(&e, FIELD_SANDBOX, "s");
	send_event(b, b->monitor, &e, 3);
	send_log(b, 0);
	b->keeper = link_role(b, ROLE_KEEPER);
	certify(b);
	assert_true(is_written(b, b->monitor, 3));
	assert_int_equal(count_lines(b, "\"seq\":2,"), 1);
	assert_int_equal(count_lines(b, "\"event\":\"attach\""), 1);
	assert_int_equal(finish(b), 0);
}

static void
a_role_may_send_its_own_kinds_only(void **state)
{
	struct bed *b = *state;
	struct event e;

	begin(b, 0);
	event_init(&e, EVENT_DIAL);
	event_str(&e, FIELD_SANDBOX, "s");
	event_str(&e, FIELD_FLOW, "w0-1");
	event_str(&e, FIELD_VERDICT, "allow");
	event_reason(&e, REASON_ALLOW);
	event_str(&e, FIELD_HOST, "h");
	event_number(&e, FIELD_PORT, 1);
	send_event(b, b->worker, &e, 4);
	assert_false(is_written(b, b->worker, 4));
	b->dialer = link_role(b, ROLE_DIALER);
	send_event(b, b->dialer, &e, 4);
	assert_true(is_written(b, b->dialer, 4));
	/* No record at all, one that lacks a field, and one of the scribe's. */
	send_to(b, b->worker, OP_EVENT, 5, SLICE("\xff\xff"), -1);
	assert_false(is_written(b, b->worker, 5));
	event_init(&e, EVENT_FLOW_BEGIN);
	send_event(b, b->worker, &e, 6);
	assert_false(is_written(b, b->worker, 6));
	event_init(&e, EVENT_CHECKPOINT);
	send_event(b, b->keeper, &e, 7);
	assert_false(is_written(b, b->keeper, 7));
	/* A worker cannot hand over a log, a channel or a stop either. */
	send_to(b, b->worker, OP_LOG, 0, SLICE("\0"), b->worker);
	event_init(&e, EVENT_STOP);
	send_event(b, b->worker, &e, 8);
	assert_false(is_written(b, b->worker, 8));
	stop(b);
	assert_true(is_written(b, b->monitor, 99));
	assert_int_equal(count_lines(b, "\"event\":\"dial\""), 1);
	assert_int_equal(finish(b), 0);
}

static void
who_sends_what_it_may_not_raises_an_alarm(void **state)
{
	struct bed *b = *state;

	begin(b, 0);
	for (int i = 0; i < 3; i++)
		send_to(b, b->worker, OP_EVENT, 0, SLICE("\xff\xff"), -1);
	for (int i = 0; i < 60 && count_lines(b, "\"alarm\"") == 0; i++)
		poll(NULL, 0, 50);
	assert_int_equal(count_lines(b,
			     "\"duenna.count\":3,"
			     "\"duenna.role\":\"worker\""),
	    1);
	assert_int_equal(finish(b), 0);
}

static void
a_file_that_is_no_log_is_not_written(void **state)
{
	struct bed *b = *state;
	struct event e;
	FILE *f = fopen(b->path, "w");

	fputs("my notes\n", f);
	fclose(f);
	start(b);
	send_log(b, 0);
	event_init(&e, EVENT_ATTACH);
	event_str(&e, FIELD_SANDBOX, "s");
	send_event(b, b->monitor, &e, 3);
	assert_false(is_written(b, b->monitor, 3));
	assert_int_equal(finish(b), 0);
	assert_int_equal(count_lines(b, ""), 1);
}

/* Flows until one of them finds no room any more: which was that? */
static uint32_t
fill(struct bed *b, bool answer)
{
	uint32_t id = 10;

	assert_false(status(b, b->worker));
	assert_true(status(b, b->worker));
	for (; id < 100; id++) {
		char flow[16];
		snprintf(flow, sizeof(flow), "w0-%u", id);
		send_flow(b, EVENT_FLOW_BEGIN, flow, id);
		bool written = is_written(b, b->worker, id);
		if (count_lines(b, "flow.begin") != id - 9) {
			assert_int_equal(written, answer);
			return id;
		}
		assert_true(written);
	}
	return id;
}

/* DO-12: what cannot be recorded is not allowed. */
static void
a_full_disk_is_answered_no(void **state)
{
	struct bed *b = *state;

	b->file_limit = 3000;
	begin(b, 0);
	uint32_t id = fill(b, false);
	assert_in_range(id, 11, 99);
	assert_false(status(b, b->worker));
	send_flow(b, EVENT_FLOW_BEGIN, "w0-1", id + 1);
	assert_false(is_written(b, b->worker, id + 1));
	assert_int_equal(finish(b), 0);
}

/* DO-12, `audit: {required: false}`: what cannot be written is only counted. */
static void
the_owner_may_want_a_gap_instead(void **state)
{
	struct bed *b = *state;

	b->file_limit = 3000;
	begin(b, OPS_LOG_GAPS);
	uint32_t id = fill(b, true);
	assert_in_range(id, 11, 99);
	send_two(b, (struct slice){ 0 }, id + 1);
	assert_true(is_written(b, b->worker, id + 1));
	/* What is no record is refused as ever. */
	send_to(b, b->worker, OP_EVENTS, 7, (struct slice){ 0 }, -1);
	assert_false(is_written(b, b->worker, 7));
	/* A file that is not ours any more is no full disk. */
	assert_int_equal(truncate(b->path, 10), 0);
	assert_false(status(b, b->worker));
	send_flow(b, EVENT_FLOW_BEGIN, "w0-3", 8);
	assert_false(is_written(b, b->worker, 8));
	assert_int_equal(finish(b), 0);
}

static void
send_name(struct bed *b, uint32_t sandbox, uint32_t worker, const char *name)
{
	uint8_t body[64];
	struct wr w = wr_of(body, sizeof(body));

	wr_u32(&w, sandbox);
	wr_u32(&w, worker);
	wr_slice8(&w, slice_of_str(name));
	send_to(b, b->monitor, OP_NAME, 0, wr_slice(&w), -1);
}

/* Two workers; "s" is the first one's sandbox. */
static void
a_worker_writes_of_its_own_sandboxes_alone(void **state)
{
	struct bed *b = *state;
	int first, second;

	start(b);
	assert_true(receive(b, b->monitor, OP_READY));
	send_name(b, 7, 1, "s");
	send_log(b, 0);
	b->keeper = link_role(b, ROLE_KEEPER);
	first = link_role(b, ROLE_WORKER);
	second = link_role(b, ROLE_WORKER);
	certify(b);
	b->worker = first;
	send_flow(b, EVENT_FLOW_BEGIN, "s7-1", 5);
	assert_true(is_written(b, first, 5));
	b->worker = second;
	send_flow(b, EVENT_FLOW_BEGIN, "s7-2", 6);
	assert_false(is_written(b, second, 6));
	send_flow(b, EVENT_FLOW_END, "s7-1", 7);
	assert_false(is_written(b, second, 7));
	/* With it end its own flows, which are none. */
	hang_up(&second);
	b->worker = first;
	send_flow(b, EVENT_FLOW_BEGIN, "s7-3", 8);
	assert_true(is_written(b, first, 8));
	assert_int_equal(count_lines(b, "\"event\":\"flow.end\""), 0);
	for (int i = 0; i < 60 && count_lines(b, "\"alarm\"") == 0; i++)
		poll(NULL, 0, 50);
	assert_int_equal(finish(b), 0);
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(a_worker_writes_of_its_own_sandboxes_alone),
		T(records_are_written_and_answered),
		T(records_of_one_message_have_one_answer),
		T(records_that_come_before_the_start_are_kept),
		T(a_role_may_send_its_own_kinds_only),
		T(who_sends_what_it_may_not_raises_an_alarm),
		T(a_file_that_is_no_log_is_not_written),
		T(a_full_disk_is_answered_no),
		T(the_owner_may_want_a_gap_instead),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
