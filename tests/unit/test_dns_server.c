/* SPDX-License-Identifier: Apache-2.0 */
/* The answerer over real sockets of loopback. */
#include <arpa/inet.h>
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "base/clock.h"
#include "base/limits.h"
#include "dns/server.h"
#include "dns_bed.h"
#include "net/timer.h"
#include "policy_bed.h"
#include "wire/dns_msg.h"

struct refusals {
	unsigned n;
	unsigned by[REASON_COUNT];
	char host[256], detail[64]; /* of the last */
};

static struct bed bed;
static struct loop *loop;
static struct dns_server *server;
static struct refusals refusals;
static uint16_t udp_port, tcp_port;

static void
on_refused(const struct dns_said *said, void *arg)
{
	struct refusals *r = arg;

	r->n++;
	r->by[said->reason]++;
	snprintf(r->host, sizeof(r->host), "%.*s", SLICE_ARG(said->facts.host));
	snprintf(r->detail, sizeof(r->detail), "%s", said->detail);
}

static void
turn(void)
{
	for (int i = 0; i < 20; i++)
		event_base_loop(loop_base(loop), EVLOOP_NONBLOCK);
}

/* A socket on every address of loopback; its port is set. */
static int
bound(int type, uint16_t *port)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t n = sizeof(at);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &n), 0);
	if (type == SOCK_STREAM)
		assert_int_equal(listen(fd, 128), 0);
	*port = ntohs(at.sin_port);
	return fd;
}

static int
client(int type, uint16_t port, const char *address)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons(port) };
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(inet_pton(AF_INET, address, &to.sin_addr), 1);
	assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	if (type == SOCK_STREAM)
		assert_int_equal(setsockopt(fd, IPPROTO_TCP, TCP_NODELAY,
				     &(int){ 1 }, sizeof(int)),
		    0);
	return fd;
}

static int
start(void **state)
{
	struct dns_sockets sockets = { .udp = { -1, -1 }, .tcp = { -1, -1 } };
	enum err err;
	(void)state;

	loop = loop_new(&err);
	refusals = (struct refusals){ 0 };
	sockets.udp[0] = bound(SOCK_DGRAM, &udp_port);
	sockets.tcp[0] = bound(SOCK_STREAM, &tcp_port);
	server = dns_server_new(loop, &sockets, bed.program, on_refused,
	    &refusals, &err);
	return server == NULL ? -1 : 0;
}

static int
stop(void **state)
{
	(void)state;
	clock_set(0, 0);
	dns_server_free(server);
	loop_free(loop);
	return 0;
}

static struct slice
ask(const char *name, uint16_t id, uint8_t *out, size_t max)
{
	struct question q = question_of(name, DNS_A);

	return question_put(&q, id, out, max);
}

static void
send_whole(int fd, struct slice s)
{
	assert_int_equal(send(fd, s.p, s.n, MSG_NOSIGNAL), s.n);
}

/* The socket is connected, so only an answer from where it asked arrives. */
static void
dns_server_answers_from_the_address_that_was_asked(void **state)
{
	static const char *const addresses[] = { "127.0.0.1", "127.0.0.9" };
	uint8_t in[512], out[512];
	struct answered a;
	(void)state;

	for (size_t i = 0; i < COUNT_OF(addresses); i++) {
		int fd = client(SOCK_DGRAM, udp_port, addresses[i]);
		send_whole(fd, ask("ok.test", 77, in, sizeof(in)));
		turn();
		ssize_t n = recv(fd, out, sizeof(out), 0);
		assert_true(n > 0);
		assert_true(answered_read(slice_of(out, (size_t)n), &a));
		assert_int_equal(a.id, 77);
		assert_int_equal(a.n_answers, 1);
		close(fd);
	}
	assert_int_equal(dns_server_take_allowed(server), 2);
	assert_int_equal(dns_server_take_allowed(server), 0);
	assert_int_equal(refusals.n, 0);
}

static void
dns_server_reports_what_it_refuses(void **state)
{
	int fd = client(SOCK_DGRAM, udp_port, "127.0.0.1");
	static uint8_t big[DNS_QUERY_MAX + 100];
	uint8_t in[512];
	(void)state;

	send_whole(fd, ask("Secret.evil.test", 1, in, sizeof(in)));
	turn();
	assert_int_equal(refusals.by[REASON_DNS_DENIED], 1);
	assert_string_equal(refusals.host, "secret.evil.test");
	send_whole(fd, SLICE("x"));
	send_whole(fd, slice_of(big, sizeof(big)));
	turn();
	assert_int_equal(refusals.by[REASON_DNS_MALFORMED], 2);
	assert_string_equal(refusals.detail, "too long");
	assert_int_equal(refusals.n, 3);
	close(fd);
}

