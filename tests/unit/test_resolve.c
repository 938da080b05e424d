/* SPDX-License-Identifier: Apache-2.0 */
/* The resolver against a scripted server on loopback. */
#include <arpa/inet.h>
#include <sys/socket.h>

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/rd.h"
#include "base/wr.h"
#include "dial/lines.h"
#include "dial/resolve.h"
#include "net/timer.h"

#define TYPE_A 1
#define TYPE_CNAME 5
#define TYPE_AAAA 28

/* How the server answers a question of one type. */
enum how {
	ANSWER,	     /* what `n` says */
	SILENT,	     /* not at all */
	WRONG_ID,    /* with the id of somebody else, then not again */
	WRONG_NAME,  /* to another question */
	TRUNCATED,   /* TC over UDP, all of it over TCP */
	SERVFAIL,    /* rcode 2 */
	NXDOMAIN,    /* rcode 3 */
	REFUSED,     /* rcode 5 */
	NODATA,	     /* no record */
	GARBAGE,     /* a record that is longer than the message */
	OTHER_OWNER, /* an address of another name */
};

struct script {
	enum how how;
	unsigned n;	  /* addresses */
	unsigned n_cname; /* aliases before them */
	bool loop;	  /* the aliases name each other */
};

struct server {
	int udp, tcp;
	uint16_t port;
	struct event *readable, *acceptable;
	struct script a, aaaa;
	unsigned n_questions, n_tcp;
	char last[256]; /* the name asked for, as text */
	bool mixed;	/* some question was not canonical */
};

/* All that was told, and whether the loop ends when more is to come. */
struct result {
	unsigned n_done;
	bool at_first;
	struct resolved answer;
};

static struct loop *loop;

static void
name_text(struct slice wire, char *out, size_t max)
{
	struct rd r = rd_of(wire);
	size_t n = 0;

	for (uint8_t len; (len = rd_u8(&r)) != 0;) {
		struct slice label = rd_bytes(&r, len);
		assert_true(n + label.n + 1 < max);
		memcpy(out + n, label.p, label.n);
		n += label.n;
		out[n++] = '.';
	}
	out[n == 0 ? 0 : n - 1] = '\0';
}

static void
put_name(struct wr *w, const char *name)
{
	for (const char *dot; *name != '\0'; name = dot + (*dot == '.')) {
		for (dot = name; *dot != '.' && *dot != '\0';)
			dot++;
		wr_slice8(w, slice_of(name, (size_t)(dot - name)));
	}
	wr_u8(w, 0);
}

static void
put_record(struct wr *w, const char *owner, uint16_t type, struct slice data)
{
	put_name(w, owner);
	wr_u16(w, type);
	wr_u16(w, 1);
	wr_u32(w, 0);
	wr_slice16(w, data);
}

static void
put_alias(struct wr *w, const char *owner, const char *target)
{
	uint8_t bytes[256];
	struct wr data = wr_of(bytes, sizeof(bytes));

	put_name(&data, target);
	put_record(w, owner, TYPE_CNAME, wr_slice(&data));
}

/* The records of an answer; returns how many. */
static uint16_t
put_records(struct wr *w, const struct script *s, const char *name,
    uint16_t type)
{
	char owner[300], next[300];
	uint16_t n = 0;

	snprintf(owner, sizeof(owner), "%s", name);
	for (unsigned i = 0; i < s->n_cname; i++, n++) {
		snprintf(next, sizeof(next), s->loop ? "c%u.test" : "c%u.test",
		    s->loop ? i % 2 : i);
		put_alias(w, owner, next);
		memcpy(owner, next, sizeof(owner));
	}
	for (unsigned i = 0; i < s->n; i++, n++) {
		uint8_t v4[4] = { 192, 0, 2, (uint8_t)i };
		uint8_t v6[16] = { 0x20, 1, 0xd, 0xb8, [15] = (uint8_t)i };
		put_record(w, s->how == OTHER_OWNER ? "evil.test" : owner, type,
		    type == TYPE_A ? slice_of(v4, 4) : slice_of(v6, 16));
	}
	return n;
}

