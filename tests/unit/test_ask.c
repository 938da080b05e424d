/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's request, with a worker, keeper and scribe of the test's own. */
#include <arpa/inet.h>
#include <sys/socket.h>

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "audit/facts_event.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/rd.h"
#include "base/wr.h"
#include "dial/ask.h"
#include "net/timer.h"
#include "policy_bed.h"
#include "priv/ops.h"
#include "priv/spawn.h"
#include "priv/who.h"

#define SANDBOX 7
#define GENERATION 3
#define DIGEST "sha256:00"
#define EVENTS_MAX 128

/* Rule 0 is exact, 1 has a wildcard, 2 a literal, 3 plain HTTP, 4 denies. */
static const char template[] =
    "version: 1\n"
    "policies:\n"
    "  p:\n"
    "    rules:\n"
    "      - {name: exact, allow: 'https://ok.test:PORT', addresses: "
    "[127.0.0.1]}\n"
    "      - {name: wild, allow: 'https://*.wild.test:PORT', addresses: "
    "[127.0.0.1]}\n"
    "      - {name: literal, allow: 'https://127.0.0.1:PORT'}\n"
    "      - {name: plain, allow: 'http://plain.test:PORT', addresses: "
    "[127.0.0.1]}\n"
    "      - {name: cut, deny: 'https://cut.wild.test:PORT/**'}\n"
    "      - {name: private, allow: 'https://private.test:PORT'}\n"
    "      - {name: asked, allow: 'https://asked.test:PORT'}\n"
    "      - {name: far, allow: 'https://far.test:PORT'}\n"
    "      - {name: few, allow: 'https://*.few.test:PORT', addresses: "
    "[127.0.0.1], limits: {names: 2}}\n"
    "      - {name: seen, allow: 'https://ok.test:PORT/seen', report: true}\n";

static const char config_template[] =
    "version: 1\n"
    "upstream:\n"
    "  - names: [far.test]\n"
    "    proxy: http://127.0.0.1:PORT\n"
    "  - {names: [private.test], addresses: [10.0.0.1, 192.168.0.1]}\n"
    "  - {names: [asked.test], resolvers: ['127.0.0.1:1']}\n"
    "  - {names: ['**'], addresses: [127.0.0.1]}\n";

enum rule {
	EXACT,
	WILD,
	LITERAL,
	PLAIN,
	CUT,
	PRIVATE,
	ASKED,
	FAR,
	FEW,
	SEEN,
};

/* What the other roles saw, and what they do. */
struct roles {
	struct channel *worker, *keeper, *scribe; /* our ends, theirs below */
	struct channel *dialer_worker, *dialer_keeper, *dialer_scribe;
	enum reason keeper_says;
	bool no_memory; /* for the dialer to keep a request */
	bool keeper_is_silent, scribe_is_silent, scribe_is_full;
	unsigned n_told;
	struct {
		uint64_t cookie;
		uint32_t sandbox, generation, rule;
		uint16_t port;
		char host[256], digest[80], flow[80];
	} told; /* the last */
	size_t n_events;
	struct event events[EVENTS_MAX];
	uint8_t bytes[EVENTS_MAX][2048];
};

/* What a worker was answered. */
struct dialed {
	unsigned n;
	bool lost;
	enum reason reason;
	char detail[256], peer[64];
	uint64_t cookie;
	int fd;
};

static struct loop *loop;
static struct bed bed;
static struct buf image; /* a copy: the asks own their program */
static struct resolver *resolver;
static struct recorder *recorder;
static struct asks *asks;
static struct roles roles;
static int listener;
static uint16_t port;

static void
turn(void)
{
	for (int i = 0; i < 30; i++)
		event_base_loop(loop_base(loop), EVLOOP_NONBLOCK);
}

static void
on_keeper(struct channel *c, struct msg *m, void *arg)
{
	uint8_t body[2] = { 0, (uint8_t)roles.keeper_says };
	struct msg told = { .op = OP_TOLD,
		.body = slice_of(body, sizeof(body)) };
	struct who who;
	enum err err;
	(void)arg;

	if (m == NULL)
		return;
	assert_int_equal(m->op, OP_TELL);
	struct rd r = rd_of(m->body);
	roles.n_told++;
	assert_true(who_read(&r, &who));
	roles.told.sandbox = who.sandbox;
	roles.told.generation = who.generation;
	snprintf(roles.told.digest, sizeof(roles.told.digest), "%.*s",
	    SLICE_ARG(who.digest));
	snprintf(roles.told.flow, sizeof(roles.told.flow), "%.*s",
	    SLICE_ARG(who.flow));
	roles.told.cookie = rd_u64(&r);
	roles.told.rule = rd_u32(&r);
	roles.told.port = rd_u16(&r);
	struct slice host = rd_slice8(&r);
	assert_true(rd_is_done(&r));
	snprintf(roles.told.host, sizeof(roles.told.host), "%.*s",
	    SLICE_ARG(host));
	told.id = m->id;
	if (!roles.keeper_is_silent)
		assert_int_equal(channel_send(c, &told, &err), 0);
}