/* The record can be decided again from its own facts. */
static void
dns_server_makes_a_record(void **state)
{
	struct dns_said said;
	struct facts_text text;
	struct event e;
	struct facts again;
	uint8_t in[512], out[512];
	struct wr w = wr_of(out, sizeof(out));
	(void)state;

	dns_answer(bed.program, ask("a.b.evil.test", 1, in, sizeof(in)), &w,
	    &said);
	dns_said_event(bed.program, &said, &text, &e);
	assert_int_equal(e.kind, EVENT_DNS);
	assert_true(
	    slice_eq_str(event_text_of(&e, FIELD_REASON), "dns.denied"));
	assert_true(
	    slice_eq_str(event_text_of(&e, FIELD_HOST), "a.b.evil.test"));
	assert_true(facts_from_event(&e, &again));
	assert_int_equal(policy_decide(bed.program, &again).reason,
	    REASON_DNS_DENIED);
	dns_refuse(bed.program, REASON_LIMIT_RATE, "questions a second", &said);
	dns_said_event(bed.program, &said, &text, &e);
	assert_true(facts_from_event(&e, &again));
	assert_int_equal(policy_decide(bed.program, &again).reason,
	    REASON_LIMIT_RATE);
	assert_true(slice_eq_str(event_text_of(&e, FIELD_DETAIL),
	    "questions a second"));
}

/* DN-23: a budget a second; what is above it is dropped, then it goes on. */
static void
dns_server_has_a_rate(void **state)
{
	int fd = client(SOCK_DGRAM, udp_port, "127.0.0.1");
	unsigned n_sent = 2 * LIMIT_QUESTIONS_PER_S + 50, n_answers = 0;
	uint8_t in[512], out[512];
	(void)state;

	clock_set(1000, 0);
	dns_server_free(server);
	struct dns_sockets sockets = { .udp = { -1, -1 }, .tcp = { -1, -1 } };
	enum err err;
	sockets.udp[0] = bound(SOCK_DGRAM, &udp_port);
	server = dns_server_new(loop, &sockets, bed.program, on_refused,
	    &refusals, &err);
	close(fd);
	fd = client(SOCK_DGRAM, udp_port, "127.0.0.1");
	for (unsigned i = 0; i < n_sent; i++) {
		send_whole(fd, ask("ok.test", 1, in, sizeof(in)));
		turn();
		n_answers += recv(fd, out, sizeof(out), 0) > 0;
	}
	assert_int_equal(n_answers, 2 * LIMIT_QUESTIONS_PER_S);
	assert_int_equal(refusals.by[REASON_LIMIT_RATE], 50);
	clock_set(1100, 0);
	for (unsigned i = 0; i < 50; i++) {
		send_whole(fd, ask("ok.test", 1, in, sizeof(in)));
		turn();
		n_answers += recv(fd, out, sizeof(out), 0) > 0;
	}
	assert_int_equal(n_answers,
	    2 * LIMIT_QUESTIONS_PER_S + LIMIT_QUESTIONS_PER_S / 10);
	close(fd);
}

/* Three messages of a stream, each behind its length. */
static size_t
stream_of_three(uint8_t *out, size_t max)
{
	static const char *const names[] = { "ok.test", "evil.test",
		"x.wild.test" };
	struct wr w = wr_of(out, max);
	uint8_t in[512];

	for (uint16_t i = 0; i < 3; i++)
		wr_slice16(&w, ask(names[i], i, in, sizeof(in)));
	assert_false(w.bad);
	return w.n;
}

static void
expect_three(int fd)
{
	uint8_t out[2048];
	ssize_t n = recv(fd, out, sizeof(out), 0);
	struct rd r = rd_of(slice_of(out, n < 0 ? 0 : (size_t)n));
	struct answered a;

	for (uint16_t i = 0; i < 3; i++) {
		assert_true(answered_read(rd_slice16(&r), &a));
		assert_int_equal(a.id, i);
		assert_int_equal(a.n_answers, 1);
	}
	assert_true(rd_is_done(&r));
}

/* DN-10: each message is judged, in one segment or split anywhere. */
static void
dns_server_judges_each_message_of_a_stream(void **state)
{
	uint8_t in[1024];
	size_t n = stream_of_three(in, sizeof(in));
	(void)state;

	for (size_t at = 0; at < n; at++) {
		int fd = client(SOCK_STREAM, tcp_port, "127.0.0.1");
		if (at != 0)
			send_whole(fd, slice_of(in, at));
		turn();
		send_whole(fd, slice_of(in + at, n - at));
		turn();
		expect_three(fd);
		close(fd);
		turn();
	}
	assert_int_equal(refusals.n, n);
	assert_int_equal(refusals.by[REASON_DNS_DENIED], n);
	int fd = client(SOCK_STREAM, tcp_port, "127.0.0.1");
	for (size_t i = 0; i < n; i++) {
		send_whole(fd, slice_of(in + i, 1));
		turn();
	}
	expect_three(fd);
	close(fd);
}

