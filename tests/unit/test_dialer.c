/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dialer as a process of its own, with all that it gives up: what it needs
 * must be in its list of system calls, else it is killed in here.
 */
#include <arpa/inet.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "base/log.h"
#include "base/rd.h"
#include "base/wr.h"
#include "net/channel.h"
#include "net/timer.h"
#include "policy_bed.h"
#include "priv/ops.h"
#include "priv/role.h"
#include "priv/spawn.h"
#include "priv/who.h"
#include "proxyd/roles.h"

#define PATIENCE_MS 8000
#define TYPE_A 1

static const char policy[] =
    "version: 1\n"
    "policies:\n"
    "  p:\n"
    "    rules:\n"
    "      - {name: exact, allow: 'https://ok.test:PORT', addresses: "
    "[127.0.0.1]}\n"
    "      - {name: own, allow: 'https://own.test:PORT', addresses: "
    "[127.0.0.1]}\n"
    "      - {name: v6, allow: 'https://[::1]:PORT'}\n";

static const char config[] =
    "version: 1\n"
    "upstream: [{names: [own.test], resolvers: ['127.0.0.1:PORT']}]\n";

static struct loop *loop;
static struct bed bed;
static pid_t pid;
static struct channel *monitor, *worker, *keeper, *scribe;
static int dns, listener; /* on one port */
static uint16_t port;
static struct timer patience;
static struct {
	bool ready, pong;
	unsigned n_told, n_events, n_questions;
	bool dialed;
	enum reason reason;
	int fd;
} seen;

static void
on_impatient(void *arg)
{
	(void)arg;
	fail_msg("the dialer did not do it in time");
}

/* Run the loop until it is true. */
#define WAIT_FOR(condition)                                            \
	do {                                                           \
		timer_set(&patience, PATIENCE_MS);                     \
		while (!(condition))                                   \
			event_base_loop(loop_base(loop), EVLOOP_ONCE); \
		timer_stop(&patience);                                 \
	} while (0)

static void
on_monitor(struct channel *c, struct msg *m, void *arg)
{
	(void)c;
	(void)arg;
	assert_non_null(m); /* it did not die */
	seen.ready |= m->op == OP_READY;
	seen.pong |= m->op == OP_PONG;
}

static void
on_keeper(struct channel *c, struct msg *m, void *arg)
{
	const uint8_t allow[] = { 0, REASON_ALLOW };
	struct msg told = { .op = OP_TOLD,
		.body = slice_of(allow, sizeof(allow)) };
	enum err err;
	(void)arg;

	if (m == NULL)
		return;
	assert_int_equal(m->op, OP_TELL);
	seen.n_told++;
	told.id = m->id;
	assert_int_equal(channel_send(c, &told, &err), 0);
}

static void
on_scribe(struct channel *c, struct msg *m, void *arg)
{
	uint8_t yes = 1;
	struct msg written = { .op = OP_WRITTEN, .body = slice_of(&yes, 1) };
	enum err err;
	(void)arg;

	if (m == NULL)
		return;
	seen.n_events += m->body.n != 0;
	written.id = m->id;
	if (m->id != 0)
		assert_int_equal(channel_send(c, &written, &err), 0);
}

static void
on_worker(struct channel *c, struct msg *m, void *arg)
{
	(void)c;
	(void)m;
	(void)arg;
}

static void
on_dialed(struct msg *m, void *arg)
{
	(void)arg;
	assert_non_null(m);
	struct rd r = rd_of(m->body);
	seen.reason = (enum reason)rd_u16(&r);
	seen.fd = msg_take_fd(m, 0);
	seen.dialed = true;
}

/* Every A is 127.0.0.1; there is no AAAA. */
static void
on_question(evutil_socket_t fd, short what, void *arg)
{
	struct sockaddr_storage from;
	socklen_t n_from = sizeof(from);
	uint8_t m[512];
	(void)what;
	(void)arg;

	ssize_t got =
	    recvfrom(fd, m, sizeof(m), 0, (struct sockaddr *)&from, &n_from);
	assert_true(got > 12);
	size_t n = 12;
	while (m[n] != 0)
		n += m[n] + 1U;
	bool is_a = m[n + 2] == TYPE_A;
	struct wr w = wr_of(m, sizeof(m));
	w.n = n + 5;
	m[2] = 0x81;
	m[3] = 0x80;
	memset(m + 6, 0, 6);
	m[7] = is_a;
	if (is_a)
		wr_bytes(&w, SLICE("\xc0\x0c\0\1\0\1\0\0\0\0\0\4\x7f\0\0\1"));
	seen.n_questions++;
	assert_int_equal(sendto(fd, m, w.n, 0, (struct sockaddr *)&from,
			     n_from),
	    w.n);
}

