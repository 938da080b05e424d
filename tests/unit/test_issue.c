/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/socket.h>

#include <netinet/in.h>

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>
#include <openssl/evp.h>
#include <openssl/x509.h>

#include "audit/event.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/rd.h"
#include "base/wr.h"
#include "certs/ca.h"
#include "crypto/sign.h"
#include "keep/fresh.h"
#include "keep/issue.h"
#include "keep/store.h"
#include "policy_bed.h"
#include "priv/ops.h"
#include "priv/who.h"

#define SANDBOX 7
#define GENERATION 3
#define DIGEST "sha256:00"
#define SECRET "real-s3cret"

#define CONFIG                                   \
	"version: 1\n"                           \
	"credentials:\n"                         \
	"  one:\n"                               \
	"    kind: token\n"                      \
	"    secret: {file: /run/secrets/one}\n" \
	"    only: [\"https://api.test/**\"]\n"  \
	"  two:\n"                               \
	"    kind: header\n"                     \
	"    header: X-Two\n"                    \
	"    secret: {env: TWO}\n"               \
	"    only: [\"https://two.test/**\"]\n"  \
	"  asked:\n"                             \
	"    kind: token\n"                      \
	"    secret: {command: [/bin/x]}\n"      \
	"    only: [\"https://asked.test/**\"]\n"
#define POLICY                                                                   \
	"version: 1\n"                                                           \
	"policies:\n"                                                            \
	"  agent:\n"                                                             \
	"    rules:\n"                                                           \
	"      - {name: no, deny: \"https://api.test/private/**\"}\n"            \
	"      - {name: api, allow: \"https://api.test/**\", credential: one}\n" \
	"      - {name: two, allow: \"https://two.test/**\", credential: two}\n" \
	"      - {name: open, allow: \"https://open.test/**\"}\n"                \
	"      - {name: asked, allow: \"https://asked.test/**\", credential: "   \
	"asked}\n"

enum rule {
	RULE_NO,
	RULE_API,
	RULE_TWO,
	RULE_OPEN,
	RULE_ASKED,
};

/* All that stands around an issue, and what came out of it. */
struct fixture {
	struct bed policy;
	struct loop *loop;
	struct store *store;
	struct recorder *recorder;
	struct issue *issue;
	struct fresh *fresh;
	unsigned n_asked;		    /* of the monitor */
	struct channel *keeper, *worker;    /* two ends */
	struct channel *scribe, *to_scribe; /* two ends */
	bool writes;			    /* the scribe's mood */
	unsigned n_events, n_alarms, n_allowed;
	char detail[128], credential[32], flow[32];
	unsigned n_answers;
	uint16_t op, reason;
	uint8_t body[65536];
	size_t body_n;
	int listener, client, server; /* a TCP connection over loopback */
};

static void
turn(struct fixture *f)
{
	for (int i = 0; i < 30; i++)
		event_base_loop(loop_base(f->loop), EVLOOP_NONBLOCK);
}

static void
copy_text(char *to, size_t max, struct slice s)
{
	snprintf(to, max, "%.*s", SLICE_ARG(s));
}

static void
on_event(struct channel *c, struct msg *m, void *arg)
{
	struct fixture *f = arg;
	const uint8_t written = f->writes;
	const struct msg answer = { .op = OP_WRITTEN,
		.id = m == NULL ? 0 : m->id,
		.body = slice_of(&written, 1) };
	enum event_field missing;
	struct event e;
	enum err err;

	if (m == NULL)
		return;
	if (m->body.n != 0) {
		assert_true(event_decode(m->body, &e));
		assert_null(event_check(&e, &missing));
		f->n_events++;
		f->n_alarms += e.kind == EVENT_ALARM;
		f->n_allowed +=
		    slice_eq_str(event_text_of(&e, FIELD_VERDICT), "allow");
		copy_text(f->detail, sizeof(f->detail),
		    event_text_of(&e, FIELD_DETAIL));
		copy_text(f->credential, sizeof(f->credential),
		    event_text_of(&e, FIELD_CREDENTIAL));
		copy_text(f->flow, sizeof(f->flow),
		    event_text_of(&e, FIELD_FLOW));
		/* Whatever happens: never the secret. */
		for (size_t i = 0; i + 11 <= m->body.n; i++)
			assert_memory_not_equal(m->body.p + i, SECRET, 11);
	}
	if (m->id != 0)
		assert_int_equal(channel_send(c, &answer, &err), 0);
}