static size_t
answer(struct server *sv, struct slice question, bool tcp, uint8_t *out,
    size_t max)
{
	struct rd r = rd_of(question);
	uint16_t id = rd_u16(&r);
	rd_bytes(&r, 10);
	struct slice rest = r.in;
	size_t at = 0;

	while (at < rest.n && rest.p[at] != 0)
		at += rest.p[at] + 1U;
	name_text(slice_first(rest, at + 1), sv->last, sizeof(sv->last));
	for (const char *p = sv->last; *p != '\0'; p++)
		sv->mixed |= *p >= 'A' && *p <= 'Z';
	uint16_t type = (uint16_t)(rest.p[at + 1] << 8 | rest.p[at + 2]);
	const struct script *s = type == TYPE_A ? &sv->a : &sv->aaaa;
	bool cut = s->how == TRUNCATED && !tcp;

	sv->n_questions++;
	sv->n_tcp += tcp;
	if (s->how == SILENT)
		return 0;
	uint16_t flags = 0x8180;
	if (s->how == SERVFAIL)
		flags |= 2;
	if (s->how == NXDOMAIN)
		flags |= 3;
	if (s->how == REFUSED)
		flags |= 5;
	if (cut)
		flags |= 0x200;
	struct wr w = wr_of(out, max);
	wr_u16(&w, s->how == WRONG_ID ? (uint16_t)(id ^ 0x5555) : id);
	wr_u16(&w, flags);
	wr_u16(&w, 1);
	size_t count_at = w.n;
	wr_u16(&w, 0);
	wr_u32(&w, 0);
	put_name(&w, s->how == WRONG_NAME ? "evil.test" : sv->last);
	wr_u16(&w, type);
	wr_u16(&w, 1);
	if (s->how == GARBAGE) {
		out[count_at + 1] = 1;
		put_name(&w, sv->last);
		wr_u16(&w, type);
		wr_u16(&w, 1);
		wr_u32(&w, 0);
		wr_u16(&w, 400);
	} else if (!cut && (flags & 15) == 0 && s->how != NODATA) {
		uint16_t n = put_records(&w, s, sv->last, type);
		out[count_at] = (uint8_t)(n >> 8);
		out[count_at + 1] = (uint8_t)n;
	}
	assert_false(w.bad);
	return w.n;
}

static void
on_udp(evutil_socket_t fd, short what, void *arg)
{
	struct server *sv = arg;
	struct sockaddr_storage from;
	socklen_t n_from = sizeof(from);
	uint8_t in[2048], out[8192];
	(void)what;

	ssize_t n =
	    recvfrom(fd, in, sizeof(in), 0, (struct sockaddr *)&from, &n_from);
	assert_true(n > 12);
	size_t size =
	    answer(sv, slice_of(in, (size_t)n), false, out, sizeof(out));
	if (size != 0)
		assert_int_equal(sendto(fd, out, size, 0,
				     (struct sockaddr *)&from, n_from),
		    size);
}

/* A TCP connection of the resolver: questions one behind the other. */
struct conn {
	struct server *server;
	struct event *readable;
	uint8_t in[4096];
	size_t n;
};

static void
on_conn(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = arg;
	uint8_t out[8194];
	(void)what;

	ssize_t n = recv(fd, c->in + c->n, sizeof(c->in) - c->n, 0);
	if (n <= 0) {
		event_free(c->readable);
		close(fd);
		free(c);
		return;
	}
	c->n += (size_t)n;
	while (c->n >= 2 && c->n >= 2U + (c->in[0] << 8 | c->in[1])) {
		size_t used = 2U + (c->in[0] << 8 | c->in[1]);
		size_t size = answer(c->server, slice_of(c->in + 2, used - 2),
		    true, out + 2, sizeof(out) - 2);
		out[0] = (uint8_t)(size >> 8);
		out[1] = (uint8_t)size;
		assert_int_equal(send(fd, out, size + 2, 0), size + 2);
		memmove(c->in, c->in + used, c->n - used);
		c->n -= used;
	}
}