static void
on_scribe(struct channel *c, struct msg *m, void *arg)
{
	uint8_t written = !roles.scribe_is_full;
	struct msg answer = { .op = OP_WRITTEN, .body = slice_of(&written, 1) };
	enum err err;
	(void)arg;

	if (m == NULL)
		return;
	assert_int_equal(m->op, OP_EVENT);
	if (m->body.n != 0) {
		size_t i = roles.n_events++;
		assert_true(i < EVENTS_MAX && m->body.n <= 2048);
		memcpy(roles.bytes[i], m->body.p, m->body.n);
		assert_true(event_decode(slice_of(roles.bytes[i], m->body.n),
		    &roles.events[i]));
	}
	answer.id = m->id;
	if (m->id != 0 && !roles.scribe_is_silent)
		assert_int_equal(channel_send(c, &answer, &err), 0);
}

static void
on_nobody(struct channel *c, struct msg *m, void *arg)
{
	(void)c;
	(void)arg;
	assert_null(m);
}

static void
on_dial(struct channel *c, struct msg *m, void *arg)
{
	(void)arg;
	if (m == NULL)
		return;
	fails_from(roles.no_memory, false);
	ask_take(asks, c, m);
	fails_from(0, false);
}

static void
on_status(struct channel *c, struct msg *m, void *arg)
{
	(void)c;
	(void)arg;
	recorder_take_msg(recorder, m);
}

static void
link_up(struct channel **ours, channel_on_msg *on_ours, struct channel **theirs,
    channel_on_msg *on_theirs)
{
	enum err err;
	int pair[2];

	assert_int_equal(spawn_pair(pair, &err), 0);
	*ours = channel_new(loop, pair[0], on_ours, NULL, &err);
	*theirs = channel_new(loop, pair[1], on_theirs, NULL, &err);
	assert_non_null(*ours);
	assert_non_null(*theirs);
}

static void
set_status(bool takes)
{
	uint8_t body = takes;
	struct msg m = { .op = OP_STATUS, .body = slice_of(&body, 1) };
	enum err err;

	assert_int_equal(channel_send(roles.scribe, &m, &err), 0);
	turn();
}

static struct program *
own_program(void)
{
	enum err err;
	struct program *p = program_open(buf_slice(&image), &err);

	assert_non_null(p);
	return p;
}

static int
start(void **state)
{
	enum err err;
	(void)state;

	loop = loop_new(&err);
	roles = (struct roles){ 0 };
	resolver = resolver_new(loop, &err);
	recorder = recorder_new(loop, NULL, NULL, &err);
	asks = asks_new(loop, resolver, recorder, &err);
	link_up(&roles.worker, on_nobody, &roles.dialer_worker, on_dial);
	link_up(&roles.keeper, on_keeper, &roles.dialer_keeper, on_nobody);
	link_up(&roles.scribe, on_scribe, &roles.dialer_scribe, on_status);
	recorder_set_channel(recorder, roles.dialer_scribe);
	set_status(true);
	asks_set_keeper(asks, roles.dialer_keeper);
	asks_set_owner(asks, owner_open(buf_slice(&bed.owner_image), &err));
	assert_int_equal(asks_set_name(asks, SANDBOX, SLICE("box"), &err), 0);
	assert_int_equal(asks_set_program(asks, SANDBOX, GENERATION,
			     SLICE(DIGEST), own_program(), &err),
	    0);
	return 0;
}

static int
stop(void **state)
{
	(void)state;
	clock_set(0, 0);
	asks_free(asks);
	recorder_set_channel(recorder, NULL);
	recorder_free(recorder);
	resolver_free(resolver);
	channel_free(roles.worker);
	channel_free(roles.keeper);
	channel_free(roles.scribe);
	channel_free(roles.dialer_worker);
	channel_free(roles.dialer_keeper);
	channel_free(roles.dialer_scribe);
	loop_free(loop);
	return 0;
}