static void
on_scribe_says(struct channel *c, struct msg *m, void *arg)
{
	struct fixture *f = arg;

	(void)c;
	recorder_take_msg(f->recorder, m);
}

static void
on_ask(struct channel *c, struct msg *m, void *arg)
{
	struct fixture *f = arg;

	if (m == NULL)
		return;
	switch (m->op) {
	case OP_LEAF:
		issue_leaf(f->issue, c, m);
		break;
	case OP_RELEASE:
		issue_release(f->issue, c, m);
		break;
	case OP_TELL:
		issue_tell(f->issue, c, m);
		break;
	case OP_CERTIFY:
		issue_certify(f->issue, c, m);
		break;
	default:
		fail();
	}
}

static void
ignore(struct channel *c, struct msg *m, void *arg)
{
	(void)c;
	(void)m;
	(void)arg;
}

static void
make_pair(struct fixture *f, struct channel **a, channel_on_msg *on_a,
    struct channel **b, channel_on_msg *on_b)
{
	enum err err;
	int fd[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0,
			     fd),
	    0);
	*a = channel_new(f->loop, fd[0], on_a, f, &err);
	*b = channel_new(f->loop, fd[1], on_b, f, &err);
	assert_non_null(*a);
	assert_non_null(*b);
}

static void
connect_tcp(struct fixture *f)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	socklen_t n = sizeof(a);

	f->listener = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(bind(f->listener, (struct sockaddr *)&a, n), 0);
	assert_int_equal(listen(f->listener, 1), 0);
	getsockname(f->listener, (struct sockaddr *)&a, &n);
	f->client = socket(AF_INET, SOCK_STREAM, 0);
	assert_int_equal(connect(f->client, (struct sockaddr *)&a, n), 0);
	f->server = accept(f->listener, NULL, NULL);
	assert_true(f->server >= 0);
}

static void
scribe_is(struct fixture *f, uint8_t ready)
{
	const struct msg status = { .op = OP_STATUS,
		.body = slice_of(&ready, 1) };
	enum err err;

	assert_int_equal(channel_send(f->scribe, &status, &err), 0);
	turn(f);
}

static bool
on_want(uint32_t credential, void *arg)
{
	struct fixture *f = arg;

	assert_int_equal(credential, 2);
	f->n_asked++;
	return true;
}

static void
on_settled(uint32_t credential, const char *why, void *arg)
{
	struct fixture *f = arg;

	(void)why;
	issue_settled(f->issue, credential);
}

static const struct fresh_ops fresh_ops = { on_want, on_settled };

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	enum err err;

	bed_load(&f->policy, CONFIG, POLICY);
	assert_non_null(f->policy.program);
	f->loop = loop_new(&err);
	f->store = store_new(&err);
	f->recorder = recorder_new(f->loop, NULL, NULL, &err);
	f->issue = issue_new(f->store, f->recorder, &err);
	f->fresh = fresh_new(f->loop, f->store, &fresh_ops, f, &err);
	assert_non_null(f->fresh);
	issue_set_fresh(f->issue, f->fresh);
	assert_int_equal(store_set_owner(f->store, f->policy.owner, &err), 0);
	assert_int_equal(store_set_name(f->store, SANDBOX, SLICE("box"), &err),
	    0);
	assert_int_equal(store_set_program(f->store, SANDBOX, GENERATION,
			     SLICE(DIGEST), f->policy.program, &err),
	    0);
	f->policy.owner = NULL;
	f->policy.program = NULL;
	assert_int_equal(store_set_secret(f->store, 0, true, SLICE(SECRET),
			     &err),
	    0);
	assert_int_equal(store_set_secret(f->store, 1, true, SLICE("k"), &err),
	    0);
	make_pair(f, &f->keeper, on_ask, &f->worker, ignore);
	make_pair(f, &f->scribe, on_event, &f->to_scribe, on_scribe_says);
	recorder_set_channel(f->recorder, f->to_scribe);
	f->writes = true;
	scribe_is(f, 1);
	connect_tcp(f);
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	close(f->listener);
	close(f->client);
	close(f->server);
	issue_free(f->issue);
	fresh_free(f->fresh);
	recorder_free(f->recorder);
	channel_free(f->keeper);
	channel_free(f->worker);
	channel_free(f->scribe);
	channel_free(f->to_scribe);
	turn(f);
	store_free(f->store);
	loop_free(f->loop);
	bed_release(&f->policy);
	free(f);
	return 0;
}

static void
on_answer(struct msg *m, void *arg)
{
	struct fixture *f = arg;

	f->n_answers++;
	f->op = m == NULL ? 0 : m->op;
	f->body_n = m == NULL ? 0 : m->body.n;
	if (m != NULL)
		memcpy(f->body, m->body.p, m->body.n);
}

