/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "policy/carry.h"
#include "policy/inside.h"
#include "policy_bed.h"

static const char config[] =
    "version: 1\n"
    "credentials:\n"
    "  github:\n"
    "    kind: token\n"
    "    secret: {file: /run/secrets/github}\n"
    "    only: ['https://api.test/**', 'https://*.wild.test/**']\n"
    "    place: [{env: [GH_TOKEN, GITHUB_TOKEN], like: ghp_}]\n"
    "  key:\n"
    "    kind: header\n"
    "    header: X-Api-Key\n"
    "    secret: {env: KEY}\n"
    "    only: https://api.test/**\n"
    "    ranges: true\n"
    "  query: {kind: query, parameter: Access_Token, secret: {env: Q}, only: "
    "https://api.test/**}\n"
    "  named: {kind: header, header: access_token, secret: {env: Q}, only: "
    "https://api.test/**}\n"
    "private: [10.0.0.0/8, 'fd00::/8']\n";

static const char policy[] =
    "version: 1\n"
    "policies:\n"
    "  agent:\n"
    "    rules:\n"
    "      - allow: https://ok.test/**\n"
    "      - allow: https://api.test/repos/acme/*/issues/**\n"
    "        credential: github\n"
    "      - allow: https://api.test/repos/acme/*/issues/**\n"
    "        methods: [POST]\n"
    "        foreign_credentials: strip\n"
    "      - allow: https://api.test/both\n"
    "        credential: [github, key]\n"
    "        foreign_credentials: pass\n"
    "      - allow: https://api.test/any\n"
    "        methods: any\n"
    "      - allow: https://api.test/signed\n"
    "        signed_url: pass\n"
    "      - allow: https://api.test/query\n"
    "        credential: query\n"
    "        foreign_credentials: pass\n"
    "      - allow: https://api.test/named\n"
    "        credential: named\n"
    "        foreign_credentials: pass\n"
    "      - allow: git+https://git.test/a/b\n"
    "        fetch: true\n";

static int
setup(void **state)
{
	static struct bed bed;

	bed_load(&bed, config, policy);
	*state = &bed;
	return bed.program == NULL ? -1 : 0;
}

static int
teardown(void **state)
{
	bed_release(*state);
	return 0;
}

static void
carry_attaches_what_the_rule_names(void **state)
{
	const struct bed *b = *state;
	struct facts f =
	    bed_request(b->program, "GET", "https://api.test/both");
	struct verdict v = policy_decide(b->program, &f);

	assert_int_equal(v.n_credentials, 2);
	assert_int_equal(v.credentials[0], 0);
	assert_int_equal(v.credentials[1], 1);
	assert_true(v.strip_cookies);
	assert_true(v.search_answer);
	assert_int_equal(v.strip, 0);

	/* `pass`, but not in the slots that ours take */
	f.foreign = 1U << FOREIGN_AUTHORIZATION | 1U << FOREIGN_X_API_KEY |
	    1U << FOREIGN_PRIVATE_TOKEN;
	v = policy_decide(b->program, &f);
	assert_true(v.allow);
	assert_int_equal(v.strip,
	    1U << FOREIGN_AUTHORIZATION | 1U << FOREIGN_X_API_KEY);

	/* github wants no ranges, key does not mind */
	f.range = true;
	assert_int_equal(policy_decide(b->program, &f).reason,
	    REASON_HTTP_HEADER);
}

/* No git client needs one, and it would join what a sandbox does. */
static void
carry_lets_no_cookie_to_a_git_server(void **state)
{
	const struct bed *b = *state;
	struct facts f = bed_request(b->program, "POST",
	    "https://git.test/a/b.git/git-upload-pack");
	struct verdict v = policy_decide(b->program, &f);

	assert_true(v.allow);
	assert_int_equal(v.n_credentials, 0);
	assert_true(v.strip_cookies);
}

/* No rule like that loads, so the rule is handed over by itself. */
static void
carry_gives_nothing_to_plain_http(void **state)
{
	const struct bed *b = *state;
	struct facts f =
	    bed_request(b->program, "GET", "https://api.test/both");
	struct ask a = { .m = &b->program->image, .f = &f };

	a.v.rule = policy_decide(b->program, &f).rule;
	assert_int_equal(carry_judge(&a), REASON_ALLOW);
	a.v.n_credentials = 0;
	f.scheme = SCHEME_HTTP;
	assert_int_equal(carry_judge(&a), REASON_CRED_PLAINTEXT);
}

