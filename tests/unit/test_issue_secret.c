/* SPDX-License-Identifier: Apache-2.0 */
#include "issue_bed.h"

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

static const struct dial asked_dial = { SANDBOX, GENERATION, 443,
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
issue_answers_what_waits_for_a_sandbox_that_is_gone(void **state)
{
	struct fixture *f = *state;
	enum reason reason;

	tell(f, f->client, &asked_dial);
	release(f, &asked, f->client);
	assert_int_equal(f->n_answers, 0);
	issue_forget_sandbox(f->issue, SANDBOX + 1);
	turn(f);
	assert_int_equal(f->n_answers, 0);
	issue_forget_sandbox(f->issue, SANDBOX);
	turn(f);
	assert_int_equal(released(f, &reason).n, 0);
	assert_int_equal(reason, REASON_CRED_UNAVAILABLE);
	settle(f, true);
	assert_int_equal(f->n_answers, 1);
	assert_int_equal(f->n_alarms, 0);
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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(issue_refuses_without_the_secret),
		TEST(issue_waits_for_a_secret_that_is_under_way),
		TEST(issue_judges_again_what_has_waited),
		TEST(issue_answers_what_waits_for_a_sandbox_that_is_gone),
		TEST(issue_lets_only_so_many_wait),
		TEST(issue_asks_for_no_secret_for_a_forger),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
