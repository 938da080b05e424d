/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/socket.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "audit/event.h"
#include "base/rd.h"
#include "base/wr.h"
#include "crypto/digest.h"
#include "crypto/sign.h"
#include "priv/msg.h"
#include "priv/ops.h"
#include "priv/role.h"
#include "priv/spawn.h"
#include "proxyd/roles.h"

/* The real role in a process of its own; the test is all the others. */
struct bed {
	pid_t pid;
	int monitor, keeper, worker, dialer, log; /* -1: none */
	char path[64];
	uint8_t packet[MSG_SIZE_MAX];
	struct msg m; /* received last */
};

static void
start(struct bed *b)
{
	enum err err = ERR_NONE;
	int pair[2];

	assert_int_equal(spawn_pair(pair, &err), 0);
	fflush(NULL);
	b->pid = fork();
	assert_true(b->pid >= 0);
	if (b->pid == 0) {
		dup2(pair[1], ROLE_MONITOR_FD);
		if (isolate_start(ROLE_SCRIBE) != 0)
			_exit(2);
		_exit(scribe_main());
	}
	close(pair[1]);
	b->monitor = pair[0];
}

static void
send_to(struct bed *b, int fd, uint16_t op, uint32_t id, struct slice body,
    int with)
{
	struct msg m = { .op = op, .id = id, .body = body };
	enum err err = ERR_NONE;

	(void)b;
	if (with >= 0)
		m.fds[m.n_fds++] = with;
	assert_int_equal(msg_send(fd, &m, &err), 0);
}

/* The next message with this operation; others are passed over. */
static bool
receive(struct bed *b, int fd, uint16_t op)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	enum err err = ERR_NONE;

	while (poll(&p, 1, 4000) == 1) {
		if (msg_recv(fd, b->packet, &b->m, &err) != 0)
			return false;
		msg_close_fds(&b->m);
		if (b->m.op == op)
			return true;
	}
	return false;
}

static int
link_role(struct bed *b, enum role role)
{
	uint8_t name = (uint8_t)role;
	enum err err = ERR_NONE;
	int pair[2];

	assert_int_equal(spawn_pair(pair, &err), 0);
	send_to(b, b->monitor, OP_CHANNEL, 0, slice_of(&name, 1), pair[1]);
	close(pair[1]);
	return pair[0];
}

static void
certify(struct bed *b)
{
	enum err err = ERR_NONE;
	struct sign_key *machine = sign_key_new(&err);
	uint8_t message[SIGN_KEY_MESSAGE_SIZE], signature[SIGN_SIZE];
	uint8_t body[256];
	struct wr w = wr_of(body, sizeof(body));

	assert_true(receive(b, b->keeper, OP_CERTIFY));
	struct rd r = rd_of(b->m.body);
	struct slice key = rd_slice8(&r);
	assert_int_equal(key.n, SIGN_PUBLIC_SIZE);
	sign_key_message(key.p, message);
	assert_int_equal(sign_make(machine, slice_of(message, sizeof(message)),
			     signature, &err),
	    0);
	wr_u8(&w, 1);
	wr_slice8(&w, slice_of(sign_key_public(machine), SIGN_PUBLIC_SIZE));
	wr_slice8(&w, slice_of(signature, SIGN_SIZE));
	send_to(b, b->keeper, OP_CERTIFIED, b->m.id, wr_slice(&w), -1);
	sign_key_free(machine);
}

static void
send_log(struct bed *b, uint8_t again)
{
	b->log = open(b->path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	assert_true(b->log >= 0);
	send_to(b, b->monitor, OP_LOG, 0, slice_of(&again, 1), b->log);
	close(b->log);
}

static void
begin(struct bed *b, uint8_t again)
{
	start(b);
	assert_true(receive(b, b->monitor, OP_READY));
	send_log(b, again);
	b->keeper = link_role(b, ROLE_KEEPER);
	b->worker = link_role(b, ROLE_WORKER);
	certify(b);
}

static int
set_up(void **state)
{
	struct bed *b = calloc(1, sizeof(*b));

	b->monitor = b->keeper = b->worker = b->dialer = -1;
	snprintf(b->path, sizeof(b->path), "/tmp/duenna-scribe-%d",
	    (int)getpid());
	unlink(b->path);
	*state = b;
	return 0;
}

static void
hang_up(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

/* The exit status, once the monitor's channel is closed. */
static int
finish(struct bed *b)
{
	int status = 0;

	hang_up(&b->monitor);
	hang_up(&b->keeper);
	hang_up(&b->worker);
	hang_up(&b->dialer);
	assert_int_equal(waitpid(b->pid, &status, 0), b->pid);
	return status;
}

static int
tear_down(void **state)
{
	struct bed *b = *state;

	unlink(b->path);
	free(b);
	return 0;
}

static void
send_event(struct bed *b, int fd, const struct event *e, uint32_t id)
{
	uint8_t bytes[EVENT_SIZE_MAX];

	send_to(b, fd, OP_EVENT, id,
	    slice_of(bytes, event_encode(e, bytes, sizeof(bytes))), -1);
}

static void
send_flow(struct bed *b, enum event_kind kind, const char *flow, uint32_t id)
{
	struct event e;

	event_init(&e, kind);
	event_str(&e, FIELD_SANDBOX, "s");
	event_str(&e, FIELD_FLOW, flow);
	if (kind == EVENT_FLOW_END)
		event_reason(&e, REASON_ALLOW);
	send_event(b, b->worker, &e, id);
}

static bool
is_written(struct bed *b, int fd, uint32_t id)
{
	assert_true(receive(b, fd, OP_WRITTEN));
	assert_int_equal(b->m.id, id);
	return b->m.body.n == 1 && b->m.body.p[0] == 1;
}

static bool
status(struct bed *b, int fd)
{
	assert_true(receive(b, fd, OP_STATUS));
	return b->m.body.p[0] == 1;
}

static size_t
count_lines(struct bed *b, const char *part)
{
	FILE *f = fopen(b->path, "r");
	char line[8192];
	size_t n = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL)
		n += strstr(line, part) != NULL ? 1 : 0;
	fclose(f);
	return n;
}

static void
stop(struct bed *b)
{
	struct event e;

	event_init(&e, EVENT_STOP);
	send_event(b, b->monitor, &e, 99);
}

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
	assert_int_equal(rd_slice8(&r).n, 64);
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

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(records_are_written_and_answered),
		T(records_of_one_message_have_one_answer),
		T(records_that_come_before_the_start_are_kept),
		T(a_role_may_send_its_own_kinds_only),
		T(who_sends_what_it_may_not_raises_an_alarm),
		T(a_worker_that_is_gone_has_its_flows_ended),
		T(a_scribe_that_is_killed_is_followed_by_one_that_goes_on),
		T(a_monitor_that_is_gone_is_a_log_without_stop),
		T(a_stop_without_a_question_is_written_when_the_monitor_is_gone),
		T(a_file_that_is_no_log_is_not_written),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
