/* SPDX-License-Identifier: Apache-2.0 */
/* An exchange whose owner reads the body first, makes what goes up, or refuses
 * in a way that git reads to its end; over HTTP/1.1 on pairs of sockets. */
#include <sys/socket.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "base/clock.h"
#include "http/exchange.h"
#include "net/stream_tcp.h"

/* The owner: reads a line of the body, and sends `made` before the rest. */
struct owner {
	struct exchange x;
	struct loop *loop;
	struct stream *client;
	int peer, origin; /* the other ends */
	struct host host;
	char line[64];
	size_t n_line;
	const char *made; /* NULL: refuse */
	bool has_made, cut, ended;
	enum exchange_phase phase;
};

static void
run(struct owner *o)
{
	for (int i = 0; i < 20; i++) {
		event_base_loop(loop_base(o->loop), EVLOOP_NONBLOCK);
		o->phase = exchange_run(&o->x);
	}
}

static void
judge(struct exchange *x, void *arg)
{
	struct owner *o = arg;

	x->reads = true;
	x->host = &o->host;
	x->path = SLICE("/r");
	exchange_allow(x);
}

static void
read_line(struct exchange *x, void *arg)
{
	struct owner *o = arg;
	struct parse_fail fail;
	struct slice in;

	/* A byte at a time, so that what follows the line stays. */
	while (exchange_pull(x, &in, &fail) == PARSE_MORE && in.n != 0) {
		o->line[o->n_line++] = (char)in.p[0];
		exchange_pulled(x, 1);
		if (o->line[o->n_line - 1] != '\n')
			continue;
		if (o->made != NULL) {
			exchange_feed(x, HTTP_BODY_OPEN, 0);
			exchange_allow(x);
			return;
		}
		x->refusal.type = "application/x-test";
		x->refusal.for_git = true;
		assert_true(buf_put(&x->refusal.first, SLICE("at once;")));
		assert_true(buf_put(&x->refusal.last, SLICE("at last")));
		x->refusal.status = 200;
		exchange_refuse(x, REASON_GIT_REF, "not this");
		return;
	}
}

static enum parse
feed(struct exchange *x, size_t room, struct slice *out,
    struct parse_fail *fail, void *arg)
{
	static uint8_t kept[65536];
	struct owner *o = arg;
	struct slice in;

	if (!o->has_made) {
		o->has_made = true;
		*out = slice_of_str(o->made);
		return PARSE_MORE;
	}
	enum parse p = exchange_pull(x, &in, fail);
	if (p == PARSE_DONE && o->cut) {
		*fail = (struct parse_fail){ REASON_GIT_PACK, "no", 0 };
		return PARSE_BAD;
	}
	in = slice_first(in, room < sizeof(kept) ? room : sizeof(kept));
	memcpy(kept, in.n == 0 ? kept : in.p, in.n);
	*out = slice_of(kept, in.n);
	exchange_pulled(x, in.n);
	return p;
}

static void
reach(struct exchange *x, void *arg)
{
	struct owner *o = arg;
	enum err err;
	int fd[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
			     fd),
	    0);
	o->origin = fd[1];
	struct stream *s = stream_tcp_new(o->loop, fd[0], &err);
	assert_non_null(s);
	exchange_reached(x, s, false);
}

static void
attach(struct exchange *x, void *arg)
{
	const struct exchange_slots none = { 0 };

	(void)arg;
	exchange_attached(x, &none);
}

static void
sent(struct exchange *x, void *arg)
{
	(void)x;
	(void)arg;
}

static bool
answered(struct exchange *x, void *arg)
{
	(void)x;
	(void)arg;
	return true;
}

static void
keep(struct exchange *x, struct stream *s, void *arg)
{
	(void)x;
	(void)arg;
	stream_close(s);
}

static void
ended(struct exchange *x, void *arg)
{
	struct owner *o = arg;

	(void)x;
	assert_false(o->ended);
	o->ended = true;
}

static void
on_limit(void *arg)
{
	(void)arg;
}

static void
begin(struct owner *o, const char *made)
{
	static const struct exchange_ops ops = {
		.judge = judge,
		.read = read_line,
		.feed = feed,
		.reach = reach,
		.attach = attach,
		.sent = sent,
		.answered = answered,
		.keep = keep,
		.ended = ended,
		.on_limit = on_limit,
	};
	struct parse_fail fail;
	enum err err;
	int fd[2];

	*o = (struct owner){ .made = made, .origin = -1 };
	o->loop = loop_new(&err);
	assert_non_null(o->loop);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
			     fd),
	    0);
	o->peer = fd[1];
	o->client = stream_tcp_new(o->loop, fd[0], &err);
	assert_non_null(o->client);
	assert_int_equal(host_from_policy(SLICE("r.test"), &o->host, &fail),
	    PARSE_DONE);
	o->x.version = &exchange_h1;
	o->x.flow = "w0-1";
	assert_int_equal(exchange_init(&o->x, o->loop, o->client, &ops, o,
			     &err),
	    0);
}