static void
on_tcp(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = calloc(1, sizeof(*c));
	int got = accept(fd, NULL, NULL);
	(void)what;

	assert_non_null(c);
	assert_true(got >= 0);
	c->server = arg;
	c->readable =
	    event_new(loop_base(loop), got, EV_READ | EV_PERSIST, on_conn, c);
	event_add(c->readable, NULL);
}

static void
server_init(struct server *sv)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(at);

	*sv = (struct server){ .udp = -1 };
	sv->tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* The port that UDP gets may be somebody's in TCP: then another one. */
	for (int i = 0; i < 100; i++) {
		sv->udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		at.sin_port = 0;
		assert_int_equal(bind(sv->udp, (struct sockaddr *)&at,
				     sizeof(at)),
		    0);
		assert_int_equal(getsockname(sv->udp, (struct sockaddr *)&at,
				     &n),
		    0);
		if (bind(sv->tcp, (struct sockaddr *)&at, sizeof(at)) == 0)
			break;
		close(sv->udp);
		sv->udp = -1;
	}
	assert_true(sv->udp >= 0);
	assert_int_equal(listen(sv->tcp, 8), 0);
	sv->port = ntohs(at.sin_port);
	sv->readable = event_new(loop_base(loop), sv->udp, EV_READ | EV_PERSIST,
	    on_udp, sv);
	sv->acceptable = event_new(loop_base(loop), sv->tcp,
	    EV_READ | EV_PERSIST, on_tcp, sv);
	event_add(sv->readable, NULL);
	event_add(sv->acceptable, NULL);
}

static void
server_release(struct server *sv)
{
	/* Connections of the resolver, gone by now, see their end here. */
	for (int i = 0; i < 4; i++)
		event_base_loop(loop_base(loop), EVLOOP_NONBLOCK);
	event_free(sv->readable);
	event_free(sv->acceptable);
	close(sv->udp);
	close(sv->tcp);
}

static struct servers
list_of(const struct server *sv)
{
	return (struct servers){ .n = 1,
		.ips = { ip_v4(127, 0, 0, 1) },
		.ports = { sv->port } };
}

static void
on_done(const struct resolved *answer_, void *arg)
{
	struct result *result = arg;

	size_t n = result->answer.n;

	/* A family of which nothing comes changes nothing. */
	assert_true(result->n_done == 0 || result->answer.more);
	assert_true(result->n_done == 0 || answer_->reason == REASON_ALLOW);
	result->n_done++;
	result->answer.reason = answer_->reason;
	result->answer.detail = answer_->detail;
	result->answer.more = answer_->more;
	memcpy(result->answer.ips + n, answer_->ips,
	    answer_->n * sizeof(answer_->ips[0]));
	result->answer.n += answer_->n;
	if (result->at_first || !answer_->more)
		loop_stop(loop);
}

static void
on_nothing(const struct resolved *answer_, void *arg)
{
	(void)answer_;
	(void)arg;
	fail_msg("a cancelled resolution was told");
}

