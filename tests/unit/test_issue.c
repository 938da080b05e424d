/* SPDX-License-Identifier: Apache-2.0 */
#include "issue_bed.h"

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

/* Whatever rule the connection was dialled for: host and port count. */
static void
issue_releases_to_all_rules_of_the_place_that_was_dialled(void **state)
{
	struct fixture *f = *state;
	const struct want more = { SANDBOX, GENERATION, RULE_MORE, 0 };
	enum reason reason;

	tell(f, f->client, &good_dial);
	release(f, &more, f->client);
	assert_int_equal(released(f, &reason).n, strlen("Bearer " SECRET));
	assert_int_equal(f->n_allowed, 1);
	release(f, &good, f->client);
	assert_int_equal(released(f, &reason).n, strlen("Bearer " SECRET));
	assert_int_equal(f->n_allowed, 1);
	tell(f, f->client,
	    &(struct dial){ SANDBOX, GENERATION, 443, "open.test" });
	release(f, &more, f->client);
	assert_int_equal(released(f, &reason).n, 0);
	assert_int_equal(f->n_alarms, 1);
	assert_string_equal(f->detail,
	    "release asked for a dial that the rule may not make");
}

/* Both run by one policy: still the one has none of the other's dials. */
static void
issue_keeps_the_dials_of_sandboxes_apart(void **state)
{
	struct fixture *f = *state;
	const struct want other = { SANDBOX + 1, GENERATION, RULE_API, 0 };
	enum reason reason;
	struct bed same;
	enum err err;

	bed_load(&same, CONFIG, POLICY);
	assert_int_equal(store_set_name(f->store, SANDBOX + 1, SLICE("b"),
			     &err),
	    0);
	assert_int_equal(store_set_program(f->store, SANDBOX + 1, GENERATION,
			     SLICE(DIGEST), same.program, &err),
	    0);
	same.program = NULL;
	tell(f, f->client, &good_dial);
	release(f, &other, f->client);
	assert_int_equal(released(f, &reason).n, 0);
	assert_int_equal(f->n_alarms, 1);
	assert_string_equal(f->detail,
	    "release asked for the dial of another sandbox or program");
	/* The store reads the image until it goes. */
	issue_free(f->issue);
	f->issue = NULL;
	store_free(f->store);
	f->store = NULL;
	bed_release(&same);
}