static bool
is_closed(int fd)
{
	uint8_t b;
	ssize_t n = recv(fd, &b, 1, 0);

	return n == 0 || (n < 0 && errno == ECONNRESET);
}

static void
dns_server_closes_a_stream_that_is_none(void **state)
{
	static const char *const bytes[] = { "\0\0", "\xff\xff", "\x10\1" };
	(void)state;

	for (size_t i = 0; i < COUNT_OF(bytes); i++) {
		int fd = client(SOCK_STREAM, tcp_port, "127.0.0.1");
		send_whole(fd, slice_of(bytes[i], 2));
		turn();
		assert_true(is_closed(fd));
		assert_int_equal(refusals.by[REASON_DNS_MALFORMED], i + 1);
		close(fd);
	}
}

static void
dns_server_closes_a_stream_that_is_idle(void **state)
{
	int fd = client(SOCK_STREAM, tcp_port, "127.0.0.1");
	uint8_t in[1024];
	size_t n = stream_of_three(in, sizeof(in));
	(void)state;

	clock_set(1000, 0);
	turn();
	clock_set(1000 + DNS_STREAM_IDLE_MS - 1, 0);
	timer_fire_due();
	turn();
	assert_false(is_closed(fd));
	send_whole(fd, slice_of(in, n - 1));
	turn();
	/* A byte now and then is no message. */
	clock_set(1000 + 2 * DNS_STREAM_IDLE_MS, 0);
	timer_fire_due();
	turn();
	uint8_t out[1024];
	assert_true(recv(fd, out, sizeof(out), 0) > 0); /* two answers */
	assert_true(is_closed(fd));
	close(fd);
}

/* Whoever does not read his answers holds one answer, and no more is read. */
static void
dns_server_holds_a_client_that_does_not_read(void **state)
{
	int fd = client(SOCK_STREAM, tcp_port, "127.0.0.1");
	uint8_t in[1024], out[65536];
	struct wr w = wr_of(in, sizeof(in));
	size_t n_out = 0;
	ssize_t n;
	(void)state;

	struct question q = question_of("ok.test", DNS_A);
	wr_slice16(&w, question_put(&q, 1, out, sizeof(out)));
	for (unsigned i = 0; i < 2 * LIMIT_QUESTIONS_PER_S - 1; i++) {
		send_whole(fd, wr_slice(&w));
		turn();
	}
	while (turn(), (n = recv(fd, out, sizeof(out), 0)) > 0)
		n_out += (size_t)n;
	assert_int_equal(dns_server_take_allowed(server),
	    2 * LIMIT_QUESTIONS_PER_S - 1);
	/* Length, header, question, one record of an IPv4 address. */
	assert_int_equal(n_out, (2 * LIMIT_QUESTIONS_PER_S - 1) * (w.n + 16));
	close(fd);
}

static void
dns_server_has_a_limit_of_streams(void **state)
{
	int fds[DNS_STREAMS_MAX + 2];
	(void)state;

	for (size_t i = 0; i < COUNT_OF(fds); i++) {
		fds[i] = client(SOCK_STREAM, tcp_port, "127.0.0.1");
		turn();
		assert_int_equal(is_closed(fds[i]), i >= DNS_STREAMS_MAX);
	}
	assert_int_equal(refusals.by[REASON_LIMIT_CONNS], 2);
	close(fds[0]);
	turn();
	int fd = client(SOCK_STREAM, tcp_port, "127.0.0.1");
	turn();
	assert_false(is_closed(fd));
	close(fd);
	for (size_t i = 1; i < COUNT_OF(fds); i++)
		close(fds[i]);
}

static int
set_up(void **state)
{
	(void)state;
	bed_load_trusted(&bed, NULL, dns_bed_policy);
	return bed.program == NULL ? -1 : 0;
}

static int
tear_down(void **state)
{
	(void)state;
	bed_release(&bed);
	return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(dns_server_answers_from_the_address_that_was_asked),
		TEST(dns_server_reports_what_it_refuses),
		TEST(dns_server_makes_a_record),
		TEST(dns_server_has_a_rate),
		TEST(dns_server_judges_each_message_of_a_stream),
		TEST(dns_server_closes_a_stream_that_is_none),
		TEST(dns_server_closes_a_stream_that_is_idle),
		TEST(dns_server_holds_a_client_that_does_not_read),
		TEST(dns_server_has_a_limit_of_streams),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