/* Resolve ok.test and wait for what comes; returns the time that it took. */
static uint64_t
run(struct resolver *r, const struct server *sv, struct result *result)
{
	struct servers s = list_of(sv);
	enum err err;
	uint64_t began = clock_ms();

	*result = (struct result){ 0 };
	assert_non_null(
	    resolve_start(r, SLICE("ok.test"), &s, on_done, result, &err));
	assert_int_equal(result->n_done, 0);
	loop_run(loop);
	assert_in_range(result->n_done, 1, 2);
	assert_false(result->answer.more);
	return clock_ms() - began;
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

/* clang-format off */
static const struct {
	const char *name;
	struct script a, aaaa;
	enum reason reason;
	size_t n;
	const char *detail;
} cases[] = {
	{ "both families", { ANSWER, 2, 0, 0 }, { ANSWER, 1, 0, 0 }, REASON_ALLOW, 3, "" },
	{ "no AAAA", { ANSWER, 1, 0, 0 }, { NODATA, 0, 0, 0 }, REASON_ALLOW, 1, "" },
	{ "no A", { NODATA, 0, 0, 0 }, { ANSWER, 2, 0, 0 }, REASON_ALLOW, 2, "" },
	{ "AAAA fails", { ANSWER, 1, 0, 0 }, { SERVFAIL, 0, 0, 0 }, REASON_ALLOW, 1, "" },
	{ "too many are cut", { ANSWER, 100, 0, 0 }, { ANSWER, 100, 0, 0 }, REASON_ALLOW, 64, "" },
	{ "over TCP", { TRUNCATED, 40, 0, 0 }, { NODATA, 0, 0, 0 }, REASON_ALLOW, 32, "" },
	{ "aliases", { ANSWER, 1, 3, 0 }, { NODATA, 0, 0, 0 }, REASON_ALLOW, 1, "" },
	{ "thirty aliases", { ANSWER, 1, 30, 0 }, { NODATA, 0, 0, 0 }, REASON_UP_RESOLVE, 0, "malformed or unusable answer" },
	{ "aliases in a circle", { ANSWER, 0, 4, 1 }, { NODATA, 0, 0, 0 }, REASON_UP_RESOLVE, 0, "the name has no address" },
	{ "no such name", { NXDOMAIN, 0, 0, 0 }, { NXDOMAIN, 0, 0, 0 }, REASON_UP_RESOLVE, 0, "no such name" },
	{ "SERVFAIL", { SERVFAIL, 0, 0, 0 }, { SERVFAIL, 0, 0, 0 }, REASON_UP_RESOLVE, 0, "the resolver failed, refused or is away" },
	{ "refused", { REFUSED, 0, 0, 0 }, { REFUSED, 0, 0, 0 }, REASON_UP_RESOLVE, 0, "the resolver failed, refused or is away" },
	{ "nothing there", { NODATA, 0, 0, 0 }, { NODATA, 0, 0, 0 }, REASON_UP_RESOLVE, 0, "the name has no address" },
	{ "malformed", { GARBAGE, 0, 0, 0 }, { NODATA, 0, 0, 0 }, REASON_UP_RESOLVE, 0, "malformed or unusable answer" },
	{ "address of another name", { OTHER_OWNER, 1, 0, 0 }, { NODATA, 0, 0, 0 }, REASON_UP_RESOLVE, 0, "the name has no address" },
};
/* clang-format on */

static void
resolve_answers_each_case(void **state)
{
	enum err err;
	(void)state;

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct resolver *r = resolver_new(loop, &err);
		struct server sv;
		struct result result;

		print_message("# %s\n", cases[i].name);
		server_init(&sv);
		sv.a = cases[i].a;
		sv.aaaa = cases[i].aaaa;
		run(r, &sv, &result);
		assert_int_equal(result.answer.reason, cases[i].reason);
		assert_int_equal(result.answer.n, cases[i].n);
		assert_string_equal(result.answer.detail, cases[i].detail);
		assert_string_equal(sv.last, "ok.test");
		assert_false(sv.mixed);
		resolver_free(r);
		server_release(&sv);
	}
}

/* DN-16, DN-18: who is silent or answers to something else ends in time. */
static void
resolve_ends_in_time_without_a_fitting_answer(void **state)
{
	static const enum how hows[] = { SILENT, WRONG_ID, WRONG_NAME };
	enum err err;
	(void)state;

	struct server sv[COUNT_OF(hows)];
	struct result result[COUNT_OF(hows)] = { 0 };
	struct resolver *r = resolver_new(loop, &err);
	uint64_t began = clock_ms();

	for (size_t i = 0; i < COUNT_OF(hows); i++) {
		server_init(&sv[i]);
		sv[i].a = sv[i].aaaa = (struct script){ hows[i], 1, 0, false };
		struct servers s = list_of(&sv[i]);
		assert_non_null(resolve_start(r, SLICE("ok.test"), &s, on_done,
		    &result[i], &err));
	}
	for (size_t i = 0; i < COUNT_OF(hows); i++)
		while (result[i].n_done == 0)
			event_base_loop(loop_base(loop), EVLOOP_ONCE);
	assert_true(clock_ms() - began <= LIMIT_RESOLVE_MS + 500);
	resolver_free(r);
	for (size_t i = 0; i < COUNT_OF(hows); i++) {
		assert_int_equal(result[i].answer.reason, REASON_UP_RESOLVE);
		assert_true(sv[i].n_questions >= 2);
		server_release(&sv[i]);
	}
}