static void
on_dialed(struct msg *m, void *arg)
{
	struct dialed *d = arg;

	d->n++;
	d->lost = m == NULL;
	if (m == NULL)
		return;
	assert_int_equal(m->op, OP_DIALED);
	struct rd r = rd_of(m->body);
	d->reason = (enum reason)rd_u16(&r);
	struct slice detail = rd_slice8(&r), peer = rd_slice8(&r);
	d->cookie = rd_u64(&r);
	assert_true(rd_is_done(&r));
	snprintf(d->detail, sizeof(d->detail), "%.*s", SLICE_ARG(detail));
	snprintf(d->peer, sizeof(d->peer), "%.*s", SLICE_ARG(peer));
	d->fd = msg_take_fd(m, 0);
}

/* Send a request; `d` is filled when it is answered. */
static void
ask_as(const struct who *who, uint32_t rule, const char *host, struct dialed *d)
{
	uint8_t body[512];
	struct wr w = wr_of(body, sizeof(body));
	enum err err;

	*d = (struct dialed){ .fd = -1 };
	who_write(&w, who);
	wr_u32(&w, rule);
	wr_u16(&w, port);
	wr_slice8(&w, slice_of_str(host));
	struct msg m = { .op = OP_DIAL, .body = wr_slice(&w) };
	assert_true(channel_ask(roles.worker, &m, on_dialed, d, &err) != 0);
	turn();
}

static void
ask(uint32_t sandbox, uint32_t generation, uint32_t rule, const char *host,
    struct dialed *d)
{
	const struct who who = { sandbox, generation, SLICE(DIGEST),
		SLICE("w0-1") };

	ask_as(&who, rule, host, d);
}

static const struct event *
last_event(void)
{
	assert_true(roles.n_events != 0);
	return &roles.events[roles.n_events - 1];
}

static void
expect_text(const struct event *e, enum event_field field, const char *want)
{
	char got[512];

	snprintf(got, sizeof(got), "%.*s", SLICE_ARG(event_text_of(e, field)));
	assert_string_equal(got, want);
}

/* The record decides again as it says. */
static void
expect_same_again(const struct event *e)
{
	struct facts facts;

	assert_true(facts_from_event(e, &facts));
	struct verdict v = policy_decide(bed.program, &facts);
	expect_text(e, FIELD_VERDICT, v.allow ? "allow" : "deny");
	expect_text(e, FIELD_REASON, reason_name(v.reason));
}

static void
ask_hands_over_a_socket_that_all_know_of(void **state)
{
	static const struct {
		uint32_t rule;
		const char *host, *name;
	} rows[] = {
		{ EXACT, "", "ok.test" },
		{ EXACT, "ok.test", "ok.test" },
		{ WILD, "x.wild.test", "x.wild.test" },
		{ LITERAL, "", "127.0.0.1" },
		{ PLAIN, "", "plain.test" },
	};
	(void)state;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct dialed d;
		uint64_t cookie = 0;
		socklen_t n = sizeof(cookie);

		ask(SANDBOX, GENERATION, rows[i].rule, rows[i].host, &d);
		assert_int_equal(d.n, 1);
		assert_int_equal(d.reason, REASON_ALLOW);
		assert_string_equal(d.peer, "127.0.0.1");
		assert_true(d.fd >= 0);
		assert_int_equal(getsockopt(d.fd, SOL_SOCKET, SO_COOKIE,
				     &cookie, &n),
		    0);
		assert_int_equal(d.cookie, cookie);
		assert_int_equal(roles.told.cookie, cookie);
		assert_int_equal(roles.told.sandbox, SANDBOX);
		assert_int_equal(roles.told.generation, GENERATION);
		assert_string_equal(roles.told.digest, DIGEST);
		assert_string_equal(roles.told.flow, "w0-1");
		assert_int_equal(roles.told.rule, rows[i].rule);
		assert_int_equal(roles.told.port, port);
		assert_string_equal(roles.told.host, rows[i].name);
		assert_int_equal(roles.n_events, i + 1);
		const struct event *e = last_event();
		assert_int_equal(e->kind, EVENT_DIAL);
		expect_text(e, FIELD_SANDBOX, "box");
		expect_text(e, FIELD_POLICY, "p");
		expect_text(e, FIELD_PROGRAM, DIGEST);
		expect_text(e, FIELD_HOST, rows[i].name);
		expect_text(e, FIELD_PEER_ADDRESS, "127.0.0.1");
		expect_text(e, FIELD_FLOW, "w0-1");
		assert_int_equal(event_number_of(e, FIELD_COOKIE_SOCKET),
		    cookie);
		expect_same_again(e);
		/* Ours is the only one: the origin sees its end. */
		int conn = accept(listener, NULL, NULL);
		char b;
		close(d.fd);
		assert_int_equal(recv(conn, &b, 1, 0), 0);
		close(conn);
	}
}

