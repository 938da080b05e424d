/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/resource.h>
#include <sys/socket.h>

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "base/clock.h"
#include "net/listen.h"
#include "net/origdst.h"

static int accepted[64];
static size_t n_accepted;

static void
on_accept(int fd, void *arg)
{
	(void)arg;
	assert_true(n_accepted < 64);
	accepted[n_accepted++] = fd;
}

static int
listening(struct sockaddr_in *sa)
{
	socklen_t n = sizeof(*sa);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	*sa = (struct sockaddr_in){ .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	assert_int_equal(bind(fd, (struct sockaddr *)sa, sizeof(*sa)), 0);
	assert_int_equal(listen(fd, 16), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)sa, &n), 0);
	return fd;
}

static int
dial(const struct sockaddr_in *sa)
{
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)sa, sizeof(*sa)),
	    0);
	return fd;
}

static void
turn(struct loop *l, size_t until)
{
	uint64_t began = clock_ms();

	while (n_accepted < until && clock_ms() - began < 3000)
		event_base_loop(loop_base(l), EVLOOP_NONBLOCK);
}

static int
option(int fd, int level, int name)
{
	int v = -1;
	socklen_t n = sizeof(v);

	assert_int_equal(getsockopt(fd, level, name, &v, &n), 0);
	return v;
}

static void
listener_sets_what_bounds_a_peer(void **state)
{
	(void)state;
	enum err err;
	struct sockaddr_in sa;
	struct loop *l = loop_new(&err);
	struct listener *n =
	    listener_new(l, listening(&sa), on_accept, NULL, &err);

	assert_non_null(n);
	n_accepted = 0;
	int client = dial(&sa);
	turn(l, 1);
	assert_int_equal(n_accepted, 1);
	int fd = accepted[0];
	assert_int_equal(option(fd, IPPROTO_TCP, TCP_NODELAY), 1);
	assert_int_equal(option(fd, SOL_SOCKET, SO_KEEPALIVE), 1);
	assert_true(option(fd, IPPROTO_TCP, TCP_USER_TIMEOUT) > 0);
	assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
	close(fd);
	close(client);
	listener_free(n);
	event_base_loop(loop_base(l), EVLOOP_NONBLOCK);
	loop_free(l);
}

/* Nobody redirected it: the client dialled the listener itself. */
static void
origdst_without_a_redirect_is_ourselves(void **state)
{
	(void)state;
	enum err err;
	struct sockaddr_in sa;
	struct loop *l = loop_new(&err);
	struct listener *n =
	    listener_new(l, listening(&sa), on_accept, NULL, &err);
	struct ip ip, loopback = ip_v4(127, 0, 0, 1);
	uint16_t port;

	n_accepted = 0;
	int client = dial(&sa);
	turn(l, 1);
	assert_int_equal(origdst_get(accepted[0], &ip, &port), REASON_DST_SELF);
	assert_true(ip_eq(&ip, &loopback));
	assert_int_equal(port, ntohs(sa.sin_port));
	close(accepted[0]);
	close(client);
	/* Not even a socket: still closed. */
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
	assert_int_equal(origdst_get(null, &ip, &port), REASON_DST_SELF);
	assert_int_equal(ip.family, 0);
	close(null);
	listener_free(n);
	event_base_loop(loop_base(l), EVLOOP_NONBLOCK);
	loop_free(l);
}

/* DO-01: descriptors run out; accepting goes on when there are some again. */
static void
listener_survives_running_out_of_descriptors(void **state)
{
	(void)state;
	enum err err;
	struct sockaddr_in sa;
	struct loop *l = loop_new(&err);
	struct listener *n =
	    listener_new(l, listening(&sa), on_accept, NULL, &err);
	struct rlimit was, low;
	int clients[3];

	n_accepted = 0;
	for (int i = 0; i < 2; i++)
		clients[i] = dial(&sa);
	getrlimit(RLIMIT_NOFILE, &was);
	low = was;
	low.rlim_cur = 0; /* every new descriptor is too many */
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	for (int i = 0; i < 20; i++)
		event_base_loop(loop_base(l), EVLOOP_NONBLOCK);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_int_equal(n_accepted, 0);
	clients[2] = dial(&sa);
	turn(l, 1);
	assert_true(n_accepted >= 1);
	for (size_t i = 0; i < n_accepted; i++)
		close(accepted[i]);
	for (int i = 0; i < 3; i++)
		close(clients[i]);
	listener_free(n);
	event_base_loop(loop_base(l), EVLOOP_NONBLOCK);
	loop_free(l);
}

/* L3-29: root in the sandbox ends the socket; others' work goes on. */
static void
listener_that_is_ended_is_not_asked_again(void **state)
{
	(void)state;
	enum err err;
	struct sockaddr_in sa;
	struct loop *l = loop_new(&err);
	struct event_base *base = loop_base(l);
	int fd = listening(&sa), copy = dup(fd);
	struct listener *n = listener_new(l, fd, on_accept, NULL, &err);

	assert_non_null(n);
	n_accepted = 0;
	int before = event_base_get_num_events(base, EVENT_BASE_COUNT_ADDED);
	assert_int_equal(shutdown(copy, SHUT_RDWR), 0);
	event_base_loop(base, EVLOOP_NONBLOCK);
	assert_int_equal(event_base_get_num_events(base,
			     EVENT_BASE_COUNT_ADDED),
	    before - 1);
	assert_int_equal(n_accepted, 0);
	close(copy);
	listener_free(n);
	event_base_loop(base, EVLOOP_NONBLOCK);
	loop_free(l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(listener_sets_what_bounds_a_peer),
		cmocka_unit_test(origdst_without_a_redirect_is_ourselves),
		cmocka_unit_test(listener_survives_running_out_of_descriptors),
		cmocka_unit_test(listener_that_is_ended_is_not_asked_again),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