/* Ask as the worker does and wait for what comes. */
static void
ask(struct fixture *f, uint16_t op, struct slice body, int fd)
{
	struct msg m = { .op = op, .body = body };
	enum err err;

	if (fd >= 0)
		m.fds[m.n_fds++] = fd;
	f->n_answers = f->n_events = f->n_alarms = f->n_allowed = 0;
	f->detail[0] = f->credential[0] = f->flow[0] = '\0';
	assert_int_not_equal(channel_ask(f->worker, &m, on_answer, f, &err), 0);
	turn(f);
}

static uint64_t
cookie_of(int fd)
{
	uint64_t cookie = 0;
	socklen_t n = sizeof(cookie);

	assert_int_equal(getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &n), 0);
	return cookie;
}

struct dial {
	uint32_t sandbox, generation, rule;
	uint16_t port;
	const char *host;
};

static void
tell_as(struct fixture *f, const struct who *who, int fd, const struct dial *d)
{
	uint8_t body[300];
	struct wr w = wr_of(body, sizeof(body));

	who_write(&w, who);
	wr_u64(&w, cookie_of(fd));
	wr_u32(&w, d->rule);
	wr_u16(&w, d->port);
	wr_slice8(&w, slice_of_str(d->host));
	ask(f, OP_TELL, wr_slice(&w), -1);
}

/* What a TOLD says. */
static enum reason
told(struct fixture *f)
{
	struct rd r = rd_of(slice_of(f->body, f->body_n));
	uint16_t reason = rd_u16(&r);

	assert_int_equal(f->op, OP_TOLD);
	assert_true(rd_is_done(&r));
	return (enum reason)reason;
}

static void
tell(struct fixture *f, int fd, const struct dial *d)
{
	const struct who who = { d->sandbox, d->generation, SLICE(DIGEST),
		SLICE("w0-5e") };
	tell_as(f, &who, fd, d);
	assert_int_equal(told(f), REASON_ALLOW);
}

struct want {
	uint32_t sandbox, generation, rule, credential;
	const char *digest; /* NULL: the right one */
};

static void
release(struct fixture *f, const struct want *want, int fd)
{
	uint8_t body[300];
	struct wr w = wr_of(body, sizeof(body));

	who_write(&w,
	    &(struct who){ want->sandbox, want->generation,
		slice_of_str(want->digest == NULL ? DIGEST : want->digest),
		SLICE("w0-5f") });
	wr_u32(&w, want->rule);
	wr_u32(&w, want->credential);
	ask(f, OP_RELEASE, wr_slice(&w), fd);
}

/* What a RELEASED says; the value points into the fixture. */
static struct slice
released(struct fixture *f, enum reason *reason)
{
	struct rd r = rd_of(slice_of(f->body, f->body_n));

	assert_int_equal(f->n_answers, 1);
	assert_int_equal(f->op, OP_RELEASED);
	*reason = (enum reason)rd_u16(&r);
	struct slice value = rd_slice16(&r);
	assert_true(rd_is_done(&r));
	return value;
}

static const struct dial good_dial = { SANDBOX, GENERATION, RULE_API, 443,
	"api.test" };
static const struct want good = { SANDBOX, GENERATION, RULE_API, 0 };

static void
issue_releases_for_the_dial_that_it_was_told_of(void **state)
{
	struct fixture *f = *state;
	enum reason reason;

	tell(f, f->client, &good_dial);
	for (int i = 0; i < 3; i++) { /* a connection is used again */
		release(f, &good, f->client);
		struct slice value = released(f, &reason);
		assert_int_equal(reason, REASON_ALLOW);
		assert_true(slice_eq_str(value, "Bearer " SECRET));
		assert_int_equal(f->n_events, 1);
		assert_int_equal(f->n_allowed, 1);
		assert_string_equal(f->credential, "one");
		assert_string_equal(f->flow, "w0-5f");
	}
}

