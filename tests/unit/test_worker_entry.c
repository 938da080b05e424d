/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker as a process of its own, with all that it gives up, and the
 * listeners of a proxy that it is handed: what it needs for them must be in its
 * list of system calls, else it is killed in here.
 */
#include <arpa/inet.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "base/log.h"
#include "base/wr.h"
#include "net/channel.h"
#include "net/timer.h"
#include "policy_bed.h"
#include "priv/ops.h"
#include "priv/role.h"
#include "priv/spawn.h"
#include "proxyd/roles.h"
#include "wire/socks5.h"

#define PATIENCE_MS 8000
#define SANDBOX 1

static const char policy[] =
    "version: 1\n"
    "policies: {p: {rules: [{allow: 'https://ok.test'}, "
    "{allow: 'http://plain.test'}, {allow: 'tcp://db.test:5432'}]}}\n";

static struct loop *loop;
static struct bed bed;
static pid_t pid;
static struct channel *monitor, *dialer, *keeper, *scribe;
static struct timer patience;
static bool ready, pong, dialled;
static int upstream; /* our end of what was dialled */

static void
on_impatient(void *arg)
{
	(void)arg;
	fail_msg("the worker did not do it in time");
}

static void
wait_for(const bool *what)
{
	timer_set(&patience, PATIENCE_MS);
	while (!*what)
		event_base_loop(loop_base(loop), EVLOOP_ONCE);
	timer_stop(&patience);
}

static void
on_monitor(struct channel *c, struct msg *m, void *arg)
{
	(void)c;
	(void)arg;
	assert_non_null(m); /* it did not die */
	ready |= m->op == OP_READY;
	pong |= m->op == OP_PONG;
}

static void
tell(uint16_t op, struct slice body, const int *fds, size_t n)
{
	struct msg m = { .op = op, .body = body, .n_fds = n };
	enum err err;

	for (size_t i = 0; i < n; i++)
		m.fds[i] = fds[i];
	assert_int_equal(channel_send(monitor, &m, &err), 0);
}

/* What it was told until now it has done. */
static void
settle(void)
{
	pong = false;
	tell(OP_PING, SLICE(""), NULL, 0);
	wait_for(&pong);
}

static void
tell_entry(struct slice token, const int *fds, size_t n)
{
	uint8_t bytes[64];
	struct wr w = wr_of(bytes, sizeof(bytes));

	wr_u32(&w, SANDBOX);
	wr_slice8(&w, token);
	tell(OP_ENTRY, wr_slice(&w), fds, n);
	settle();
}

/* A socket of the kernel's choice of address: of no name, or a free port. */
static int
listen_at(int family, struct sockaddr_storage *at, socklen_t *n)
{
	int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*at = (struct sockaddr_storage){ .ss_family = (sa_family_t)family };
	*n = family == AF_UNIX ? sizeof(sa_family_t) :
				 sizeof(struct sockaddr_in);
	if (family == AF_INET)
		((struct sockaddr_in *)at)->sin_addr.s_addr =
		    htonl(INADDR_LOOPBACK);
	assert_int_equal(bind(fd, (struct sockaddr *)at, *n), 0);
	assert_int_equal(listen(fd, 8), 0);
	*n = sizeof(*at);
	assert_int_equal(getsockname(fd, (struct sockaddr *)at, n), 0);
	return fd;
}

static int
connect_to(const struct sockaddr_storage *at, socklen_t n)
{
	const struct timeval patient = { .tv_sec = PATIENCE_MS / 1000 };
	int fd = socket(at->ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)at, n), 0);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patient,
			     sizeof(patient)),
	    0);
	return fd;
}

/* A proxy answers there, and wants that of SOCKS5's methods, or none at all. */
static void
want_served(const struct sockaddr_storage *at, socklen_t n, uint8_t method)
{
	int fd = connect_to(at, n);
	uint8_t answer[2] = { 0 };

	assert_int_equal(send(fd, "\5\2\0\2", 4, 0), 4);
	assert_int_equal(recv(fd, answer, 2, MSG_WAITALL), 2);
	assert_int_equal(answer[0], 5);
	assert_int_equal(answer[1], method);
	close(fd);
}

static void
want_unserved(const struct sockaddr_storage *at, socklen_t n)
{
	int fd = connect_to(at, n);
	char byte;

	/* The second is read in a later turn of its loop. */
	settle();
	settle();
	assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), -1);
	close(fd);
}

