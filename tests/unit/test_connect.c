/* SPDX-License-Identifier: Apache-2.0 */
/* Connecting to judged addresses: rows SR-01 to SR-06, SR-10 on loopback. */
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "base/clock.h"
#include "base/limits.h"
#include "dial/connect.h"
#include "dial/own.h"
#include "policy_bed.h"

/* The port of the rules is put in at PORT. */
static const char template[] =
    "version: 1\n"
    "policies:\n"
    "  p:\n"
    "    rules:\n"
    "      - allow: https://ok.test:PORT\n"
    "        addresses: [127.0.0.1, 127.0.0.0/8, '::1']\n"
    "      - allow: https://shut.test:PORT\n"
    "      - allow: https://wide.test:PORT\n"
    "        addresses: [127.0.0.0/8, 169.254.0.0/16, 100.64.0.0/10, 'fd00::/8']\n"
    "      - allow: https://127.0.0.1:PORT\n";

struct result {
	unsigned n;
	struct connected c;
};

static struct loop *loop;
static struct bed bed;
static uint16_t port;
static int listener; /* on 127.0.0.1 and the port */

static int
listen_on(const char *address, uint16_t at_port, int backlog)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_port = htons(at_port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(inet_pton(AF_INET, address, &at.sin_addr), 1);
	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 },
			     sizeof(int)),
	    0);
	assert_int_equal(bind(fd, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(fd, backlog), 0);
	return fd;
}

static void
on_done(const struct connected *c, void *arg)
{
	struct result *r = arg;

	r->n++;
	r->c = *c;
	loop_stop(loop);
}

static void
on_nothing(const struct connected *c, void *arg)
{
	(void)c;
	(void)arg;
	fail_msg("a cancelled connect was told");
}

static struct ip
ip(const char *text)
{
	struct ip out;

	assert_true(ip_parse(slice_of_str(text), &out));
	return out;
}

/* Connect to these for `host`; returns the time that it took. */
static uint64_t
run(const char *host, const struct ip *ips, size_t n, struct result *r)
{
	struct connect_want want = {
		.program = bed.program,
		.host = slice_of_str(host),
		.port = port,
		.ips = ips,
		.n = n,
	};
	uint64_t began = clock_ms();
	enum err err;

	*r = (struct result){ 0 };
	assert_non_null(connect_start(loop, &want, on_done, r, &err));
	assert_int_equal(r->n, 0);
	loop_run(loop);
	assert_int_equal(r->n, 1);
	return clock_ms() - began;
}

/* clang-format off */
static const struct {
	const char *name, *host;
	const char *ips[4];
	enum reason reason;
	size_t n_refused;
	const char *peer, *detail;
} cases[] = {
	{ "opened by address", "ok.test", { "127.0.0.1" }, REASON_ALLOW, 0, "127.0.0.1", "" },
	{ "SR-06 another name", "shut.test", { "127.0.0.1" }, REASON_UP_PRIVATE, 1, NULL, "no address of it may be dialled" },
	{ "SR-05 private first, good one second", "ok.test", { "10.0.0.1", "127.0.0.1" }, REASON_ALLOW, 1, "127.0.0.1", "" },
	{ "SR-05 good one first", "ok.test", { "127.0.0.1", "10.0.0.1" }, REASON_ALLOW, 0, "127.0.0.1", "" },
	{ "SR-01 only private ones", "ok.test", { "10.0.0.1", "192.168.0.1", "100.64.0.1" }, REASON_UP_PRIVATE, 3, NULL, "no address of it may be dialled" },
	{ "SR-02 IPv6", "shut.test", { "fe80::1", "fc00::1", "ff02::1" }, REASON_UP_PRIVATE, 3, NULL, "no address of it may be dialled" },
	{ "SR-03 IPv4 in IPv6", "shut.test", { "::ffff:10.0.0.1", "64:ff9b::a00:1", "2002:a00:1::" }, REASON_UP_PRIVATE, 3, NULL, "no address of it may be dialled" },
	{ "SR-04 metadata, though all is open", "wide.test", { "169.254.169.254", "fd00:ec2::254", "::ffff:169.254.169.254", "100.100.100.200" }, REASON_UP_PRIVATE, 4, NULL, "no address of it may be dialled" },
	{ "SR-10 a wide prefix is not the host itself", "wide.test", { "127.0.0.1" }, REASON_DST_SELF, 1, NULL, "no address of it may be dialled" },
	{ "a literal opens itself", "127.0.0.1", { "127.0.0.1" }, REASON_ALLOW, 0, "127.0.0.1", "" },
	{ "a literal opens nothing else", "127.0.0.1", { "127.0.0.2" }, REASON_DST_PRIVATE, 1, NULL, "no address of it may be dialled" },
	{ "nobody listens, then the next", "ok.test", { "127.0.0.2", "127.0.0.1" }, REASON_ALLOW, 0, "127.0.0.1", "" },
	{ "nobody listens", "ok.test", { "127.0.0.2", "127.0.0.3" }, REASON_UP_CONNECT, 0, NULL, "connection refused" },
	{ "refused by us, and by nobody there", "ok.test", { "10.0.0.1", "127.0.0.2" }, REASON_UP_CONNECT, 1, NULL, "connection refused" },
};
/* clang-format on */

