/* SPDX-License-Identifier: Apache-2.0 */
#include "ask_bed.h"

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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ask_waits_for_keeper_and_scribe),
		TEST(ask_needs_a_log_that_takes_it),
		TEST(ask_needs_a_keeper),
		TEST(ask_ends_with_its_policy),
		TEST(ask_is_forgotten_with_its_worker),
		TEST(ask_has_a_limit_in_flight),
		TEST(ask_has_a_limit_of_names),
		TEST(ask_waits_to_be_fed),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