/* clang-format off */
static const struct {
	const char *name;
	uint32_t sandbox, generation, rule;
	const char *host;
	enum reason reason;
	bool alarm;
	const char *detail;
} refusals[] = {
	{ "unknown sandbox", 8, GENERATION, EXACT, "", REASON_POLICY_NONE, true, "no such sandbox" },
	{ "an older policy", SANDBOX, 2, EXACT, "", REASON_POLICY_CHANGED, false, "the policy has changed" },
	{ "no such rule", SANDBOX, GENERATION, 99, "ok.test", REASON_INTERNAL, true, "the policy does not allow this dial" },
	{ "no such rule, no name", SANDBOX, GENERATION, 99, "", REASON_HTTP_HOST_DENIED, true, "the policy does not allow this dial" },
	{ "another name than the rule's", SANDBOX, GENERATION, EXACT, "evil.test", REASON_HTTP_HOST_DENIED, true, "the policy does not allow this dial" },
	{ "a wildcard without a name", SANDBOX, GENERATION, WILD, "", REASON_HTTP_HOST_DENIED, true, "the policy does not allow this dial" },
	{ "two labels under a wildcard", SANDBOX, GENERATION, WILD, "a.b.wild.test", REASON_HTTP_HOST_DENIED, true, "the policy does not allow this dial" },
	{ "a rule that denies", SANDBOX, GENERATION, CUT, "cut.wild.test", REASON_DENY_RULE, true, "the policy does not allow this dial" },
	{ "private addresses only", SANDBOX, GENERATION, PRIVATE, "", REASON_UP_PRIVATE, false, "no address of it may be dialled" },
	{ "no resolver", SANDBOX, GENERATION, ASKED, "", REASON_UP_RESOLVE, false, "the resolver failed, refused or is away" },
};
/* clang-format on */

static void
ask_refuses_each_case_and_says_why(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(refusals); i++) {
		struct dialed d;

		print_message("# %s\n", refusals[i].name);
		ask(refusals[i].sandbox, refusals[i].generation,
		    refusals[i].rule, refusals[i].host, &d);
		for (int j = 0; j < 50 && d.n == 0; j++)
			turn();
		assert_int_equal(d.n, 1);
		assert_int_equal(d.reason, refusals[i].reason);
		assert_string_equal(d.detail, refusals[i].detail);
		assert_int_equal(d.fd, -1);
		assert_int_equal(d.cookie, 0);
		assert_string_equal(d.peer, ""); /* no internal address */
		assert_int_equal(roles.n_events, i + 1);
		const struct event *e = last_event();
		assert_int_equal(e->kind,
		    refusals[i].alarm ? EVENT_ALARM : EVENT_DIAL);
		expect_text(e, FIELD_REASON, reason_name(refusals[i].reason));
		expect_text(e, FIELD_VERDICT, "deny");
		expect_same_again(e);
		for (int f = 0; f < FIELD_COUNT; f++)
			assert_true(
			    !event_needs(e->kind, (enum event_field)f) ||
			    event_has(e, (enum event_field)f));
	}
	assert_int_equal(roles.n_told, 0);
}

/* The head is compared with the program in here, and what differs is said. */
static void
ask_is_refused_to_another_program(void **state)
{
	const struct who rows[] = {
		{ SANDBOX, GENERATION, SLICE("sha256:01"), SLICE("w0-1") },
		{ SANDBOX, GENERATION, SLICE("sha256:0"), SLICE("w0-1") },
		{ SANDBOX, GENERATION, SLICE("sha256:000"), SLICE("w0-1") },
	};
	struct dialed d;
	(void)state;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		ask_as(&rows[i], EXACT, "", &d);
		assert_int_equal(d.n, 1);
		assert_int_equal(d.reason, REASON_POLICY_CHANGED);
		assert_string_equal(d.detail, "asked by another program");
		assert_int_equal(d.fd, -1);
		const struct event *e = last_event();
		assert_int_equal(e->kind, EVENT_ALARM);
		expect_text(e, FIELD_REASON, "policy.changed");
		expect_text(e, FIELD_PROGRAM, DIGEST);
		expect_text(e, FIELD_FLOW, "w0-1");
		expect_same_again(e);
	}
	assert_int_equal(roles.n_told, 0);
}