/* RFC 8305 section 3: a family that is late is not waited for. */
static void
resolve_does_not_wait_for_a_family_that_is_late(void **state)
{
	enum err err;
	struct resolver *r = resolver_new(loop, &err);
	struct server sv;
	struct result result;
	(void)state;

	server_init(&sv);
	struct servers s = list_of(&sv);
	for (int i = 0; i < 2; i++) {
		const struct script silent = { SILENT, 0, 0, false };
		const struct script one = { ANSWER, 1, 0, false };
		sv.a = i == 0 ? one : silent;
		sv.aaaa = i == 0 ? silent : one;
		result = (struct result){ .at_first = true };
		assert_non_null(resolve_start(r, SLICE("ok.test"), &s, on_done,
		    &result, &err));
		loop_run(loop);
		assert_int_equal(result.answer.reason, REASON_ALLOW);
		assert_int_equal(result.answer.n, 1);
		assert_int_equal(result.answer.ips[0].family, i == 0 ? 4 : 6);
		assert_true(result.answer.more);
		/* It is asked for again after a second, and then told. */
		sv.a = sv.aaaa = one;
		loop_run(loop);
		assert_int_equal(result.n_done, 2);
		assert_int_equal(result.answer.n, 2);
		assert_int_equal(result.answer.ips[1].family, i == 0 ? 6 : 4);
		assert_false(result.answer.more);
	}
	resolver_free(r);
	server_release(&sv);
}

/* What comes of neither family, or of the second one after all that time. */
static void
resolve_ends_without_the_family_that_never_comes(void **state)
{
	enum err err;
	struct resolver *r = resolver_new(loop, &err);
	struct server sv;
	struct result result;
	(void)state;

	server_init(&sv);
	sv.a = (struct script){ ANSWER, 1, 0, false };
	sv.aaaa = (struct script){ SILENT, 0, 0, false };
	run(r, &sv, &result);
	assert_int_equal(result.n_done, 2);
	assert_int_equal(result.answer.n, 1);
	/* Forgotten between the two: never told again. */
	struct servers s = list_of(&sv);
	result = (struct result){ .at_first = true };
	struct resolution *q =
	    resolve_start(r, SLICE("ok.test"), &s, on_done, &result, &err);
	assert_non_null(q);
	loop_run(loop);
	assert_true(result.answer.more);
	resolve_cancel(q);
	resolver_free(r);
	assert_int_equal(result.n_done, 1);
	server_release(&sv);
}

/* Turn the loop until the server has had so many questions. */
static void
wait_for_questions(const struct server *sv, unsigned n)
{
	while (sv->n_questions < n)
		event_base_loop(loop_base(loop), EVLOOP_ONCE);
}

/* The network changes while a question is out: it is asked once more. */
static void
resolve_asks_once_more_when_the_network_changes(void **state)
{
	enum err err;
	struct resolver *r = resolver_new(loop, &err);
	struct server old, new;
	struct result result = { 0 };
	(void)state;

	server_init(&old);
	server_init(&new);
	old.a = old.aaaa = (struct script){ SILENT, 0, 0, false };
	new.a = new.aaaa = (struct script){ ANSWER, 1, 0, false };
	struct servers s = list_of(&old), t = list_of(&new);
	resolver_set_host(r, &s);
	assert_non_null(
	    resolve_start(r, SLICE("ok.test"), NULL, on_done, &result, &err));
	wait_for_questions(&old, 2);
	resolver_set_host(r, &s); /* the same: no change */
	event_base_loop(loop_base(loop), EVLOOP_NONBLOCK);
	assert_int_equal(old.n_questions, 2);
	resolver_set_host(r, &t);
	loop_run(loop);
	assert_int_equal(result.answer.reason, REASON_ALLOW);
	assert_int_equal(result.answer.n, 2);
	assert_int_equal(old.n_questions, 2);
	assert_int_equal(new.n_questions, 2);

	/* The host has another address, and then another list. */
	result = (struct result){ 0 };
	resolver_set_host(r, &s);
	assert_non_null(
	    resolve_start(r, SLICE("ok.test"), NULL, on_done, &result, &err));
	wait_for_questions(&old, 4);
	resolver_network_changed(r);
	resolver_set_host(r, &t);
	loop_run(loop);
	assert_int_equal(result.answer.reason, REASON_ALLOW);
	assert_int_equal(old.n_questions, 4);
	assert_int_equal(new.n_questions, 4);

	/* A list of the owner's own. */
	result = (struct result){ 0 };
	assert_non_null(
	    resolve_start(r, SLICE("ok.test"), &s, on_done, &result, &err));
	wait_for_questions(&old, 6);
	clock_set(1000, 0);
	resolver_network_changed(r);
	clock_set(1000 + RESOLVE_SETTLE_MS, 0);
	timer_fire_due();
	clock_set(0, 0);
	wait_for_questions(&old, 8);
	/* Once, not for ever. */
	resolver_network_changed(r);
	old.a = old.aaaa = (struct script){ NXDOMAIN, 0, 0, false };
	loop_run(loop);
	assert_int_equal(result.answer.reason, REASON_UP_RESOLVE);
	assert_string_equal(result.answer.detail, "no such name");
	resolver_free(r);
	server_release(&old);
	server_release(&new);
}