static void
end(struct owner *o)
{
	exchange_release(&o->x);
	assert_true(o->ended);
	stream_close(o->client);
	event_base_loop(loop_base(o->loop), EVLOOP_NONBLOCK);
	loop_free(o->loop);
	close(o->peer);
	if (o->origin >= 0)
		close(o->origin);
}

static void
say(struct owner *o, const char *text)
{
	size_t n = strlen(text);

	assert_int_equal(write(o->peer, text, n), n);
	run(o);
}

/* What has come at that end, as text. */
static const char *
heard(int fd)
{
	static char text[65536];
	ssize_t n;

	do {
		n = read(fd, text, sizeof(text) - 1);
	} while (n < 0 && errno == EINTR);
	text[n < 0 ? 0 : n] = '\0';
	return text;
}

#define HEAD(more) "POST /r HTTP/1.1\r\nHost: r.test\r\n" more "\r\n"

static void
own_body_goes_up_instead_of_the_clients(void **state)
{
	struct owner o;

	(void)state;
	begin(&o, "made:");
	say(&o, HEAD("Transfer-Encoding: chunked\r\n") "3\r\nli");
	assert_int_equal(o.phase, EXCHANGE_READ);
	say(&o, "n\r\n5\r\ne\nres\r\n");
	assert_int_equal(o.phase, EXCHANGE_SEND);
	assert_memory_equal(o.line, "line\n", 5);
	const char *got = heard(o.origin);
	assert_non_null(strstr(got, "Transfer-Encoding: chunked\r\n"));
	assert_non_null(strstr(got, "5\r\nmade:\r\n3\r\nres\r\n"));
	say(&o, "1\r\nt\r\n0\r\n\r\n");
	assert_string_equal(heard(o.origin), "1\r\nt\r\n0\r\n\r\n");
	assert_int_equal(write(o.origin,
			     "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
			     38),
	    38);
	run(&o);
	assert_int_equal(o.phase, EXCHANGE_DONE);
	assert_true(exchange_may_continue(&o.x));
	end(&o);
}

static void
own_body_that_is_cut_has_no_end_upstream(void **state)
{
	struct owner o;

	(void)state;
	begin(&o, "made:");
	o.cut = true;
	say(&o, HEAD("Content-Length: 9\r\n") "line\nre");
	const char *got = heard(o.origin);
	assert_non_null(strstr(got, "2\r\nre\r\n"));
	assert_null(strstr(got, "0\r\n\r\n"));
	say(&o, "st");
	assert_null(strstr(heard(o.origin), "0\r\n\r\n"));
	assert_int_equal(o.x.fail.reason, REASON_GIT_PACK);
	assert_int_equal(strncmp(heard(o.peer), "HTTP/1.1 ", 9), 0);
	end(&o);
}

static void
leave_to_send_is_given_before_the_upstream_is_asked(void **state)
{
	struct owner o;

	(void)state;
	begin(&o, "made:");
	say(&o,
	    HEAD("Content-Length: 5\r\n"
		 "Expect: 100-continue\r\n"));
	assert_string_equal(heard(o.peer), "HTTP/1.1 100 Continue\r\n\r\n");
	assert_int_equal(o.origin, -1);
	say(&o, "line\n");
	assert_null(strcasestr(heard(o.origin), "expect"));
	end(&o);
}

static void
refusal_for_git_of_a_whole_request_has_a_length(void **state)
{
	struct owner o;

	(void)state;
	begin(&o, NULL);
	say(&o, HEAD("Content-Length: 9\r\n") "line\nrest");
	const char *got = heard(o.peer);
	assert_non_null(strstr(got, "HTTP/1.1 200 OK\r\n"));
	assert_non_null(strstr(got, "Content-Length: 15\r\n"));
	assert_non_null(strstr(got, "\r\nCache-Control: no-cache\r\n"));
	assert_non_null(strstr(got, "\r\nDuenna-Reason: "));
	assert_non_null(strstr(got, "\r\n\r\nat once;at last"));
	assert_null(strcasestr(got, "connection: close"));
	assert_int_equal(o.phase, EXCHANGE_DONE);
	assert_true(exchange_may_continue(&o.x));
	assert_int_equal(o.origin, -1);
	end(&o);
}

/* That it fails asks for no close; that somebody else did is not forgotten. */
static void
refusal_for_git_closes_what_was_to_close(void **state)
{
	struct owner o;

	(void)state;
	begin(&o, NULL);
	say(&o, HEAD("Content-Length: 9\r\n"));
	o.x.close = true;
	say(&o, "line\nrest");
	const char *got = heard(o.peer);
	assert_non_null(strstr(got, "Connection: close\r\n"));
	assert_non_null(strstr(got, "\r\n\r\nat once;at last"));
	assert_int_equal(o.phase, EXCHANGE_DONE);
	assert_false(exchange_may_continue(&o.x));
	end(&o);
}