/* The keeper compares, too: what it does not know is not handed over. */
static void
ask_is_refused_when_the_keeper_knows_another_program(void **state)
{
	struct dialed d;
	(void)state;

	roles.keeper_says = REASON_POLICY_CHANGED;
	ask(SANDBOX, GENERATION, EXACT, "", &d);
	assert_int_equal(roles.n_told, 1);
	assert_int_equal(d.n, 1);
	assert_int_equal(d.reason, REASON_POLICY_CHANGED);
	assert_int_equal(d.fd, -1);
	roles.keeper_says = (enum reason)255; /* what no keeper says */
	ask(SANDBOX, GENERATION, EXACT, "", &d);
	assert_int_equal(d.reason, REASON_INTERNAL);
	assert_int_equal(d.fd, -1);
}

/* A body that no worker of ours writes: an alarm, no answer, no dial. */
static void
ask_does_not_answer_what_is_malformed(void **state)
{
	static const char *const hosts[] = { "OK.test", "ok.test.", "ok",
		"127.1", "::FFFF:127.0.0.1", "ok.test\n", "[::1]",
		"*.wild.test" };
	static const char much[WHO_DIGEST_MAX + 2] = { 0 };
	const struct who heads[] = {
		{ SANDBOX, GENERATION, SLICE(""), SLICE("w0-1") },
		{ SANDBOX, GENERATION,
		    slice_of((const uint8_t *)much, WHO_DIGEST_MAX + 1),
		    SLICE("w0-1") },
		{ SANDBOX, GENERATION, SLICE(DIGEST), SLICE("") },
		{ SANDBOX, GENERATION, SLICE(DIGEST), SLICE("w 1") },
		{ SANDBOX, GENERATION, SLICE(DIGEST), SLICE("w\x7f") },
	};
	struct dialed d;
	enum err err;
	(void)state;

	for (size_t i = 0; i < COUNT_OF(hosts); i++) {
		ask(SANDBOX, GENERATION, WILD, hosts[i], &d);
		assert_int_equal(d.n, 0);
		assert_int_equal(roles.n_events, i + 1);
		assert_int_equal(last_event()->kind, EVENT_ALARM);
	}
	for (size_t i = 0; i < COUNT_OF(heads); i++) {
		ask_as(&heads[i], EXACT, "", &d);
		assert_int_equal(d.n, 0);
		assert_int_equal(last_event()->kind, EVENT_ALARM);
	}
	struct msg m = { .op = OP_DIAL, .body = SLICE("short") };
	assert_true(channel_ask(roles.worker, &m, on_dialed, &d, &err) != 0);
	turn();
	assert_int_equal(d.n, 0);
	assert_int_equal(roles.n_events, COUNT_OF(hosts) + COUNT_OF(heads) + 1);
	/* A good one still works. */
	ask(SANDBOX, GENERATION, EXACT, "", &d);
	assert_int_equal(d.reason, REASON_ALLOW);
	close(d.fd);
}

/* Nothing is handed over before both have confirmed. */
static void
ask_waits_for_keeper_and_scribe(void **state)
{
	struct dialed d;
	(void)state;

	clock_set(1000, 0);
	roles.keeper_is_silent = true;
	ask(SANDBOX, GENERATION, EXACT, "", &d);
	assert_int_equal(roles.n_told, 1);
	assert_int_equal(d.n, 0);
	clock_set(1000 + LIMIT_DIAL_MS, 0);
	timer_fire_due();
	turn();
	assert_int_equal(d.reason, REASON_SHUTDOWN);
	assert_int_equal(d.fd, -1);

	roles.keeper_is_silent = false;
	roles.scribe_is_silent = true;
	ask(SANDBOX, GENERATION, EXACT, "", &d);
	assert_int_equal(roles.n_told, 2);
	assert_int_equal(d.n, 0);
	clock_set(1000 + 2 * LIMIT_DIAL_MS, 0);
	timer_fire_due();
	turn();
	assert_int_equal(d.n, 1);
	assert_int_equal(d.reason, REASON_SHUTDOWN);
}