/* What one family has said already is not asked again. */
static void
resolve_keeps_what_it_has_when_the_network_changes(void **state)
{
	enum err err;
	struct resolver *r = resolver_new(loop, &err);
	struct server sv;
	struct result result = { .at_first = true };
	(void)state;

	server_init(&sv);
	sv.a = (struct script){ ANSWER, 1, 0, false };
	sv.aaaa = (struct script){ SILENT, 0, 0, false };
	struct servers s = list_of(&sv);
	assert_non_null(
	    resolve_start(r, SLICE("ok.test"), &s, on_done, &result, &err));
	loop_run(loop);
	assert_true(result.answer.more);
	resolver_network_changed(r);
	assert_int_equal(result.n_done, 2);
	assert_int_equal(result.answer.n, 1);
	assert_int_equal(sv.n_questions, 2);
	resolver_free(r);
	server_release(&sv);
}

/* One that is cancelled is never told, and may outlive its asker in c-ares. */
static void
resolve_cancelled_is_not_told(void **state)
{
	enum err err;
	struct resolver *r = resolver_new(loop, &err);
	struct server sv;
	struct result result;
	(void)state;

	server_init(&sv);
	sv.a = sv.aaaa = (struct script){ ANSWER, 1, 0, false };
	struct servers s = list_of(&sv);
	for (int i = 0; i < 10; i++) {
		struct resolution *q = resolve_start(r, SLICE("ok.test"), &s,
		    on_nothing, NULL, &err);
		assert_non_null(q);
		resolve_cancel(q);
	}
	run(r, &sv, &result);
	assert_int_equal(result.answer.n, 2);
	/* And one that nobody ever answers is dropped with the resolver. */
	sv.a = sv.aaaa = (struct script){ SILENT, 0, 0, false };
	assert_non_null(
	    resolve_start(r, SLICE("ok.test"), &s, on_nothing, NULL, &err));
	event_base_loop(loop_base(loop), EVLOOP_NONBLOCK);
	resolver_free(r);
	server_release(&sv);
}