static void
carry_judges_the_clients_own(void **state)
{
	const struct bed *b = *state;
	struct facts f = bed_request(b->program, "GET",
	    "https://api.test/repos/acme/w/issues");

	f.foreign = 1U << FOREIGN_X_API_KEY;
	struct verdict v = policy_decide(b->program, &f);
	assert_int_equal(v.reason, REASON_CRED_CLIENT_AUTH);
	assert_int_equal(v.n_credentials, 0);
	f = bed_request(b->program, "POST",
	    "https://api.test/repos/acme/w/issues");
	f.foreign = 1U << FOREIGN_X_API_KEY;
	v = policy_decide(b->program, &f);
	assert_true(v.allow);
	assert_int_equal(v.strip, 1U << FOREIGN_X_API_KEY);
	assert_false(v.strip_cookies);

	/* CR-02: signed URLs, on a host with a credential rule and without */
	f = bed_request(b->program, "GET", "https://api.test/any");
	f.signed_url = true;
	assert_int_equal(policy_decide(b->program, &f).reason,
	    REASON_CRED_CLIENT_AUTH);
	f = bed_request(b->program, "GET", "https://ok.test/x");
	f.signed_url = true;
	assert_true(policy_decide(b->program, &f).allow);
	f = bed_request(b->program, "GET", "https://api.test/signed");
	f.signed_url = true;
	assert_true(policy_decide(b->program, &f).allow);
	/* ... of nothing but signatures */
	f.foreign = 1U << FOREIGN_QUERY_API_KEY;
	assert_int_equal(policy_decide(b->program, &f).reason,
	    REASON_CRED_CLIENT_AUTH);
}

/* A parameter's slot is the parameter, a header's the header. */
static void
carry_takes_the_slot_of_the_kind(void **state)
{
	const struct bed *b = *state;
	struct facts f =
	    bed_request(b->program, "GET", "https://api.test/query");

	f.foreign = 1U << FOREIGN_QUERY_ACCESS_TOKEN |
	    1U << FOREIGN_QUERY_API_KEY | 1U << FOREIGN_X_API_KEY;
	struct verdict v = policy_decide(b->program, &f);
	assert_true(v.allow);
	assert_int_equal(v.strip, 1U << FOREIGN_QUERY_ACCESS_TOKEN);
	f.path = SLICE("/named");
	v = policy_decide(b->program, &f);
	assert_true(v.allow);
	assert_int_equal(v.strip, 0);
}

static void
carry_judges_placeholders(void **state)
{
	const struct bed *b = *state;
	struct facts f =
	    bed_request(b->program, "GET", "https://api.test/both");

	f.placeholder = PLACEHOLDER_IN_SLOT;
	f.placeholder_of = 1;
	assert_true(policy_decide(b->program, &f).allow);
	f.placeholder_of = 7;
	assert_int_equal(policy_decide(b->program, &f).reason,
	    REASON_CRED_MISPLACED);
	f.placeholder = PLACEHOLDER_MISPLACED;
	assert_int_equal(policy_decide(b->program, &f).reason,
	    REASON_CRED_MISPLACED);
	f.placeholder = PLACEHOLDER_FOREIGN;
	assert_int_equal(policy_decide(b->program, &f).reason,
	    REASON_CRED_FOREIGN);
	f = bed_request(b->program, "GET", "https://ok.test/x");
	f.placeholder = PLACEHOLDER_IN_SLOT;
	assert_int_equal(policy_decide(b->program, &f).reason,
	    REASON_CRED_MISPLACED);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(carry_attaches_what_the_rule_names),
		cmocka_unit_test(carry_lets_no_cookie_to_a_git_server),
		cmocka_unit_test(carry_gives_nothing_to_plain_http),
		cmocka_unit_test(carry_judges_the_clients_own),
		cmocka_unit_test(carry_takes_the_slot_of_the_kind),
		cmocka_unit_test(carry_judges_placeholders),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