static void
ask_needs_a_log_that_takes_it(void **state)
{
	struct dialed d;
	(void)state;

	roles.scribe_is_full = true;
	ask(SANDBOX, GENERATION, EXACT, "", &d);
	assert_int_equal(d.n, 1);
	assert_int_equal(d.reason, REASON_AUDIT_FULL);
	assert_int_equal(d.fd, -1);
	/* Known to be full: nothing is even dialled. */
	set_status(false);
	roles.n_told = 0;
	ask(SANDBOX, GENERATION, EXACT, "", &d);
	assert_int_equal(d.reason, REASON_AUDIT_FULL);
	assert_int_equal(roles.n_told, 0);
	/* And away is another reason. */
	recorder_set_channel(recorder, NULL);
	ask(SANDBOX, GENERATION, EXACT, "", &d);
	assert_int_equal(d.reason, REASON_SHUTDOWN);
}

static void
ask_needs_a_keeper(void **state)
{
	struct dialed d;
	(void)state;

	roles.keeper_is_silent = true;
	ask(SANDBOX, GENERATION, EXACT, "", &d);
	assert_int_equal(d.n, 0);
	/* It dies in between: its channel tells. */
	channel_free(roles.keeper);
	roles.keeper = NULL;
	turn();
	assert_int_equal(d.n, 1);
	assert_int_equal(d.reason, REASON_SHUTDOWN);
	ask(SANDBOX, GENERATION, EXACT, "", &d);
	assert_int_equal(d.reason, REASON_SHUTDOWN);

	/* Replaced in between. */
	struct channel *old = roles.dialer_keeper;
	link_up(&roles.keeper, on_keeper, &roles.dialer_keeper, on_nobody);
	asks_set_keeper(asks, roles.dialer_keeper);
	channel_free(old);
	ask(SANDBOX, GENERATION, EXACT, "", &d);
	assert_int_equal(d.n, 0);
	asks_set_keeper(asks, NULL);
	turn();
	assert_int_equal(d.reason, REASON_SHUTDOWN);
	ask(SANDBOX, GENERATION, EXACT, "", &d);
	assert_int_equal(d.reason, REASON_SHUTDOWN);
}

static void
ask_ends_with_its_policy(void **state)
{
	struct dialed d;
	enum err err;
	(void)state;

	roles.keeper_is_silent = true;
	ask(SANDBOX, GENERATION, EXACT, "", &d);
	assert_int_equal(d.n, 0);
	assert_int_equal(asks_set_program(asks, SANDBOX, GENERATION + 1,
			     SLICE("sha256:01"), own_program(), &err),
	    0);
	turn();
	assert_int_equal(d.reason, REASON_POLICY_CHANGED);
	roles.keeper_is_silent = false;
	ask_as(&(struct who){ SANDBOX, GENERATION + 1, SLICE("sha256:01"),
		   SLICE("w0-1") },
	    EXACT, "", &d);
	assert_int_equal(d.reason, REASON_ALLOW);
	expect_text(last_event(), FIELD_PROGRAM, "sha256:01");
	close(d.fd);
}

static void
ask_is_forgotten_with_its_worker(void **state)
{
	struct dialed d;
	(void)state;

	roles.keeper_is_silent = true;
	ask(SANDBOX, GENERATION, EXACT, "", &d);
	asks_forget(asks, roles.dialer_worker);
	channel_free(roles.dialer_worker);
	roles.dialer_worker = NULL;
	turn();
	assert_true(d.lost);
}

static void
ask_has_a_limit_in_flight(void **state)
{
	struct dialed d[LIMIT_DIALS + 1];
	(void)state;

	roles.keeper_is_silent = true;
	for (size_t i = 0; i <= LIMIT_DIALS; i++)
		ask(SANDBOX, GENERATION, EXACT, "", &d[i]);
	for (size_t i = 0; i < LIMIT_DIALS; i++)
		assert_int_equal(d[i].n, 0);
	assert_int_equal(d[LIMIT_DIALS].reason, REASON_LIMIT_CONNS);
	expect_same_again(last_event());
}

/* DO-13: a client need not wait until the worker's own limit. */
static void
ask_is_answered_without_memory(void **state)
{
	struct dialed d;
	(void)state;

	roles.no_memory = true;
	ask(SANDBOX, GENERATION, EXACT, "", &d);
	assert_int_equal(d.n, 1);
	assert_int_equal(d.reason, REASON_INTERNAL);
	assert_int_equal(d.fd, -1);
	expect_text(last_event(), FIELD_REASON, "internal");
	expect_text(last_event(), FIELD_SANDBOX, "box");
	expect_text(last_event(), FIELD_FLOW, "w0-1");
	roles.no_memory = false;
	ask(SANDBOX, GENERATION, EXACT, "", &d);
	assert_int_equal(d.reason, REASON_ALLOW);
	close(d.fd);
}