/* Each list of servers is asked for its own names, and by nobody else. */
static void
resolve_keeps_lists_of_servers_apart(void **state)
{
	enum err err;
	struct resolver *r = resolver_new(loop, &err);
	struct server sv[LINES_MAX + 2];
	struct result result;
	(void)state;

	for (size_t i = 0; i < COUNT_OF(sv); i++) {
		server_init(&sv[i]);
		sv[i].a = (struct script){ ANSWER, (unsigned)i + 1, 0, false };
		sv[i].aaaa = (struct script){ NODATA, 0, 0, false };
	}
	/* More lists than lines: idle ones are taken over. */
	for (size_t i = 0; i < COUNT_OF(sv); i++) {
		run(r, &sv[i], &result);
		assert_int_equal(result.answer.n, i + 1);
	}
	for (size_t i = 0; i < COUNT_OF(sv); i++)
		assert_int_equal(sv[i].n_questions, 2);

	/* All busy with other lists: refused, not sent to a wrong server. */
	for (size_t i = 0; i < LINES_MAX; i++) {
		struct servers s = list_of(&sv[i]);
		sv[i].a = sv[i].aaaa = (struct script){ SILENT, 0, 0, false };
		assert_non_null(resolve_start(r, SLICE("ok.test"), &s,
		    on_nothing, NULL, &err));
	}
	struct servers s = list_of(&sv[LINES_MAX]);
	assert_null(
	    resolve_start(r, SLICE("ok.test"), &s, on_nothing, NULL, &err));
	assert_int_equal(err, ERR_FULL);
	resolver_free(r);
	for (size_t i = 0; i < COUNT_OF(sv); i++)
		server_release(&sv[i]);
}

/* DN-19: the environment and files of the host are not consulted. */
static void
resolve_ignores_the_environment(void **state)
{
	enum err err;
	struct server sv;
	struct result result;
	(void)state;

	setenv("LOCALDOMAIN", "evil.test", 1);
	setenv("RES_OPTIONS", "ndots:5", 1);
	setenv("HOSTALIASES", "/dev/null", 1);
	struct resolver *r = resolver_new(loop, &err);
	unsetenv("LOCALDOMAIN");
	unsetenv("RES_OPTIONS");
	unsetenv("HOSTALIASES");
	server_init(&sv);
	sv.a = (struct script){ NXDOMAIN, 0, 0, false };
	sv.aaaa = sv.a;
	run(r, &sv, &result);
	assert_int_equal(result.answer.reason, REASON_UP_RESOLVE);
	assert_string_equal(sv.last, "ok.test");
	assert_int_equal(sv.n_questions, 2);

	/* No server at all, and one that refuses: at once, and no other. */
	struct servers none = { .n = 1,
		.ips = { ip_v4(127, 0, 0, 1) },
		.ports = { 1 } };
	result = (struct result){ 0 };
	assert_non_null(
	    resolve_start(r, SLICE("ok.test"), &none, on_done, &result, &err));
	loop_run(loop);
	assert_string_equal(result.answer.detail,
	    "the resolver failed, refused or is away");
	resolver_free(r);
	server_release(&sv);
}

/* The next server of the list is asked when the first does not answer. */
static void
resolve_asks_the_next_server(void **state)
{
	enum err err;
	struct resolver *r = resolver_new(loop, &err);
	struct server silent, good;
	struct result result = { 0 };
	(void)state;

	server_init(&silent);
	server_init(&good);
	silent.a = silent.aaaa = (struct script){ SERVFAIL, 0, 0, false };
	good.a = good.aaaa = (struct script){ ANSWER, 1, 0, false };
	struct servers s = { .n = 2,
		.ips = { ip_v4(127, 0, 0, 1), ip_v4(127, 0, 0, 1) },
		.ports = { silent.port, good.port } };
	resolver_set_host(r, &s);
	assert_non_null(
	    resolve_start(r, SLICE("ok.test"), NULL, on_done, &result, &err));
	loop_run(loop);
	assert_int_equal(result.answer.reason, REASON_ALLOW);
	assert_int_equal(silent.n_questions, 2);
	resolver_free(r);
	server_release(&silent);
	server_release(&good);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(resolve_answers_each_case),
		cmocka_unit_test(resolve_ends_in_time_without_a_fitting_answer),
		cmocka_unit_test(
		    resolve_does_not_wait_for_a_family_that_is_late),
		cmocka_unit_test(
		    resolve_ends_without_the_family_that_never_comes),
		cmocka_unit_test(
		    resolve_asks_once_more_when_the_network_changes),
		cmocka_unit_test(
		    resolve_keeps_what_it_has_when_the_network_changes),
		cmocka_unit_test(resolve_cancelled_is_not_told),
		cmocka_unit_test(resolve_keeps_lists_of_servers_apart),
		cmocka_unit_test(resolve_ignores_the_environment),
		cmocka_unit_test(resolve_asks_the_next_server),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