static const struct {
	const char *name;
	struct dial dial;
	struct want want;
	const char *detail;
} forged[] = {
	{ "another sandbox", { SANDBOX, GENERATION, 443, "api.test" },
	    { SANDBOX + 1, GENERATION, RULE_API, 0 },
	    "release asked for a sandbox that is not there" },
	{ "another generation", { SANDBOX, GENERATION, 443, "api.test" },
	    { SANDBOX, GENERATION + 1, RULE_API, 0 },
	    "release asked for another generation" },
	{ "another program", { SANDBOX, GENERATION, 443, "api.test" },
	    { SANDBOX, GENERATION, RULE_API, 0, "sha256:01" },
	    "release asked by another program" },
	{ "a credential of another rule",
	    { SANDBOX, GENERATION, 443, "api.test" },
	    { SANDBOX, GENERATION, RULE_API, 1 },
	    "release asked for a credential that the rule lacks" },
	{ "a rule without one", { SANDBOX, GENERATION, 443, "open.test" },
	    { SANDBOX, GENERATION, RULE_OPEN, 0 },
	    "release asked for a credential that the rule lacks" },
	{ "a deny rule", { SANDBOX, GENERATION, 443, "api.test" },
	    { SANDBOX, GENERATION, RULE_NO, 0 },
	    "release asked for a credential that the rule lacks" },
	{ "no such rule", { SANDBOX, GENERATION, 443, "api.test" },
	    { SANDBOX, GENERATION, 99, 0 },
	    "release asked for a credential that the rule lacks" },
	{ "no such credential", { SANDBOX, GENERATION, 443, "api.test" },
	    { SANDBOX, GENERATION, RULE_API, 99 },
	    "release asked for a credential that the rule lacks" },
	{ "the dial of another name", { SANDBOX, GENERATION, 443, "open.test" },
	    { SANDBOX, GENERATION, RULE_API, 0 },
	    "release asked for a dial that the rule may not make" },
	{ "a name that the rule does not have",
	    { SANDBOX, GENERATION, 443, "evil.test" },
	    { SANDBOX, GENERATION, RULE_API, 0 },
	    "release asked for a dial that the rule may not make" },
	{ "a port that the rule does not have",
	    { SANDBOX, GENERATION, 80, "api.test" },
	    { SANDBOX, GENERATION, RULE_API, 0 },
	    "release asked for a dial that the rule may not make" },
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

static struct owner *next_owner;

static void
change_owner(struct fixture *f)
{
	enum err err;

	f->on_recorded = NULL;
	issue_forget_owner(f->issue);
	assert_int_equal(store_set_owner(f->store, next_owner, &err), 0);
	assert_int_equal(store_set_secret(f->store, 0, true, SLICE("other"),
			     &err),
	    0);
}

/* The same place of another configuration is another secret, and nobody's who
 * asked for the former one. */
static void
issue_gives_no_secret_of_another_configuration(void **state)
{
	static const char turned[] =
	    "version: 1\n"
	    "credentials:\n"
	    "  another:\n"
	    "    kind: token\n"
	    "    secret: {file: /run/secrets/another}\n"
	    "    only: [\"https://api.test/**\"]\n";
	struct fixture *f = *state;
	enum reason reason;
	struct bed other;

	tell(f, f->client, &good_dial);
	bed_load(&other, turned,
	    "version: 1\npolicies:\n  p:\n    rules:\n"
	    "      - allow: https://api.test/**\n");
	assert_non_null(other.owner);
	/* While the record of one is on its way; the test's is another's. */
	next_owner = other.owner;
	other.owner = NULL;
	f->on_recorded = change_owner;
	release(f, &good, f->client);
	assert_int_equal(released(f, &reason).n, 0);
	assert_int_equal(reason, REASON_POLICY_CHANGED);
	/* And one that comes later. */
	release(f, &good, f->client);
	assert_int_equal(released(f, &reason).n, 0);
	assert_int_equal(reason, REASON_POLICY_CHANGED);
	assert_int_equal(f->n_alarms, 0);
	assert_string_equal(f->detail, "the configuration has changed");
	/* The store reads the image until it goes. */
	issue_free(f->issue);
	f->issue = NULL;
	store_free(f->store);
	f->store = NULL;
	bed_release(&other);
}

/* Its dials go with it: another one of its number has none of them. */
static void
issue_forgets_a_sandbox(void **state)
{
	struct fixture *f = *state;
	enum reason reason;
	struct bed same;
	enum err err;

	tell(f, f->client, &good_dial);
	issue_forget_sandbox(f->issue, SANDBOX);
	release(f, &good, f->client);
	assert_int_equal(released(f, &reason).n, 0);
	assert_int_equal(reason, REASON_CRED_UNAVAILABLE);
	assert_int_equal(f->n_alarms, 0); /* it may have asked before */
	assert_string_equal(f->detail, "the sandbox is gone");

	bed_load(&same, CONFIG, POLICY);
	assert_int_equal(store_set_program(f->store, SANDBOX, GENERATION,
			     SLICE(DIGEST), same.program, &err),
	    0);
	same.program = NULL;
	release(f, &good, f->client);
	assert_int_equal(released(f, &reason).n, 0);
	assert_string_equal(f->detail,
	    "release asked for a socket that was not dialled");
	tell(f, f->client, &good_dial);
	release(f, &good, f->client);
	assert_true(released(f, &reason).n != 0);
	/* The store reads the image until it goes. */
	issue_free(f->issue);
	f->issue = NULL;
	store_free(f->store);
	f->store = NULL;
	bed_release(&same);
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

/* LC-17: a dial of the policy before is none of this one's. */
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
	/* Honest, both: it may have been on its way when the policy changed. */
	release(f, &later, f->client);
	assert_int_equal(released(f, &reason).n, 0);
	assert_int_equal(reason, REASON_POLICY_CHANGED);
	assert_int_equal(f->n_alarms, 0);
	assert_string_equal(f->detail,
	    "the dial was made by a policy that is over");
	release(f, &good, f->client);
	assert_int_equal(released(f, &reason).n, 0);
	assert_int_equal(reason, REASON_POLICY_CHANGED);
	assert_int_equal(f->n_alarms, 0);
	assert_string_equal(f->detail,
	    "release asked by a policy that is over");
	/* The store reads the image until it goes. */
	issue_free(f->issue);
	f->issue = NULL;
	store_free(f->store);
	f->store = NULL;
	bed_release(&same);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(issue_releases_for_the_dial_that_it_was_told_of),
		TEST(issue_releases_to_all_rules_of_the_place_that_was_dialled),
		TEST(issue_keeps_the_dials_of_sandboxes_apart),
		TEST(issue_refuses_what_is_forged),
		TEST(issue_forgets_a_sandbox),
		TEST(issue_gives_no_secret_of_another_configuration),
		TEST(issue_refuses_sockets_that_were_not_dialled),
		TEST(issue_refuses_a_connection_that_is_over),
		TEST(issue_keeps_to_the_ceiling_of_the_credential),
		TEST(issue_gives_nothing_that_is_not_recorded),
		TEST(issue_forgets_a_worker_that_went),
		TEST(issue_raises_alarms_within_a_budget),
		TEST(issue_does_not_take_an_old_connection_for_a_forgery),
		TEST(issue_reads_bodies_as_hostile),
		TEST(issue_forgets_the_dials_of_an_older_policy),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