static void
tell_role(uint16_t op, struct slice body, const int *fd)
{
	struct msg m = { .op = op, .body = body };
	enum err err;

	if (fd != NULL)
		m.fds[m.n_fds++] = *fd;
	assert_int_equal(channel_send(monitor, &m, &err), 0);
}

static struct channel *
link_up(uint8_t role, channel_on_msg *on_msg)
{
	uint8_t body[8];
	struct wr w = wr_of(body, sizeof(body));
	enum err err;
	int pair[2];

	assert_int_equal(spawn_pair(pair, &err), 0);
	wr_u8(&w, role);
	wr_u32(&w, role == ROLE_WORKER ? 1 : 0);
	tell_role(OP_CHANNEL, wr_slice(&w), &pair[1]);
	close(pair[1]);
	struct channel *c = channel_new(loop, pair[0], on_msg, NULL, &err);
	assert_non_null(c);
	return c;
}

/* An image as the clerk hands it on. */
static void
tell_image(uint16_t op, struct slice body, struct slice image)
{
	int fd = memfd_create("image", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, image.p, image.n), image.n);
	assert_int_equal(fcntl(fd, F_ADD_SEALS,
			     F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW |
				 F_SEAL_WRITE),
	    0);
	tell_role(op, body, &fd);
	close(fd);
}

static void
feed(void)
{
	uint8_t yes = 1, bytes[128];
	struct msg status = { .op = OP_STATUS, .body = slice_of(&yes, 1) };
	struct wr name = wr_of(bytes, sizeof(bytes));
	enum err err;

	keeper = link_up(ROLE_KEEPER, on_keeper);
	scribe = link_up(ROLE_SCRIBE, on_scribe);
	assert_int_equal(channel_send(scribe, &status, &err), 0);
	wr_u32(&name, 1);
	wr_u32(&name, 1);
	wr_slice8(&name, SLICE("box"));
	tell_role(OP_NAME, wr_slice(&name), NULL);
	tell_image(OP_OWNER, SLICE(""), buf_slice(&bed.owner_image));
	struct wr w = wr_of(bytes, sizeof(bytes));
	wr_u32(&w, 1);
	wr_u32(&w, 1);
	wr_slice8(&w, SLICE("sha256:00"));
	tell_image(OP_PROGRAM, wr_slice(&w), buf_slice(&bed.image));
}

static void
dial(uint32_t rule)
{
	uint8_t body[64];
	struct wr w = wr_of(body, sizeof(body));
	enum err err;

	seen.dialed = false;
	who_write(&w, &(struct who){ 1, 1, SLICE("sha256:00"), SLICE("w0-1") });
	wr_u32(&w, rule);
	wr_u16(&w, port);
	wr_slice8(&w, SLICE(""));
	struct msg m = { .op = OP_DIAL, .body = wr_slice(&w) };
	assert_true(channel_ask(worker, &m, on_dialed, NULL, &err) != 0);
	WAIT_FOR(seen.dialed);
}

/* What the monitor said until now has been taken: channels have no order. */
static void
settle(void)
{
	seen.pong = false;
	tell_role(OP_PING, SLICE(""), NULL);
	WAIT_FOR(seen.pong);
}

static void
dialer_dials_with_all_that_it_gave_up(void **state)
{
	const uint8_t odd[] = { 1, 2, 3 };
	(void)state;

	WAIT_FOR(seen.ready);
	feed();
	worker = link_up(ROLE_WORKER, on_worker);
	settle();

	/* A resolver of the owner's; then over its fixed list of the host. */
	dial(1);
	assert_int_equal(seen.reason, REASON_ALLOW);
	assert_true(seen.fd >= 0);
	/* The second may be on its way yet when the first has connected. */
	WAIT_FOR(seen.n_questions == 2);
	assert_int_equal(seen.n_told, 1);
	assert_int_equal(seen.n_events, 1);
	close(seen.fd);

	/* A literal address, refused by nobody but the kernel. */
	dial(2);
	assert_int_equal(seen.reason, REASON_UP_CONNECT);
	/* A refusal's record is not waited for, so it may come behind it. */
	WAIT_FOR(seen.n_events == 2);

	/* What cannot be read changes nothing. */
	tell_role(OP_RESOLVERS, slice_of(odd, sizeof(odd)), NULL);
	tell_role(OP_PROGRAM, slice_of(odd, sizeof(odd)), NULL);
	tell_role(OP_CHANNEL, slice_of(odd, sizeof(odd)), NULL);
	tell_role(OP_SECRET, slice_of(odd, sizeof(odd)), NULL);
	uint8_t text[64];
	struct wr w = wr_of(text, sizeof(text));
	wr_slice16(&w, SLICE("nameserver 127.0.0.1\n"));
	tell_role(OP_RESOLVERS, wr_slice(&w), NULL);
	settle();
	dial(1);
	assert_int_equal(seen.reason, REASON_ALLOW);
	close(seen.fd);
}