/* DN-02, DN-20: names under wildcards. */
static void
ask_has_a_limit_of_names(void **state)
{
	struct dialed d;
	char name[64];
	(void)state;

	clock_set(1000, 0);
	for (unsigned i = 0; i < LIMIT_NAMES_PER_HOUR; i++) {
		snprintf(name, sizeof(name), "n%u.wild.test", i);
		ask(SANDBOX, GENERATION, WILD, name, &d);
		assert_int_equal(d.reason, REASON_ALLOW);
		close(d.fd);
	}
	ask(SANDBOX, GENERATION, WILD, "one-more.wild.test", &d);
	assert_int_equal(d.reason, REASON_LIMIT_RATE);
	ask(SANDBOX, GENERATION, WILD, "n0.wild.test", &d);
	assert_int_equal(d.reason, REASON_ALLOW);
	close(d.fd);
	ask(SANDBOX, GENERATION, EXACT, "", &d);
	assert_int_equal(d.reason, REASON_ALLOW);
	close(d.fd);
	/* A rule with `names:` has its own, whatever the others have used. */
	for (unsigned i = 0; i < 3; i++) {
		snprintf(name, sizeof(name), "n%u.few.test", i);
		ask(SANDBOX, GENERATION, FEW, name, &d);
		assert_int_equal(d.reason,
		    i < 2 ? REASON_ALLOW : REASON_LIMIT_RATE);
		if (i < 2)
			close(d.fd);
	}
}

/* What is not enforced goes to public addresses only: another rule opens
 * this one for the same host and port. */
static void
ask_reports_to_public_addresses_only(void **state)
{
	struct dialed d;
	(void)state;

	ask(SANDBOX, GENERATION, EXACT, "", &d);
	assert_int_equal(d.reason, REASON_ALLOW);
	close(d.fd);
	ask(SANDBOX, GENERATION, SEEN, "", &d);
	assert_int_equal(d.reason, REASON_UP_PRIVATE);
}

/* Before the monitor has said what there is. */
static void
ask_waits_to_be_fed(void **state)
{
	struct dialed d;
	enum err err;
	(void)state;

	asks_free(asks);
	asks = asks_new(loop, resolver, recorder, &err);
	ask(SANDBOX, GENERATION, EXACT, "", &d);
	assert_int_equal(d.reason, REASON_SHUTDOWN);
	assert_int_equal(last_event()->kind, EVENT_DIAL);
	assert_int_equal(asks_set_program(asks, SANDBOX, GENERATION,
			     SLICE(DIGEST), own_program(), &err),
	    0);
	ask(SANDBOX, GENERATION, EXACT, "", &d);
	assert_int_equal(d.reason, REASON_SHUTDOWN); /* no owner, no keeper */
	assert_int_equal(asks_set_name(asks, SANDBOX, SLICE(""), &err), -1);
	assert_int_equal(asks_set_program(asks, SANDBOX, GENERATION, SLICE(""),
			     own_program(), &err),
	    -1);
}

/* Ask over the proxy, which is our listener; returns what it reads. */
static int
ask_proxy(uint32_t rule, const char *want, struct dialed *d)
{
	char request[512];
	int conn;

	/* Those of earlier tests. */
	while ((conn = accept(listener, NULL, NULL)) >= 0)
		close(conn);
	ask(SANDBOX, GENERATION, rule, "", d);
	conn = accept(listener, NULL, NULL);
	assert_true(conn >= 0);
	turn();
	ssize_t n = recv(conn, request, sizeof(request), 0);
	assert_true(n > 0);
	assert_true(
	    slice_has_prefix(slice_of(request, (size_t)n), slice_of_str(want)));
	assert_int_equal(d->n, 0);
	return conn;
}