static const struct {
	const char *name;
	struct dial dial;
	struct want want;
	const char *detail;
} forged[] = {
	{ "another sandbox", { SANDBOX, GENERATION, RULE_API, 443, "api.test" },
	    { SANDBOX + 1, GENERATION, RULE_API, 0 },
	    "release asked for a sandbox that is not there" },
	{ "another generation",
	    { SANDBOX, GENERATION, RULE_API, 443, "api.test" },
	    { SANDBOX, GENERATION + 1, RULE_API, 0 },
	    "release asked for another generation" },
	{ "another program", { SANDBOX, GENERATION, RULE_API, 443, "api.test" },
	    { SANDBOX, GENERATION, RULE_API, 0, "sha256:01" },
	    "release asked by another program" },
	{ "a credential of another rule",
	    { SANDBOX, GENERATION, RULE_API, 443, "api.test" },
	    { SANDBOX, GENERATION, RULE_API, 1 },
	    "release asked for a credential that the rule lacks" },
	{ "a rule without one",
	    { SANDBOX, GENERATION, RULE_OPEN, 443, "open.test" },
	    { SANDBOX, GENERATION, RULE_OPEN, 0 },
	    "release asked for a credential that the rule lacks" },
	{ "a deny rule", { SANDBOX, GENERATION, RULE_NO, 443, "api.test" },
	    { SANDBOX, GENERATION, RULE_NO, 0 },
	    "release asked for a credential that the rule lacks" },
	{ "no such rule", { SANDBOX, GENERATION, 99, 443, "api.test" },
	    { SANDBOX, GENERATION, 99, 0 },
	    "release asked for a credential that the rule lacks" },
	{ "no such credential",
	    { SANDBOX, GENERATION, RULE_API, 443, "api.test" },
	    { SANDBOX, GENERATION, RULE_API, 99 },
	    "release asked for a credential that the rule lacks" },
	{ "the dial of another rule",
	    { SANDBOX, GENERATION, RULE_OPEN, 443, "open.test" },
	    { SANDBOX, GENERATION, RULE_API, 0 },
	    "release asked for the dial of another rule or sandbox" },
	{ "a dial that policy refuses",
	    { SANDBOX, GENERATION, RULE_API, 443, "evil.test" },
	    { SANDBOX, GENERATION, RULE_API, 0 },
	    "release asked for a dial that policy refuses" },
	{ "a port that policy refuses",
	    { SANDBOX, GENERATION, RULE_API, 80, "api.test" },
	    { SANDBOX, GENERATION, RULE_API, 0 },
	    "release asked for a dial that policy refuses" },
};

static void
issue_refuses_what_is_forged(void **state)
{
	struct fixture *f = *state;
	enum reason reason;

	for (size_t i = 0; i < COUNT_OF(forged); i++) {
		print_message("# %s\n", forged[i].name);
		tell(f, f->client, &forged[i].dial);
		release(f, &forged[i].want, f->client);
		assert_int_equal(released(f, &reason).n, 0);
		assert_int_equal(reason, REASON_CRED_UNAVAILABLE);
		assert_int_equal(f->n_alarms, 1);
		assert_int_equal(f->n_allowed, 0);
		assert_string_equal(f->detail, forged[i].detail);
	}
}

static void
issue_refuses_sockets_that_were_not_dialled(void **state)
{
	struct fixture *f = *state;
	enum reason reason;
	int pair[2];

	tell(f, f->client, &good_dial);
	release(f, &good, f->server); /* a socket of its own making */
	assert_int_equal(released(f, &reason).n, 0);
	assert_int_equal(f->n_alarms, 1);
	assert_string_equal(f->detail,
	    "release asked for a socket that was not dialled");
	assert_int_equal(pipe(pair), 0);
	release(f, &good, pair[0]); /* no socket at all */
	assert_int_equal(released(f, &reason).n, 0);
	assert_int_equal(f->n_alarms, 1);
	release(f, &good, -1); /* nothing shown */
	assert_int_equal(released(f, &reason).n, 0);
	assert_int_equal(f->n_alarms, 1);
	assert_string_equal(f->detail, "a malformed request to release");
	close(pair[0]);
	close(pair[1]);

	/* A UNIX socket, told of by mistake, is no TCP connection. */
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	tell(f, pair[0], &good_dial);
	release(f, &good, pair[0]);
	assert_int_equal(released(f, &reason).n, 0);
	assert_int_equal(f->n_alarms, 0);
	assert_string_equal(f->detail,
	    "the connection is not established any more");
	close(pair[0]);
	close(pair[1]);
}

static void
issue_refuses_a_connection_that_is_over(void **state)
{
	struct fixture *f = *state;
	enum reason reason;

	tell(f, f->client, &good_dial);
	shutdown(f->server, SHUT_WR);
	release(f, &good, f->client);
	assert_int_equal(released(f, &reason).n, 0);
	assert_int_equal(reason, REASON_CRED_UNAVAILABLE);
	assert_int_equal(f->n_alarms, 0); /* it happens to the honest */
	assert_int_equal(f->n_events, 1);
	assert_string_equal(f->detail,
	    "the connection is not established any more");
}