static void
worker_takes_listeners_of_a_proxy(void **state)
{
	static const int families[] = { AF_INET, AF_UNIX };
	uint8_t token[32] = { 0 };
	(void)state;

	for (size_t i = 0; i < 2; i++) {
		struct sockaddr_storage at;
		socklen_t n;
		int fd = listen_at(families[i], &at, &n);
		want_unserved(&at, n);
		tell_entry(slice_of(token, i == 0 ? 0 : sizeof(token)), &fd, 1);
		want_served(&at, n, i == 0 ? SOCKS5_OPEN : SOCKS5_PASSWORD);
		close(fd);
	}
}

/* Nothing of such a message is used. */
static void
worker_refuses_what_is_no_listener_of_a_proxy(void **state)
{
	uint8_t token[32] = { 0 };
	struct sockaddr_storage at;
	socklen_t n;
	int good = listen_at(AF_INET, &at, &n), pair[2];
	(void)state;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	const int fds[][3] = { { good, pair[0], -1 }, { good, good, good } };

	tell_entry(slice_of(token, 31), &good, 1);
	tell_entry(slice_of(token, 32), fds[0], 2);
	tell_entry(slice_of(token, 32), fds[1], 3);
	tell_entry(slice_of(token, 32), NULL, 0);
	tell(OP_ENTRY, SLICE("\0\0\0\1"), &good, 1);
	tell(OP_ENTRY, SLICE("\0\0\0\2\0"), &good, 1); /* has no program */
	want_unserved(&at, n);
	tell_entry(SLICE(""), &good, 1);
	want_served(&at, n, SOCKS5_OPEN);
	close(good);
	close(pair[0]);
	close(pair[1]);
}

static struct channel *
link_up(uint8_t role, channel_on_msg *on_msg)
{
	uint8_t body[8];
	struct wr w = wr_of(body, sizeof(body));
	enum err err;
	int pair[2];

	wr_u8(&w, role);
	wr_u32(&w, 0);
	assert_int_equal(spawn_pair(pair, &err), 0);
	tell(OP_CHANNEL, wr_slice(&w), &pair[1], 1);
	close(pair[1]);
	struct channel *c = channel_new(loop, pair[0], on_msg, NULL, &err);
	assert_non_null(c);
	return c;
}

static void
on_keeper(struct channel *c, struct msg *m, void *arg)
{
	(void)c;
	(void)m;
	(void)arg;
}

static void
on_scribe(struct channel *c, struct msg *m, void *arg)
{
	uint8_t yes = 1;
	struct msg written = { .op = OP_WRITTEN, .body = slice_of(&yes, 1) };
	enum err err;

	(void)arg;
	if (m == NULL || m->id == 0)
		return;
	written.id = m->id;
	assert_int_equal(channel_send(c, &written, &err), 0);
}

/* Whatever is asked for is there: it is us. */
static void
on_dialer(struct channel *c, struct msg *m, void *arg)
{
	uint8_t body[64];
	struct wr w = wr_of(body, sizeof(body));
	struct msg answer = { .op = OP_DIALED, .n_fds = 1 };
	enum err err;
	int pair[2];

	(void)arg;
	if (m == NULL)
		return;
	assert_int_equal(m->op, OP_DIAL);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
			     pair),
	    0);
	assert_int_equal(fcntl(pair[0], F_SETFL, 0), 0);
	wr_u16(&w, REASON_ALLOW);
	wr_slice8(&w, SLICE(""));
	wr_slice8(&w, SLICE("192.0.2.1"));
	wr_u64(&w, 7);
	answer.id = m->id;
	answer.body = wr_slice(&w);
	answer.fds[0] = pair[1];
	assert_int_equal(channel_send(c, &answer, &err), 0);
	close(pair[1]);
	upstream = pair[0];
	dialled = true;
}

/* All of it comes, and nothing else. */
static void
want_bytes(int fd, struct slice want)
{
	uint8_t got[256];

	assert_true(want.n <= sizeof(got));
	assert_int_equal(recv(fd, got, want.n, MSG_WAITALL), want.n);
	assert_memory_equal(got, want.p, want.n);
}

static void
send_bytes(int fd, struct slice bytes)
{
	assert_int_equal(send(fd, bytes.p, bytes.n, 0), bytes.n);
}

static int
enter(int family)
{
	struct sockaddr_storage at;
	socklen_t n;
	int fd = listen_at(family, &at, &n);

	tell_entry(SLICE(""), &fd, 1);
	close(fd);
	dialled = false;
	return connect_to(&at, n);
}

