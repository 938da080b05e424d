/* SPDX-License-Identifier: Apache-2.0 */
/* CONNECT: the request, the answer's head, and what stays in the socket. */
#include <sys/socket.h>

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "base/limits.h"
#include "dial/tunnel.h"
#include "wire/tunnel.h"

#define OK "HTTP/1.1 200 Connection established\r\n\r\n"

static struct loop *loop;

static struct host
host(const char *text)
{
	struct parse_fail fail;
	struct host h;

	assert_int_equal(host_from_policy(slice_of_str(text), &h, &fail),
	    PARSE_DONE);
	return h;
}

static void
tunnel_write_names_the_place_alone(void **state)
{
	static const struct {
		const char *host;
		uint16_t port;
		const char *want;
	} rows[] = {
		{ "ok.test", 443,
		    "CONNECT ok.test:443 HTTP/1.1\r\n"
		    "Host: ok.test:443\r\n\r\n" },
		{ "192.0.2.1", 8,
		    "CONNECT 192.0.2.1:8 HTTP/1.1\r\n"
		    "Host: 192.0.2.1:8\r\n\r\n" },
		{ "[2001:db8::1]", 65535,
		    "CONNECT [2001:db8::1]:65535 HTTP/1.1\r\n"
		    "Host: [2001:db8::1]:65535\r\n\r\n" },
	};
	uint8_t out[TUNNEL_REQUEST_MAX];
	char longest[HOST_MAX + 1];
	(void)state;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct wr w = wr_of(out, sizeof(out));
		struct host h = host(rows[i].host);
		tunnel_write(&w, &h, rows[i].port);
		assert_true(slice_eq_str(wr_slice(&w), rows[i].want));
	}
	for (size_t i = 0; i < HOST_MAX; i++)
		longest[i] = i % 2 == 0 ? 'a' : '.';
	longest[HOST_MAX] = '\0';
	struct wr w = wr_of(out, sizeof(out));
	struct host h = host(longest);
	tunnel_write(&w, &h, 65535);
	assert_false(w.bad);
}

struct result {
	unsigned n;
	enum reason reason;
	char detail[128];
};

static void
on_done(enum reason reason, const char *detail, void *arg)
{
	struct result *r = arg;

	r->n++;
	r->reason = reason;
	snprintf(r->detail, sizeof(r->detail), "%s", detail);
}

static void
turn(void)
{
	for (int i = 0; i < 8; i++)
		event_base_loop(loop_base(loop), EVLOOP_NONBLOCK);
}

/* A tunnel over pair[0]; the test is the proxy at pair[1]. */
static struct tunnel *
begin(int pair[2], bool may_speak_first, struct result *r)
{
	struct host h = host("ok.test");
	enum err err;
	char request[256];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
			     pair),
	    0);
	const struct tunnel_want want = { .fd = pair[0],
		.host = &h,
		.port = 443,
		.may_speak_first = may_speak_first };
	*r = (struct result){ 0 };
	struct tunnel *t = tunnel_start(loop, &want, on_done, r, &err);
	assert_non_null(t);
	assert_int_equal(r->n, 0);
	turn();
	ssize_t n = read(pair[1], request, sizeof(request));
	assert_true(slice_eq_str(slice_of(request, (size_t)n),
	    "CONNECT ok.test:443 HTTP/1.1\r\nHost: ok.test:443\r\n\r\n"));
	return t;
}

static void
end(int pair[2])
{
	turn();
	close(pair[0]);
	close(pair[1]);
}