static void
dialer_serves_more_than_one_worker(void **state)
{
	struct channel *first = worker;
	(void)state;

	worker = link_up(ROLE_WORKER, on_worker);
	dial(1);
	assert_int_equal(seen.reason, REASON_ALLOW);
	close(seen.fd);
	channel_free(first);
	dial(1);
	assert_int_equal(seen.reason, REASON_ALLOW);
	close(seen.fd);
}

/* A keeper that was started anew: nothing without it, then as before. */
static void
dialer_takes_a_new_keeper(void **state)
{
	(void)state;
	channel_free(keeper);
	dial(1);
	assert_int_equal(seen.reason, REASON_SHUTDOWN);
	keeper = link_up(ROLE_KEEPER, on_keeper);
	settle();
	dial(1);
	assert_int_equal(seen.reason, REASON_ALLOW);
	close(seen.fd);
}

static void
dialer_ends_with_its_monitor(void **state)
{
	int status = -1;
	(void)state;

	channel_free(monitor);
	event_base_loop(loop_base(loop), EVLOOP_NONBLOCK);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

static void
put_port(const char *text, char *out, size_t max)
{
	size_t used = 0;

	for (const char *p = text; *p != '\0';) {
		bool here = strncmp(p, "PORT", 4) == 0;
		used += (size_t)snprintf(out + used, max - used,
		    here ? "%u" : "%c", here ? port : (unsigned)*p);
		p += here ? 4 : 1;
	}
}

static void
start_dialer(int fd)
{
	log_init("dialer", LOG_LEVEL_ERROR);
	if (dup2(fd, ROLE_MONITOR_FD) < 0)
		_exit(120);
	fcntl(ROLE_MONITOR_FD, F_SETFD, FD_CLOEXEC);
	if (isolate_start(ROLE_DIALER) != 0)
		_exit(121);
	_exit(dialer_main());
}

static int
set_up(void **state)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	char one[sizeof(policy) + 64], two[sizeof(config) + 64];
	socklen_t n = sizeof(at);
	enum err err;
	int pair[2];
	(void)state;

	listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	dns = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&at, n), 0);
	assert_int_equal(listen(listener, 64), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &n), 0);
	assert_int_equal(bind(dns, (struct sockaddr *)&at, n), 0);
	port = ntohs(at.sin_port);
	put_port(policy, one, sizeof(one));
	put_port(config, two, sizeof(two));
	bed_load_trusted(&bed, two, one);
	if (bed.program == NULL || bed.owner == NULL) {
		print_error("%s", buf_text(&bed.text));
		return -1;
	}
	assert_int_equal(spawn_pair(pair, &err), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		start_dialer(pair[1]);
	close(pair[1]);
	loop = loop_new(&err);
	monitor = channel_new(loop, pair[0], on_monitor, NULL, &err);
	struct event *question = event_new(loop_base(loop), dns,
	    EV_READ | EV_PERSIST, on_question, NULL);
	event_add(question, NULL);
	*state = question;
	return timer_init(&patience, loop, on_impatient, NULL, &err);
}

static int
tear_down(void **state)
{
	event_free(*state);
	channel_free(worker);
	channel_free(keeper);
	channel_free(scribe);
	timer_release(&patience);
	loop_free(loop);
	bed_release(&bed);
	close(listener);
	close(dns);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dialer_dials_with_all_that_it_gave_up),
		cmocka_unit_test(dialer_serves_more_than_one_worker),
		cmocka_unit_test(dialer_takes_a_new_keeper),
		cmocka_unit_test(dialer_ends_with_its_monitor),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