static void
issue_keeps_to_the_ceiling_of_the_credential(void **state)
{
	struct fixture *f = *state;
	struct bed other;
	enum err err;
	enum reason reason;

	/* The same program, but an owner who has narrowed `only:` since. */
	bed_load(&other,
	    "version: 1\ncredentials:\n  one:\n    kind: token\n"
	    "    secret: {file: /run/secrets/one}\n"
	    "    only: [\"https://other.test/**\"]\n",
	    "version: 1\npolicies: {p: {rules: []}}\n");
	assert_non_null(other.owner);
	assert_int_equal(store_set_owner(f->store, other.owner, &err), 0);
	other.owner = NULL;
	assert_int_equal(store_set_secret(f->store, 0, true, SLICE(SECRET),
			     &err),
	    0);
	tell(f, f->client, &good_dial);
	release(f, &good, f->client);
	assert_int_equal(released(f, &reason).n, 0);
	assert_int_equal(f->n_alarms, 1);
	assert_string_equal(f->detail,
	    "release asked for outside of the credential's `only:`");
	/* The store reads the image until it goes. */
	issue_free(f->issue);
	f->issue = NULL;
	store_free(f->store);
	f->store = NULL;
	bed_release(&other);
}

static void
issue_refuses_without_the_secret(void **state)
{
	struct fixture *f = *state;
	enum reason reason;
	enum err err;

	tell(f, f->client, &good_dial);
	assert_int_equal(store_set_secret(f->store, 0, false,
			     (struct slice){ 0 }, &err),
	    -1);
	/* A keeper that was started anew waits for the monitor's word. */
	release(f, &good, f->client);
	assert_int_equal(f->n_answers, 0);
	fresh_take_given(f->fresh, 0, false);
	turn(f);
	assert_int_equal(released(f, &reason).n, 0);
	release(f, &good, f->client);
	assert_int_equal(released(f, &reason).n, 0);
	assert_int_equal(reason, REASON_CRED_UNAVAILABLE);
	assert_int_equal(f->n_alarms, 0);
	assert_string_equal(f->detail, "the secret cannot be had");
}

static const struct dial asked_dial = { SANDBOX, GENERATION, RULE_ASKED, 443,
	"asked.test" };
static const struct want asked = { SANDBOX, GENERATION, RULE_ASKED, 2 };

static void
settle(struct fixture *f, bool here)
{
	enum err err;

	if (here)
		assert_int_equal(store_set_secret(f->store, 2, true,
				     SLICE(SECRET), &err),
		    0);
	fresh_take_given(f->fresh, 2, here);
	turn(f);
}

/* While a fresh one is fetched the request waits; others do not. */
static void
issue_waits_for_a_secret_that_is_under_way(void **state)
{
	struct fixture *f = *state;
	enum reason reason;

	tell(f, f->client, &asked_dial);
	release(f, &asked, f->client);
	/* The monitor is about to send it: nobody asks. */
	assert_int_equal(f->n_answers, 0);
	assert_int_equal(f->n_asked, 0);
	assert_int_equal(f->n_events, 0);
	settle(f, true);
	struct slice value = released(f, &reason);
	assert_int_equal(reason, REASON_ALLOW);
	assert_true(slice_eq_str(value, "Bearer " SECRET));
	assert_int_equal(f->n_allowed, 1);
	assert_string_equal(f->flow, "w0-5f");

	/* From the store now, until its time is over. */
	release(f, &asked, f->client);
	assert_int_equal(f->n_answers, 1);
	assert_int_equal(f->n_asked, 0);
	clock_set(clock_ms() + 300000, clock_wall_us());
	release(f, &asked, f->client);
	assert_int_equal(f->n_answers, 0);
	assert_int_equal(f->n_asked, 1);

	/* It does not come: refused, and not asked for again at once. */
	settle(f, false);
	assert_int_equal(released(f, &reason).n, 0);
	assert_int_equal(reason, REASON_CRED_UNAVAILABLE);
	assert_string_equal(f->detail, "the secret cannot be had");
	release(f, &asked, f->client);
	assert_int_equal(released(f, &reason).n, 0);
	assert_int_equal(f->n_asked, 1);
	clock_set(0, 0);
}