static void
connect_answers_each_case(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct ip ips[4];
		struct result r;
		size_t n = 0;

		print_message("# %s\n", cases[i].name);
		for (; n < 4 && cases[i].ips[n] != NULL; n++)
			ips[n] = ip(cases[i].ips[n]);
		uint64_t ms = run(cases[i].host, ips, n, &r);
		/* What fails at once waits for no stagger. */
		assert_true(ms < LIMIT_STAGGER_MS);
		assert_int_equal(r.c.reason, cases[i].reason);
		assert_string_equal(r.c.detail, cases[i].detail);
		assert_int_equal(r.c.n_refused, cases[i].n_refused);
		assert_true(ip_eq(&r.c.refused, &(struct ip){ 0 }) ==
		    (cases[i].n_refused == 0));
		assert_int_equal(r.c.fd >= 0, cases[i].peer != NULL);
		if (r.c.fd < 0)
			continue;
		struct ip peer = ip(cases[i].peer);
		assert_true(ip_eq(&r.c.peer, &peer));
		close(r.c.fd);
	}
}

/* The sockaddr that was judged is the one that is connected; its options. */
static void
connect_hands_over_a_socket_that_is_ready(void **state)
{
	struct ip ips[] = { ip("127.0.0.1") };
	struct sockaddr_storage peer;
	socklen_t n = sizeof(peer);
	struct result r;
	struct ip got;
	uint16_t got_port;
	int on = 0;
	(void)state;

	run("ok.test", ips, 1, &r);
	assert_int_equal(getpeername(r.c.fd, (struct sockaddr *)&peer, &n), 0);
	assert_true(
	    ip_from_sockaddr((struct sockaddr *)&peer, &got, &got_port));
	assert_true(ip_eq(&got, &ips[0]));
	assert_int_equal(got_port, port);
	assert_true((fcntl(r.c.fd, F_GETFL) & O_NONBLOCK) != 0);
	assert_true((fcntl(r.c.fd, F_GETFD) & FD_CLOEXEC) != 0);
	n = sizeof(on);
	assert_int_equal(getsockopt(r.c.fd, IPPROTO_TCP, TCP_NODELAY, &on, &n),
	    0);
	assert_true(on != 0);
	assert_int_equal(getsockopt(r.c.fd, SOL_SOCKET, SO_KEEPALIVE, &on, &n),
	    0);
	assert_true(on != 0);
	close(r.c.fd);
}

/* A listener whose queue is full: the kernel drops what comes. */
static int
black_hole(const char *address, int *fill)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons(port) };
	int fd = listen_on(address, port, 0);

	assert_int_equal(inet_pton(AF_INET, address, &to.sin_addr), 1);
	for (int i = 0; i < 4; i++) {
		fill[i] = socket(AF_INET,
		    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		assert_true(fill[i] >= 0);
		(void)!connect(fill[i], (struct sockaddr *)&to, sizeof(to));
	}
	return fd;
}