/* The owner's proxy stands between: told to the keeper is the origin. */
static void
ask_goes_through_the_owners_proxy(void **state)
{
	static const char yes[] = "HTTP/1.1 200 x\r\n\r\n";
	char want[64], proxy[64];
	struct dialed d;
	(void)state;

	snprintf(proxy, sizeof(proxy), "127.0.0.1:%u", port);
	snprintf(want, sizeof(want), "CONNECT far.test:%u ", port);
	int conn = ask_proxy(FAR, want, &d);
	assert_int_equal(roles.n_told, 0); /* not before there is a tunnel */
	assert_true(send(conn, yes, sizeof(yes) - 1, 0) > 0);
	turn();
	assert_int_equal(d.n, 1);
	assert_int_equal(d.reason, REASON_ALLOW);
	assert_string_equal(d.peer, "127.0.0.1");
	assert_string_equal(roles.told.host, "far.test");
	assert_int_equal(roles.told.port, port);
	expect_text(last_event(), FIELD_PROXY, proxy);
	expect_text(last_event(), FIELD_HOST, "far.test");
	expect_same_again(last_event());
	close(d.fd);
	close(conn);

	conn = ask_proxy(FAR, want, &d);
	close(conn); /* with bytes unread: a reset */
	turn();
	assert_int_equal(d.reason, REASON_UP_CONNECT);
	assert_string_equal(d.detail, "the proxy closed the connection");
	assert_int_equal(d.fd, -1);
	expect_text(last_event(), FIELD_PROXY, proxy);
	expect_same_again(last_event());
}

static void
ask_waits_for_the_proxy_less_than_the_worker_does(void **state)
{
	struct dialed d;
	(void)state;

	clock_set(1000, 0);
	int conn = ask_proxy(FAR, "CONNECT far.test:", &d);
	clock_set(1000 + LIMIT_PROXY_MS, 0);
	timer_fire_due();
	turn();
	assert_int_equal(d.n, 1);
	assert_int_equal(d.reason, REASON_UP_CONNECT);
	assert_string_equal(d.detail, "no answer of the proxy in time");
	expect_same_again(last_event());
	/* And one whose worker goes. */
	close(conn);
	conn = ask_proxy(FAR, "CONNECT far.test:", &d);
	asks_forget(asks, roles.dialer_worker);
	channel_free(roles.dialer_worker);
	roles.dialer_worker = NULL;
	turn();
	assert_true(d.lost);
	close(conn);
}

static void
ask_phases_end(void **state)
{
	(void)state;
	for (int from = 0; from < ASK_PHASES; from++) {
		bool ends = ask_may_follow((enum ask_phase)from, ASK_OVER);
		assert_int_equal(ends, from != ASK_OVER);
		assert_false(ask_may_follow(ASK_OVER, (enum ask_phase)from));
	}
	assert_true(ask_may_follow(ASK_RESOLVE, ASK_CONNECT));
	assert_true(ask_may_follow(ASK_CONNECT, ASK_TUNNEL));
	assert_false(ask_may_follow(ASK_RESOLVE, ASK_TUNNEL));
	assert_false(ask_may_follow(ASK_RESOLVE, ASK_CONFIRM));
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

static int
set_up(void **state)
{
	struct sockaddr_in at = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t n = sizeof(at);
	char text[sizeof(template) + 64], config[sizeof(config_template) + 64];
	(void)state;

	listener =
	    socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&at, sizeof(at)), 0);
	assert_int_equal(listen(listener, 512), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&at, &n), 0);
	port = ntohs(at.sin_port);
	put_port(template, text, sizeof(text));
	put_port(config_template, config, sizeof(config));
	bed_load_trusted(&bed, config, text);
	if (bed.program == NULL || bed.owner == NULL)
		print_error("%s", buf_text(&bed.text));
	buf_init(&image, 1 << 20);
	assert_true(buf_put(&image, buf_slice(&bed.image)));
	return bed.program == NULL || bed.owner == NULL ? -1 : 0;
}

static int
tear_down(void **state)
{
	(void)state;
	close(listener);
	buf_release(&image);
	bed_release(&bed);
	return 0;
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, start, stop)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ask_hands_over_a_socket_that_all_know_of),
		TEST(ask_refuses_each_case_and_says_why),
		TEST(ask_is_refused_to_another_program),
		TEST(ask_is_refused_when_the_keeper_knows_another_program),
		TEST(ask_does_not_answer_what_is_malformed),
		TEST(ask_waits_for_keeper_and_scribe),
		TEST(ask_needs_a_log_that_takes_it),
		TEST(ask_needs_a_keeper),
		TEST(ask_ends_with_its_policy),
		TEST(ask_is_forgotten_with_its_worker),
		TEST(ask_has_a_limit_in_flight),
		TEST(ask_has_a_limit_of_names),
		TEST(ask_reports_to_public_addresses_only),
		TEST(ask_is_answered_without_memory),
		TEST(ask_waits_to_be_fed),
		TEST(ask_goes_through_the_owners_proxy),
		TEST(ask_waits_for_the_proxy_less_than_the_worker_does),
		cmocka_unit_test(ask_phases_end),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