/* What was true when it began to wait is looked at again. */
static void
issue_judges_again_what_has_waited(void **state)
{
	struct fixture *f = *state;
	enum reason reason;

	tell(f, f->client, &asked_dial);
	release(f, &asked, f->client);
	assert_int_equal(f->n_answers, 0);
	shutdown(f->server, SHUT_WR);
	settle(f, true);
	assert_int_equal(released(f, &reason).n, 0);
	assert_string_equal(f->detail,
	    "the connection is not established any more");
}

static void
issue_lets_only_so_many_wait(void **state)
{
	struct fixture *f = *state;
	unsigned n = 0;

	tell(f, f->client, &asked_dial);
	for (unsigned i = 0; i < LIMIT_RELEASES_WAITING + 3; i++) {
		release(f, &asked, f->client);
		n += f->n_answers;
	}
	assert_int_equal(n, 3);
	/* A worker that went is told nothing; its descriptors are closed. */
	issue_forget(f->issue, f->keeper);
	f->n_answers = 0;
	settle(f, true);
	assert_int_equal(f->n_answers, 0);
	/* And what waits when the keeper ends goes with it. */
	clock_set(clock_ms() + 300000, clock_wall_us());
	release(f, &asked, f->client);
	assert_int_equal(f->n_answers, 0);
	clock_set(0, 0);
}

/* Nothing is started for somebody who may not have it. */
static void
issue_asks_for_no_secret_for_a_forger(void **state)
{
	struct fixture *f = *state;

	tell(f, f->client, &good_dial);
	release(f, &asked, f->client);
	assert_int_equal(f->n_answers, 1);
	assert_int_equal(f->n_alarms, 1);
	assert_int_equal(f->n_asked, 0);
}

static void
issue_gives_nothing_that_is_not_recorded(void **state)
{
	struct fixture *f = *state;
	enum reason reason;

	tell(f, f->client, &good_dial);
	f->writes = false;
	release(f, &good, f->client);
	assert_int_equal(released(f, &reason).n, 0);
	assert_int_equal(reason, REASON_AUDIT_FULL);
	f->writes = true;
	scribe_is(f, 0);
	release(f, &good, f->client);
	assert_int_equal(released(f, &reason).n, 0);
	assert_int_equal(reason, REASON_AUDIT_FULL);
	recorder_set_channel(f->recorder, NULL);
	release(f, &good, f->client);
	assert_int_equal(released(f, &reason).n, 0);
	assert_int_equal(reason, REASON_AUDIT_FULL);
}

static void
issue_forgets_a_worker_that_went(void **state)
{
	struct fixture *f = *state;
	uint8_t body[300];
	struct wr w = wr_of(body, sizeof(body));
	struct msg m = { .op = OP_RELEASE, .id = 5, .n_fds = 1 };

	tell(f, f->client, &good_dial);
	who_write(&w,
	    &(struct who){ SANDBOX, GENERATION, SLICE(DIGEST), SLICE("f") });
	wr_u32(&w, RULE_API);
	wr_u32(&w, 0);
	m.body = wr_slice(&w);
	m.fds[0] = f->client;
	f->n_answers = 0;
	issue_release(f->issue, f->keeper, &m);
	issue_forget(f->issue, f->keeper);
	turn(f);
	assert_int_equal(f->n_answers, 0);
	/* And one that waits when the keeper ends is not told, either. */
	issue_release(f->issue, f->keeper, &m);
	issue_free(f->issue);
	f->issue = NULL;
	turn(f);
	assert_int_equal(f->n_answers, 0);
}

static void
issue_raises_alarms_within_a_budget(void **state)
{
	struct fixture *f = *state;
	unsigned n = 0;

	clock_set(1000000, clock_wall_us());
	issue_free(f->issue);
	enum err err;
	f->issue = issue_new(f->store, f->recorder, &err);
	for (int i = 0; i < 3 * ISSUE_ALARMS_BURST; i++) {
		release(f, &good, f->server);
		n += f->n_alarms;
	}
	assert_int_equal(n, ISSUE_ALARMS_BURST);
	clock_set(1000000 + 2000, clock_wall_us());
	release(f, &good, f->server);
	assert_int_equal(f->n_alarms, 1);
	clock_set(0, 0);
}

static void
issue_does_not_take_an_old_connection_for_a_forgery(void **state)
{
	struct fixture *f = *state;
	enum reason reason;

	issue_set_restarted(f->issue);
	release(f, &good, f->client);
	assert_int_equal(released(f, &reason).n, 0);
	assert_int_equal(reason, REASON_CRED_UNAVAILABLE);
	assert_int_equal(f->n_alarms, 0);
	assert_int_equal(f->n_events, 1);
}

