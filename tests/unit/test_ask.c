/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's request, with a worker, keeper and scribe of the test's own. */
#include "ask_bed.h"

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

/* A dial under way is told so, and one that comes late is no alarm. */
static void
ask_is_refused_to_a_sandbox_that_is_gone(void **state)
{
	struct dialed d, late;
	(void)state;

	roles.keeper_is_silent = true;
	ask(SANDBOX, GENERATION, EXACT, "", &d);
	assert_int_equal(d.n, 0);
	asks_forget_sandbox(asks, SANDBOX);
	turn();
	ask(SANDBOX, GENERATION, EXACT, "", &late);
	assert_int_equal(d.n, 1);
	assert_int_equal(d.reason, REASON_SHUTDOWN);
	assert_string_equal(d.detail, "the sandbox is gone");
	assert_int_equal(d.fd, -1);
	assert_int_equal(late.reason, REASON_SHUTDOWN);
	assert_int_equal(last_event()->kind, EVENT_DIAL);
	asks_forget_sandbox(asks, SANDBOX); /* once more is no fault */
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ask_hands_over_a_socket_that_all_know_of),
		TEST(ask_refuses_each_case_and_says_why),
		TEST(ask_is_refused_to_another_program),
		TEST(ask_is_refused_when_the_keeper_knows_another_program),
		TEST(ask_is_refused_to_a_sandbox_that_is_gone),
		TEST(ask_does_not_answer_what_is_malformed),
		TEST(ask_reports_to_public_addresses_only),
		TEST(ask_is_answered_without_memory),
		cmocka_unit_test(ask_phases_end),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
