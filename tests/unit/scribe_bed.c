/* SPDX-License-Identifier: Apache-2.0 */
#include "scribe_bed.h"

void
start(struct bed *b)
{
	enum err err = ERR_NONE;
	int pair[2];

	assert_int_equal(spawn_pair(pair, &err), 0);
	fflush(NULL);
	b->pid = fork();
	assert_true(b->pid >= 0);
	if (b->pid == 0) {
		struct rlimit l = { b->file_limit, RLIM_INFINITY };
		dup2(pair[1], ROLE_MONITOR_FD);
		if (b->file_limit != 0 && setrlimit(RLIMIT_FSIZE, &l) != 0)
			_exit(2);
		if (isolate_start(ROLE_SCRIBE) != 0)
			_exit(2);
		_exit(scribe_main());
	}
	close(pair[1]);
	b->monitor = pair[0];
}

void
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

bool
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

int
link_role(struct bed *b, enum role role)
{
	uint8_t body[8];
	struct wr w = wr_of(body, sizeof(body));
	enum err err = ERR_NONE;
	int pair[2];

	assert_int_equal(spawn_pair(pair, &err), 0);
	wr_u8(&w, (uint8_t)role);
	wr_u32(&w, role == ROLE_WORKER ? ++b->n_workers : 0);
	send_to(b, b->monitor, OP_CHANNEL, 0, wr_slice(&w), pair[1]);
	close(pair[1]);
	return pair[0];
}

void
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

void
send_log(struct bed *b, uint8_t again)
{
	b->log = open(b->path, O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
	assert_true(b->log >= 0);
	send_to(b, b->monitor, OP_LOG, 0, slice_of(&again, 1), b->log);
	close(b->log);
}

void
begin(struct bed *b, uint8_t again)
{
	start(b);
	assert_true(receive(b, b->monitor, OP_READY));
	send_log(b, again);
	b->keeper = link_role(b, ROLE_KEEPER);
	b->worker = link_role(b, ROLE_WORKER);
	certify(b);
}

int
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

void
hang_up(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int
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

int
tear_down(void **state)
{
	struct bed *b = *state;

	unlink(b->path);
	free(b);
	return 0;
}

void
send_event(struct bed *b, int fd, const struct event *e, uint32_t id)
{
	uint8_t bytes[EVENT_SIZE_MAX];

	send_to(b, fd, OP_EVENT, id,
	    slice_of(bytes, event_encode(e, bytes, sizeof(bytes))), -1);
}

void
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

bool
is_written(struct bed *b, int fd, uint32_t id)
{
	assert_true(receive(b, fd, OP_WRITTEN));
	assert_int_equal(b->m.id, id);
	return b->m.body.n == 1 && b->m.body.p[0] == 1;
}

bool
status(struct bed *b, int fd)
{
	assert_true(receive(b, fd, OP_STATUS));
	return b->m.body.p[0] == 1;
}

size_t
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

void
stop(struct bed *b)
{
	struct event e;

	event_init(&e, EVENT_STOP);
	send_event(b, b->monitor, &e, 99);
}