static void
issue_reads_bodies_as_hostile(void **state)
{
	struct fixture *f = *state;
	static const uint16_t ops[] = { OP_LEAF, OP_RELEASE, OP_TELL,
		OP_CERTIFY };
	uint8_t body[64];

	memset(body, 0xff, sizeof(body));
	ask(f, OP_TELL, slice_of(body, 9), -1);
	assert_int_equal(told(f), REASON_INTERNAL);
	assert_string_equal(f->detail, "a malformed message about a dial");
	ask(f, OP_LEAF, slice_of(body, 9), -1);
	assert_string_equal(f->detail, "a malformed request for a leaf");
	for (size_t i = 0; i < COUNT_OF(ops); i++) {
		for (size_t n = 0; n < sizeof(body); n++) {
			ask(f, ops[i], slice_of(body, n), -1);
			assert_int_equal(f->n_answers, 1);
			assert_int_equal(f->n_allowed, 0);
		}
	}
}

/* Ask for a leaf.  What LEAFED says; `der` points into the fixture. */
static enum reason
leaf(struct fixture *f, const struct who *who, struct slice *der)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	uint8_t body[400], *spki = NULL;
	struct wr w = wr_of(body, sizeof(body));
	int n = i2d_PUBKEY(key, &spki);

	who_write(&w, who);
	wr_u8(&w, 0);
	wr_slice8(&w, SLICE("api.test"));
	wr_slice16(&w, slice_of(spki, (size_t)n));
	ask(f, OP_LEAF, wr_slice(&w), -1);
	assert_int_equal(f->op, OP_LEAFED);
	struct rd r = rd_of(slice_of(f->body, f->body_n));
	uint16_t reason = rd_u16(&r);
	*der = rd_slice16(&r);
	assert_true(rd_is_done(&r));
	assert_int_equal(der->n != 0, reason == REASON_ALLOW);
	OPENSSL_free(spki);
	EVP_PKEY_free(key);
	return (enum reason)reason;
}

#define GOOD_WHO \
	(&(struct who){ SANDBOX, GENERATION, SLICE(DIGEST), SLICE("w0-5f") })

static void
give_ca(struct fixture *f)
{
	enum err err;
	struct ca *ca = ca_make(SLICE("unit"), 10, &err);

	assert_non_null(ca);
	issue_set_ca(f->issue, ca);
}

static void
issue_mints_once_there_is_a_ca(void **state)
{
	struct fixture *f = *state;
	struct slice der;

	assert_int_equal(leaf(f, GOOD_WHO, &der), REASON_SHUTDOWN);
	give_ca(f);
	assert_int_equal(leaf(f, GOOD_WHO, &der), REASON_ALLOW);
	const uint8_t *p = der.p;
	X509 *cert = d2i_X509(NULL, &p, (long)der.n);
	assert_non_null(cert);
	X509_free(cert);
}

/* Neither a leaf nor a place among the dials. */
static void
issue_serves_the_program_in_force_alone(void **state)
{
	const struct {
		const char *name;
		struct who who;
		enum reason reason;
		bool alarm;
	} strangers[] = {
		{ "another sandbox",
		    { SANDBOX + 1, GENERATION, SLICE(DIGEST), SLICE("f") },
		    REASON_POLICY_NONE, true },
		{ "another program",
		    { SANDBOX, GENERATION, SLICE("sha256:01"), SLICE("f") },
		    REASON_POLICY_CHANGED, true },
		{ "a generation that is over",
		    { SANDBOX, GENERATION - 1, SLICE(DIGEST), SLICE("f") },
		    REASON_POLICY_CHANGED, false },
		{ "a generation to come",
		    { SANDBOX, GENERATION + 1, SLICE(DIGEST), SLICE("f") },
		    REASON_POLICY_CHANGED, false },
	};
	struct fixture *f = *state;
	enum reason reason;
	struct slice der;

	give_ca(f);
	for (size_t i = 0; i < COUNT_OF(strangers); i++) {
		print_message("# %s\n", strangers[i].name);
		assert_int_equal(leaf(f, &strangers[i].who, &der),
		    strangers[i].reason);
		assert_int_equal(f->n_alarms, strangers[i].alarm);
		assert_string_equal(f->detail,
		    strangers[i].alarm ?
			"leaf asked for by another program or sandbox" :
			"");
		tell_as(f, &strangers[i].who, f->client, &good_dial);
		assert_int_equal(told(f), strangers[i].reason);
		assert_int_equal(f->n_alarms, strangers[i].alarm);
		assert_string_equal(f->detail,
		    strangers[i].alarm ?
			"dial told of by another program or sandbox" :
			"");
		release(f, &good, f->client);
		assert_int_equal(released(f, &reason).n, 0);
		assert_string_equal(f->detail,
		    "release asked for a socket that was not dialled");
	}
}