/* RFC 8305 section 5. */
static void
connect_tries_the_next_after_the_stagger(void **state)
{
	struct ip ips[] = { ip("127.0.0.7"), ip("127.0.0.1") };
	struct result r;
	int fill[4];
	int hole = black_hole("127.0.0.7", fill);
	(void)state;

	uint64_t ms = run("ok.test", ips, 2, &r);
	assert_int_equal(r.c.reason, REASON_ALLOW);
	assert_true(ip_eq(&r.c.peer, &ips[1]));
	assert_in_range(ms, LIMIT_STAGGER_MS - 5, LIMIT_STAGGER_MS + 200);
	close(r.c.fd);

	/* Cancelled while it waits: nobody is told, nothing stays open. */
	struct connect_want want = { .program = bed.program,
		.host = SLICE("ok.test"),
		.port = port,
		.ips = ips,
		.n = 1 };
	enum err err;
	struct connecting *c =
	    connect_start(loop, &want, on_nothing, NULL, &err);
	int before = dup(0);
	for (int i = 0; i < 5; i++)
		event_base_loop(loop_base(loop), EVLOOP_NONBLOCK);
	connect_cancel(c);
	for (int i = 0; i < 5; i++)
		event_base_loop(loop_base(loop), EVLOOP_NONBLOCK);
	int after = dup(0);
	assert_int_equal(after, before + 1);
	close(before);
	close(after);
	for (int i = 0; i < 4; i++)
		close(fill[i]);
	close(hole);
}

/* RFC 8305 section 4: families take turns, IPv6 first. */
static void
connect_begins_with_ipv6(void **state)
{
	struct ip ips[] = { ip("127.0.0.1"), ip("::1") };
	struct sockaddr_in6 at = { .sin6_family = AF_INET6,
		.sin6_port = htons(port),
		.sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct result r;
	int on = 1;
	(void)state;

	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd < 0 ||
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) != 0 ||
	    bind(fd, (struct sockaddr *)&at, sizeof(at)) != 0 ||
	    listen(fd, 4) != 0)
		skip();
	run("ok.test", ips, 2, &r);
	assert_int_equal(r.c.reason, REASON_ALLOW);
	assert_true(ip_eq(&r.c.peer, &ips[1]));
	close(r.c.fd);
	close(fd);
	/* Nobody there: the other family, at once. */
	uint64_t ms = run("ok.test", ips, 2, &r);
	assert_true(ip_eq(&r.c.peer, &ips[0]));
	assert_true(ms < LIMIT_STAGGER_MS);
	close(r.c.fd);
}

/* The other family's addresses come later: what failed before waits for them,
 * and they take their turn. */
static void
connect_takes_addresses_that_come_later(void **state)
{
	struct ip first[] = { ip("127.0.0.2") }, later[] = { ip("127.0.0.1") };
	struct connect_want want = { .program = bed.program,
		.host = SLICE("ok.test"),
		.port = port,
		.ips = first,
		.n = 1,
		.more = true };
	(void)state;

	for (size_t n = 0; n < 2; n++) {
		struct result r = { 0 };
		enum err err;
		struct connecting *c =
		    connect_start(loop, &want, on_done, &r, &err);
		assert_non_null(c);
		for (int i = 0; i < 10; i++)
			event_base_loop(loop_base(loop), EVLOOP_NONBLOCK);
		assert_int_equal(r.n, 0); /* refused, but not the end */
		connect_add(c, later, n);
		assert_int_equal(r.n, 0);
		loop_run(loop);
		assert_int_equal(r.n, 1);
		assert_int_equal(r.c.reason,
		    n == 0 ? REASON_UP_CONNECT : REASON_ALLOW);
		if (n == 1)
			close(r.c.fd);
	}
}

