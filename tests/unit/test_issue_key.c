/* SPDX-License-Identifier: Apache-2.0 */
#include "issue_bed.h"

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

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(issue_mints_once_there_is_a_ca),
		TEST(issue_serves_the_program_in_force_alone),
		TEST(issue_waits_to_be_fed),
		TEST(issue_certifies_the_key_of_a_log),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