/* clang-format off */
static const struct {
	const char *name, *answer, *behind;
	bool may_speak_first, closes;
	enum reason reason;
	const char *detail;
} cases[] = {
	{ "as squid says it", OK, "", false, false, REASON_ALLOW, "" },
	{ "any 2xx, HTTP/1.0, fields", "HTTP/1.0 204 x\r\nProxy-agent: t\r\n\r\n", "", false, false, REASON_ALLOW, "" },
	{ "a length means nothing", "HTTP/1.1 200 x\r\nContent-Length: 5\r\n\r\n", "", false, false, REASON_ALLOW, "" },
	{ "the origin speaks first, and may", OK, "220 hello", true, false, REASON_ALLOW, "" },
	{ "the origin speaks first, and may not", OK, "220 hello", false, false, REASON_UP_CONNECT, "the proxy sent more than its answer" },
	{ "a password", "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 2\r\n\r\n", "no", false, false, REASON_UP_CONNECT, "the proxy wants a user name and password (407)" },
	{ "forbidden", "HTTP/1.1 403 Forbidden\r\n\r\n", "", false, false, REASON_UP_CONNECT, "the proxy forbids it (403)" },
	{ "another status", "HTTP/1.1 502 Bad Gateway\r\n\r\n", "", false, false, REASON_UP_CONNECT, "the proxy answered 502" },
	{ "not yet is no", "HTTP/1.1 100 Continue\r\n\r\n", "", false, false, REASON_UP_CONNECT, "the proxy answered 100" },
	{ "a redirect is not followed", "HTTP/1.1 302 Found\r\nLocation: http://evil.test/\r\n\r\n", "", false, false, REASON_UP_CONNECT, "the proxy answered 302" },
	{ "no HTTP", "SSH-2.0-x\r\n\r\n", "", false, false, REASON_UP_CONNECT, "the proxy's answer cannot be read" },
	{ "two lengths", "HTTP/1.1 200 x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", "", false, false, REASON_UP_CONNECT, "the proxy's answer cannot be read" },
	{ "lines that end in one byte", "HTTP/1.1 200 x\n\n", "", false, false, REASON_UP_CONNECT, "the proxy's answer cannot be read" },
	{ "nothing", "", "", false, true, REASON_UP_CONNECT, "the proxy closed the connection" },
	{ "half of it", "HTTP/1.1 200 x\r\n", "", false, true, REASON_UP_CONNECT, "the proxy closed the connection" },
};
/* clang-format on */

/* What stands behind the head is read by nobody but the receiver. */
static void
expect_behind(int fd, const char *behind)
{
	char got[64];
	ssize_t n = read(fd, got, sizeof(got));

	if (behind[0] == '\0')
		assert_int_equal(n, -1);
	else
		assert_true(slice_eq_str(slice_of(got, (size_t)(n < 0 ? 0 : n)),
		    behind));
}

static void
tunnel_answers_each_case_however_it_is_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		size_t n = strlen(cases[i].answer);
		char all[256];

		print_message("# %s\n", cases[i].name);
		snprintf(all, sizeof(all), "%s%s", cases[i].answer,
		    cases[i].behind);
		/* The last cut: all in one piece. */
		for (size_t cut = 0; cut <= n; cut++) {
			struct result r;
			int pair[2];
			(void)begin(pair, cases[i].may_speak_first, &r);
			/* In front of the head's last byte nothing is over. */
			(void)!write(pair[1], all, cut == n ? 0 : cut);
			turn();
			if (cut < n && r.n == 0)
				(void)!write(pair[1], all + cut,
				    strlen(all) - cut);
			else if (cut == n)
				(void)!write(pair[1], all, strlen(all));
			if (cases[i].closes)
				shutdown(pair[1], SHUT_WR);
			turn();
			assert_int_equal(r.n, 1);
			assert_int_equal(r.reason, cases[i].reason);
			assert_string_equal(r.detail, cases[i].detail);
			if (r.reason == REASON_ALLOW)
				expect_behind(pair[0], cases[i].behind);
			end(pair);
		}
	}
}

static void
tunnel_bounds_the_answer(void **state)
{
	struct result r;
	int pair[2];
	char line[64] =
	    "X-Filler: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa";
	(void)state;

	(void)begin(pair, false, &r);
	assert_true(write(pair[1], "HTTP/1.1 200 x\r\n", 16) == 16);
	memcpy(line + 62, "\r\n", 2);
	for (size_t n = 16; n <= LIMIT_PROXY_HEAD_SIZE && r.n == 0; n += 64) {
		memset(line + 55, 'a', 7);
		(void)!write(pair[1], line, sizeof(line));
		turn();
	}
	assert_int_equal(r.n, 1);
	assert_int_equal(r.reason, REASON_UP_CONNECT);
	assert_string_equal(r.detail, "the proxy's answer cannot be read");
	end(pair);
}

static void
tunnel_cancelled_is_not_told(void **state)
{
	struct result r;
	int pair[2];
	(void)state;

	struct tunnel *t = begin(pair, false, &r);
	tunnel_cancel(t);
	tunnel_cancel(NULL);
	assert_true(write(pair[1], OK, sizeof(OK) - 1) > 0);
	turn();
	assert_int_equal(r.n, 0);
	/* And it has read nothing. */
	expect_behind(pair[0], OK);
	end(pair);
}

static int
set_up(void **state)
{
	enum err err;
	(void)state;

	loop = loop_new(&err);
	return loop == NULL ? -1 : 0;
}

static int
tear_down(void **state)
{
	(void)state;
	loop_free(loop);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tunnel_write_names_the_place_alone),
		cmocka_unit_test(tunnel_answers_each_case_however_it_is_cut),
		cmocka_unit_test(tunnel_bounds_the_answer),
		cmocka_unit_test(tunnel_cancelled_is_not_told),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