/* An address of an IPv6 that leads nowhere, told first. */
static void
connect_leaves_an_ipv6_that_does_not_answer(void **state)
{
	struct ip v6[] = { ip("::1") }, v4[] = { ip("127.0.0.1") };
	struct sockaddr_in6 to = { .sin6_family = AF_INET6,
		.sin6_port = htons(port),
		.sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct connect_want want = { .program = bed.program,
		.host = SLICE("ok.test"),
		.port = port,
		.ips = v6,
		.n = 1,
		.more = true };
	struct result r = { 0 };
	int on = 1, fill[4];
	enum err err;
	(void)state;

	int hole = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (hole < 0 ||
	    setsockopt(hole, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) != 0 ||
	    bind(hole, (struct sockaddr *)&to, sizeof(to)) != 0)
		skip();
	assert_int_equal(listen(hole, 0), 0);
	for (int i = 0; i < 4; i++) {
		fill[i] = socket(AF_INET6,
		    SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
		(void)!connect(fill[i], (struct sockaddr *)&to, sizeof(to));
	}
	struct connecting *c = connect_start(loop, &want, on_done, &r, &err);
	assert_non_null(c);
	event_base_loop(loop_base(loop), EVLOOP_ONCE);
	connect_add(c, v4, 1);
	loop_run(loop);
	assert_int_equal(r.c.reason, REASON_ALLOW);
	assert_true(ip_eq(&r.c.peer, &v4[0]));
	close(r.c.fd);
	for (int i = 0; i < 4; i++)
		close(fill[i]);
	close(hole);
}

/* The owner's own word: neither policy nor the host's addresses count. */
static void
connect_does_not_judge_what_the_owner_says(void **state)
{
	struct ip ips[] = { ip("127.0.0.1") };
	struct connect_want want = { .port = port, .ips = ips, .n = 1 };
	struct result r = { 0 };
	enum err err;
	(void)state;

	assert_non_null(connect_start(loop, &want, on_done, &r, &err));
	loop_run(loop);
	assert_int_equal(r.c.reason, REASON_ALLOW);
	close(r.c.fd);
}

static void
connect_without_an_address_is_an_end(void **state)
{
	struct ip none = { 0 };
	struct result r;
	(void)state;

	run("ok.test", &none, 0, &r);
	assert_int_equal(r.c.reason, REASON_UP_CONNECT);
	/* And one of no family is refused, not dialled. */
	run("ok.test", &none, 1, &r);
	assert_true(
	    r.c.reason == REASON_UP_CONNECT || r.c.reason == REASON_UP_PRIVATE);
	assert_int_equal(r.c.fd, -1);
}

static void
own_reads_the_addresses_of_the_host(void **state)
{
	struct own own;
	enum err err;
	struct ip home = ip("127.0.0.1");
	bool found = false;
	(void)state;

	assert_int_equal(own_read(&own, &err), 0);
	for (size_t i = 0; i < own.n; i++)
		found |= ip_eq(&own.ips[i], &home);
	assert_true(found);
	own_release(&own);
	assert_null(own.ips);
}

static int
set_up(void **state)
{
	struct sockaddr_in at;
	socklen_t n = sizeof(at);
	char text[sizeof(template) + 64];
	size_t used = 0;
	enum err err;
	(void)state;

	loop = loop_new(&err);
	listener = listen_on("127.0.0.1", 0, 64);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &n), 0);
	port = ntohs(at.sin_port);
	for (const char *p = template; *p != '\0';) {
		bool here = strncmp(p, "PORT", 4) == 0;
		used += (size_t)snprintf(text + used, sizeof(text) - used,
		    here ? "%u" : "%c", here ? port : (unsigned)*p);
		p += here ? 4 : 1;
	}
	bed_load_trusted(&bed, NULL, text);
	if (bed.program == NULL)
		print_error("%s", buf_text(&bed.text));
	return bed.program == NULL ? -1 : 0;
}

static int
tear_down(void **state)
{
	(void)state;
	close(listener);
	bed_release(&bed);
	loop_free(loop);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(connect_answers_each_case),
		cmocka_unit_test(connect_hands_over_a_socket_that_is_ready),
		cmocka_unit_test(connect_tries_the_next_after_the_stagger),
		cmocka_unit_test(connect_begins_with_ipv6),
		cmocka_unit_test(connect_takes_addresses_that_come_later),
		cmocka_unit_test(connect_leaves_an_ipv6_that_does_not_answer),
		cmocka_unit_test(connect_does_not_judge_what_the_owner_says),
		cmocka_unit_test(connect_without_an_address_is_an_end),
		cmocka_unit_test(own_reads_the_addresses_of_the_host),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