static void
refusal_for_git_ends_behind_the_request(void **state)
{
	struct owner o;

	(void)state;
	begin(&o, NULL);
	say(&o, HEAD("Transfer-Encoding: chunked\r\n") "7\r\nline\nre\r\n");
	const char *got = heard(o.peer);
	assert_non_null(strstr(got, "Transfer-Encoding: chunked\r\n"));
	assert_non_null(strstr(got, "\r\n\r\n8\r\nat once;\r\n"));
	assert_null(strcasestr(got, "connection: close"));
	say(&o, "2\r\nst\r\n");
	assert_string_equal(heard(o.peer), "");
	assert_int_equal(o.phase, EXCHANGE_REFUSE);
	say(&o, "0\r\n\r\n");
	assert_string_equal(heard(o.peer), "7\r\nat last\r\n0\r\n\r\n");
	assert_int_equal(o.phase, EXCHANGE_DONE);
	assert_true(exchange_may_continue(&o.x));
	end(&o);
}

/* What follows is no request, wherever it is read from. */
static void
refusal_for_git_of_a_broken_request_is_cut(void **state)
{
	struct owner o;

	(void)state;
	begin(&o, NULL);
	say(&o, HEAD("Transfer-Encoding: chunked\r\n") "7\r\nline\nre\r\n");
	say(&o, "zz\r\n");
	assert_int_equal(o.phase, EXCHANGE_GONE);
	assert_null(strstr(heard(o.peer), "at last"));
	end(&o);
}

/* So much is read, no more. */
static void
refusal_for_git_reads_no_more_than_its_limit(void **state)
{
	struct owner o;
	char part[1024];

	(void)state;
	memset(part, 'x', sizeof(part) - 1);
	part[sizeof(part) - 1] = '\0';
	begin(&o, NULL);
	say(&o, HEAD("Content-Length: 99999999999\r\n") "line\n");
	o.x.drained = ((uint64_t)LIMIT_PUSH_DRAIN_MIB << 20) - sizeof(part);
	say(&o, part);
	assert_int_equal(o.phase, EXCHANGE_REFUSE);
	say(&o, part);
	assert_int_equal(o.phase, EXCHANGE_GONE);
	end(&o);
}

/* Its clock so much later, and the timers that are due. */
static void
later(struct owner *o, uint64_t ms)
{
	clock_set(clock_ms() + ms, 1);
	timer_fire_due();
	run(o);
}

/* What makes a refused push wait is what makes an allowed one: silence. */
static void
refusal_for_git_ends_with_silence(void **state)
{
	struct owner o;

	(void)state;
	clock_set(1000, 1);
	begin(&o, NULL);
	say(&o, HEAD("Content-Length: 99999999999\r\n") "line\n");
	later(&o, LIMIT_IDLE_MS - 1);
	say(&o, "x");
	later(&o, LIMIT_IDLE_MS - 1);
	assert_int_equal(o.phase, EXCHANGE_REFUSE);
	later(&o, 1);
	assert_int_equal(o.phase, EXCHANGE_GONE);
	end(&o);
	clock_set(0, 0);
}

static void
refusal_for_git_has_an_end_of_time(void **state)
{
	struct owner o;

	(void)state;
	clock_set(1000, 1);
	begin(&o, NULL);
	say(&o, HEAD("Content-Length: 99999999999\r\n") "line\n");
	for (int i = 0; i < LIMIT_PUSH_DRAIN_MS / 1000 - 1; i++) {
		later(&o, 1000);
		say(&o, "x");
	}
	assert_int_equal(o.phase, EXCHANGE_REFUSE);
	later(&o, 1000);
	assert_int_equal(o.phase, EXCHANGE_GONE);
	end(&o);
	clock_set(0, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_body_goes_up_instead_of_the_clients),
		cmocka_unit_test(own_body_that_is_cut_has_no_end_upstream),
		cmocka_unit_test(
		    leave_to_send_is_given_before_the_upstream_is_asked),
		cmocka_unit_test(
		    refusal_for_git_of_a_whole_request_has_a_length),
		cmocka_unit_test(refusal_for_git_closes_what_was_to_close),
		cmocka_unit_test(refusal_for_git_ends_behind_the_request),
		cmocka_unit_test(refusal_for_git_of_a_broken_request_is_cut),
		cmocka_unit_test(refusal_for_git_reads_no_more_than_its_limit),
		cmocka_unit_test(refusal_for_git_ends_with_silence),
		cmocka_unit_test(refusal_for_git_has_an_end_of_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