/* By splice, with all that the worker gave up. */
static void
worker_passes_a_tunnel_from_either_kind_of_socket(void **state)
{
	static const int families[] = { AF_INET, AF_UNIX };
	uint8_t yes = 1;
	struct msg status = { .op = OP_STATUS, .body = slice_of(&yes, 1) };
	enum err err;
	char end;

	(void)state;
	dialer = link_up(ROLE_DIALER, on_dialer);
	keeper = link_up(ROLE_KEEPER, on_keeper);
	scribe = link_up(ROLE_SCRIBE, on_scribe);
	assert_int_equal(channel_send(scribe, &status, &err), 0);
	settle();
	for (size_t i = 0; i < COUNT_OF(families); i++) {
		int client = enter(families[i]);
		send_bytes(client,
		    SLICE("\5\1\0\5\1\0\3\7db.test\x15\x38"
			  "early"));
		want_bytes(client, SLICE("\5\0\5\0\0\1\0\0\0\0\0\0"));
		wait_for(&dialled);
		want_bytes(upstream, SLICE("early"));
		send_bytes(upstream, SLICE("welcome"));
		want_bytes(client, SLICE("welcome"));
		send_bytes(client, SLICE("hello"));
		want_bytes(upstream, SLICE("hello"));
		shutdown(client, SHUT_WR);
		assert_int_equal(recv(upstream, &end, 1, 0), 0);
		close(upstream);
		assert_int_equal(recv(client, &end, 1, 0), 0);
		close(client);
	}
}

static void
worker_forwards_a_request_from_a_unix_socket(void **state)
{
	static const char answer[] = "HTTP/1.1 204 No\r\n\r\n";
	int client = enter(AF_UNIX);

	(void)state;
	send_bytes(client,
	    SLICE("GET http://plain.test/x HTTP/1.1\r\n"
		  "Host: plain.test\r\n\r\n"));
	wait_for(&dialled);
	want_bytes(upstream,
	    SLICE("GET /x HTTP/1.1\r\nHost: plain.test\r\n\r\n"));
	send_bytes(upstream, slice_of(answer, sizeof(answer) - 1));
	want_bytes(client, SLICE("HTTP/1.1 204 No\r\n\r\n"));
	send_bytes(client,
	    SLICE("CONNECT evil.test:443 HTTP/1.1\r\n"
		  "Host: evil.test:443\r\n\r\n"));
	want_bytes(client, SLICE("HTTP/1.1 400 Bad Request\r\n"));
	close(client);
	close(upstream);
}

static void
worker_ends_with_its_monitor(void **state)
{
	int status = -1;
	(void)state;

	channel_free(dialer);
	channel_free(keeper);
	channel_free(scribe);
	channel_free(monitor);
	event_base_loop(loop_base(loop), EVLOOP_NONBLOCK);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
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
	tell(op, body, &fd, 1);
	close(fd);
}

/* Without an address of its own that would be captured. */
static void
feed(void)
{
	uint8_t bytes[128];
	struct wr w = wr_of(bytes, sizeof(bytes));

	tell_image(OP_OWNER, SLICE(""), buf_slice(&bed.owner_image));
	wr_u32(&w, SANDBOX);
	wr_u32(&w, 1);
	wr_slice8(&w, SLICE("sha256:00"));
	tell_image(OP_PROGRAM, wr_slice(&w), buf_slice(&bed.image));
	w = wr_of(bytes, sizeof(bytes));
	wr_u32(&w, SANDBOX);
	wr_slice8(&w, SLICE("box"));
	wr_u16(&w, 0);
	tell(OP_SANDBOX, wr_slice(&w), NULL, 0);
}

static void
start_worker(int fd)
{
	log_init("worker", LOG_LEVEL_ERROR);
	if (dup2(fd, ROLE_MONITOR_FD) < 0)
		_exit(120);
	fcntl(ROLE_MONITOR_FD, F_SETFD, FD_CLOEXEC);
	if (isolate_start(ROLE_WORKER) != 0)
		_exit(121);
	_exit(worker_main());
}

static int
set_up(void **state)
{
	enum err err;
	int pair[2];
	(void)state;

	bed_load(&bed, "version: 1\n", policy);
	if (bed.program == NULL || bed.owner == NULL) {
		print_error("%s", buf_text(&bed.text));
		return -1;
	}
	assert_int_equal(spawn_pair(pair, &err), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		start_worker(pair[1]);
	close(pair[1]);
	loop = loop_new(&err);
	monitor = channel_new(loop, pair[0], on_monitor, NULL, &err);
	assert_int_equal(timer_init(&patience, loop, on_impatient, NULL, &err),
	    0);
	wait_for(&ready);
	feed();
	return 0;
}

static int
tear_down(void **state)
{
	(void)state;
	timer_release(&patience);
	loop_free(loop);
	bed_release(&bed);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(worker_takes_listeners_of_a_proxy),
		cmocka_unit_test(worker_refuses_what_is_no_listener_of_a_proxy),
		cmocka_unit_test(
		    worker_passes_a_tunnel_from_either_kind_of_socket),
		cmocka_unit_test(worker_forwards_a_request_from_a_unix_socket),
		cmocka_unit_test(worker_ends_with_its_monitor),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