/* Before the monitor has said what there is. */
static void
issue_waits_to_be_fed(void **state)
{
	struct fixture *f = *state;
	struct slice der;
	enum err err;

	issue_free(f->issue);
	store_free(f->store);
	f->store = store_new(&err);
	f->issue = issue_new(f->store, f->recorder, &err);
	give_ca(f);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(leaf(f, GOOD_WHO, &der), REASON_SHUTDOWN);
		tell_as(f, GOOD_WHO, f->client, &good_dial);
		assert_int_equal(told(f), REASON_SHUTDOWN);
		assert_int_equal(f->n_alarms, 0);
		assert_int_equal(store_set_name(f->store, SANDBOX, SLICE("box"),
				     &err),
		    0);
	}
}

/* A dial of the policy before is none of this one's. */
static void
issue_forgets_the_dials_of_an_older_policy(void **state)
{
	struct fixture *f = *state;
	struct want later = { SANDBOX, GENERATION + 1, RULE_API, 0, NULL };
	enum reason reason;
	struct bed same;
	enum err err;

	tell(f, f->client, &good_dial);
	bed_load(&same, CONFIG, POLICY);
	assert_non_null(same.program);
	assert_int_equal(store_set_program(f->store, SANDBOX, GENERATION + 1,
			     SLICE(DIGEST), same.program, &err),
	    0);
	same.program = NULL;
	release(f, &later, f->client);
	assert_int_equal(released(f, &reason).n, 0);
	assert_int_equal(f->n_alarms, 1);
	assert_string_equal(f->detail,
	    "release asked for the dial of another rule or sandbox");
	/* The store reads the image until it goes. */
	issue_free(f->issue);
	f->issue = NULL;
	store_free(f->store);
	f->store = NULL;
	bed_release(&same);
}

static void
issue_certifies_the_key_of_a_log(void **state)
{
	struct fixture *f = *state;
	uint8_t public[SIGN_PUBLIC_SIZE] = { 1, 2, 3 }, body[64];
	uint8_t message[SIGN_KEY_MESSAGE_SIZE];
	struct wr w = wr_of(body, sizeof(body));
	enum err err;

	wr_slice8(&w, slice_of(public, sizeof(public)));
	ask(f, OP_CERTIFY, wr_slice(&w), -1);
	assert_int_equal(f->op, OP_CERTIFIED);
	assert_int_equal(f->body[0], 0);
	struct sign_key *key = sign_key_new(&err);
	assert_non_null(key);
	issue_set_audit_key(f->issue, key);
	ask(f, OP_CERTIFY, wr_slice(&w), -1);
	struct rd r = rd_of(slice_of(f->body, f->body_n));
	assert_int_equal(rd_u8(&r), 1);
	struct slice machine = rd_slice8(&r), signature = rd_slice8(&r);
	assert_true(rd_is_done(&r));
	assert_int_equal(machine.n, SIGN_PUBLIC_SIZE);
	assert_int_equal(signature.n, SIGN_SIZE);
	sign_key_message(public, message);
	assert_true(sign_verify(machine.p, slice_of(message, sizeof(message)),
	    signature.p));
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(issue_releases_for_the_dial_that_it_was_told_of),
		TEST(issue_refuses_what_is_forged),
		TEST(issue_refuses_sockets_that_were_not_dialled),
		TEST(issue_refuses_a_connection_that_is_over),
		TEST(issue_keeps_to_the_ceiling_of_the_credential),
		TEST(issue_refuses_without_the_secret),
		TEST(issue_waits_for_a_secret_that_is_under_way),
		TEST(issue_judges_again_what_has_waited),
		TEST(issue_lets_only_so_many_wait),
		TEST(issue_asks_for_no_secret_for_a_forger),
		TEST(issue_gives_nothing_that_is_not_recorded),
		TEST(issue_forgets_a_worker_that_went),
		TEST(issue_raises_alarms_within_a_budget),
		TEST(issue_does_not_take_an_old_connection_for_a_forgery),
		TEST(issue_reads_bodies_as_hostile),
		TEST(issue_mints_once_there_is_a_ca),
		TEST(issue_serves_the_program_in_force_alone),
		TEST(issue_waits_to_be_fed),
		TEST(issue_forgets_the_dials_of_an_older_policy),
		TEST(issue_certifies_the_key_of_a_log),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
