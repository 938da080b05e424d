/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of ws and wss: which requests that ask for a WebSocket are allowed. */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "policy_bed.h"

static const char config[] = "version: 1\n"
			     "credentials:\n"
			     "  t:\n"
			     "    kind: token\n"
			     "    secret: {env: T}\n"
			     "    only: https://live.test/v1/**\n";

static const char policy[] =
    "version: 1\n"
    "policies:\n"
    "  p:\n"
    "    rules:\n"
    "      - {name: no, deny: 'https://live.test/v1/admin/**'}\n"
    "      - {name: nows, deny: 'wss://live.test/v1/quiet'}\n"
    "      - {name: gone, deny: 'wss://web.test/**'}\n"
    "      - {name: live, allow: 'wss://live.test/v1/**', credential: t}\n"
    "      - {name: rest, allow: 'https://live.test/v1/**', methods: "
    "[GET, POST]}\n"
    "      - {name: only, allow: 'wss://only.test/**'}\n"
    "      - {name: key, allow: 'wss://key.test/x', query: {k: ['1']}}\n"
    "      - {name: plain, allow: 'ws://plain.test:8080/**'}\n"
    "      - {name: web, allow: 'https://web.test/**'}\n"
    "      - {name: wild, allow: 'wss://*.wild.test/**'}\n"
    "      - {name: both, allow: ['https://both.test/**', "
    "'wss://both.test/s']}\n";

static const struct {
	const char *method, *url, *reason, *rule; /* decided, or nearest */
} rows[] = {
	{ "GET", "wss://live.test/v1/events", "allow", "live" },
	{ "GET", "https://live.test/v1/events", "allow", "rest" },
	{ "POST", "https://live.test/v1/events", "allow", "rest" },
	{ "POST", "wss://live.test/v1/events", "http.method_denied", "live" },
	/* Over HTTP/2 it is opened by a CONNECT. */
	{ "CONNECT", "wss://live.test/v1/events", "allow", "live" },
	{ "CONNECT", "https://live.test/v1/events", "http.method_denied",
	    "rest" },
	{ "GET", "wss://live.test/v2", "http.path_denied", "live" },
	/* What denies requests denies those that ask for an upgrade. */
	{ "GET", "wss://live.test/v1/admin/x", "deny.rule", "no" },
	{ "GET", "wss://live.test/v1/quiet", "deny.rule", "nows" },
	{ "GET", "https://live.test/v1/quiet", "allow", "rest" },
	{ "GET", "https://web.test/", "allow", "web" },
	{ "GET", "wss://web.test/", "deny.rule", "gone" },
	/* Without the upgrade it is no request of such a rule. */
	{ "GET", "https://only.test/", "http.upgrade", "only" },
	{ "GET", "wss://only.test/", "allow", "only" },
	{ "GET", "wss://only.test:8443/", "dst.port", "only" },
	{ "GET", "ws://only.test:443/", "http.upgrade", "only" },
	{ "GET", "wss://key.test/x?k=1", "allow", "key" },
	{ "GET", "wss://key.test/x?k=2", "http.query_denied", "key" },
	{ "GET", "ws://plain.test:8080/a", "allow", "plain" },
	{ "GET", "ws://plain.test/a", "dst.port", "plain" },
	{ "GET", "wss://plain.test:8080/a", "http.upgrade", "plain" },
	{ "GET", "http://plain.test:8080/a", "http.upgrade", "plain" },
	{ "GET", "wss://a.wild.test/", "allow", "wild" },
	{ "GET", "wss://evil.test/", "tls.sni_denied", "" },
	{ "GET", "wss://both.test/s", "allow", "both" },
	{ "GET", "wss://both.test/t", "http.path_denied", "both" },
	{ "HEAD", "https://both.test/t", "allow", "both" },
};

static int
setup(void **state)
{
	static struct bed b;

	bed_load(&b, config, policy);
	if (b.program == NULL)
		print_error("%s", buf_text(&b.text));
	*state = &b;
	return b.program == NULL ? -1 : 0;
}

static int
teardown(void **state)
{
	bed_release(*state);
	return 0;
}

static struct slice
rule_of(const struct program *p, const struct verdict *v)
{
	uint32_t rule = v->rule != VERDICT_NONE ? v->rule : v->nearest;

	return rule == VERDICT_NONE ? SLICE("") : program_rule(p, rule).name;
}

static void
policy_allows_upgrades_by_their_rules_alone(void **state)
{
	const struct bed *b = *state;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct facts f =
		    bed_request(b->program, rows[i].method, rows[i].url);
		struct verdict v = policy_decide(b->program, &f);
		print_message("# %s %s\n", rows[i].method, rows[i].url);
		assert_string_equal(reason_name(v.reason), rows[i].reason);
		assert_true(
		    slice_eq_str(rule_of(b->program, &v), rows[i].rule));
		if (!v.allow)
			continue;
		/* And so is its connection, its name and its dial. */
		f.kind = FACTS_CONNECT;
		assert_true(policy_decide(b->program, &f).allow);
		f.kind = FACTS_DIAL;
		f.rule = v.rule;
		assert_true(policy_decide(b->program, &f).allow);
	}
}

/* The request that asks for it carries the token, as others of its place. */
static void
policy_attaches_to_the_request_that_asks(void **state)
{
	const struct bed *b = *state;
	struct facts f =
	    bed_request(b->program, "GET", "wss://live.test/v1/events");
	struct verdict v = policy_decide(b->program, &f);

	assert_int_equal(v.n_credentials, 1);
	assert_true(v.strip_cookies);
	f.foreign = 1U << FOREIGN_X_API_KEY;
	assert_int_equal(policy_decide(b->program, &f).reason,
	    REASON_CRED_CLIENT_AUTH);
}

static void
policy_knows_no_connection_of_them(void **state)
{
	const struct bed *b = *state;
	struct facts f = bed_request(b->program, "GET", "wss://only.test/");

	f.scheme = SCHEME_WSS; /* as no role says it */
	assert_false(policy_decide(b->program, &f).allow);
	f.kind = FACTS_CONNECT;
	assert_false(policy_decide(b->program, &f).allow);
}

static void
policy_knows_where_one_could_be_allowed(void **state)
{
	static const struct {
		const char *host;
		uint16_t port;
		bool may;
	} places[] = {
		{ "live.test", 443, true },
		{ "live.test", 80, false },
		{ "plain.test", 8080, true },
		{ "x.wild.test", 443, true },
		{ "x.y.wild.test", 443, false },
		{ "both.test", 443, true },
		{ "web.test", 443, false }, /* a deny rule */
		{ "evil.test", 443, false },
	};
	const struct bed *b = *state;

	for (size_t i = 0; i < COUNT_OF(places); i++)
		assert_int_equal(policy_may_upgrade(b->program,
				     slice_of_str(places[i].host),
				     places[i].port),
		    places[i].may);
}

static void
explain_shows_the_line_that_was_missing(void **state)
{
	const struct bed *b = *state;
	struct facts f = bed_request(b->program, "GET", "wss://rest.test/v1/x");
	struct verdict v = policy_decide(b->program, &f);
	struct buf out;

	buf_init(&out, 4096);
	policy_explain(b->program, &f, &v, &out);
	assert_string_equal(buf_text(&out),
	    "no rule allows GET on wss://rest.test/v1/x; the missing rule: "
	    "`- allow: wss://rest.test/**`");
	buf_clear(&out);
	f = bed_request(b->program, "GET", "wss://live.test/v2");
	f.scheme = SCHEME_HTTPS;
	v = policy_decide(b->program, &f);
	policy_explain(b->program, &f, &v, &out);
	assert_string_equal(buf_text(&out),
	    "no rule allows GET on wss://live.test/v2; nearest: rule `live` "
	    "(policy.yaml:8) allows wss://live.test/v1/**");
	buf_release(&out);
}

static const struct {
	const char *rules, *error;
} wrong[] = {
	{ "[{allow: 'wss://live.test/x', credential: t}]",
	    "`wss://live.test/x` is wider than `only:`" },
	{ "[{allow: 'ws://live.test:443/v1/x', credential: t}]",
	    "credential `t` on a `ws` rule: a token never goes over plain "
	    "HTTP" },
	{ "[{allow: 'wss://live.test/x', methods: [GET]}]",
	    "`methods` says nothing of `wss://live.test/x`" },
	{ "[{allow: ['https://live.test/x', 'wss://live.test/x'], methods: "
	  "[POST]}]",
	    "`methods` says nothing of `wss://live.test/x`" },
	{ "[{deny: 'wss://live.test/x', methods: [GET]}]",
	    "`methods` says nothing of `wss://live.test/x`" },
	{ "[{allow: 'ws://live.test/x', report: true}]",
	    "`report` says nothing of `ws://live.test/x`" },
	{ "[{allow: 'wss://live.test/a/../b'}]", "dot segment" },
	{ "[{allow: 'wss://live.test/x'}, {allow: 'tls://live.test'}]",
	    "are two kinds for one host and port" },
};

static void
load_refuses_what_says_nothing_of_them(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		char text[512];
		struct bed b;
		snprintf(text, sizeof(text),
		    "version: 1\npolicies: {p: {rules: %s}}\n", wrong[i].rules);
		print_message("# %s\n", wrong[i].rules);
		bed_load(&b, config, text);
		assert_null(b.program);
		assert_non_null(strstr(buf_text(&b.text), wrong[i].error));
		bed_release(&b);
	}
}

static void
load_says_what_only_stands_for(void **state)
{
	struct bed b;

	(void)state;
	bed_load(&b,
	    "version: 1\ncredentials: {t: {kind: token, secret: {env: T}, "
	    "only: 'wss://live.test/v1/**'}}\n",
	    policy);
	assert_non_null(strstr(buf_text(&b.text),
	    "expected `https://`, which stands for the `wss://` of the same "
	    "place, too"));
	bed_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(policy_allows_upgrades_by_their_rules_alone),
		cmocka_unit_test(policy_attaches_to_the_request_that_asks),
		cmocka_unit_test(policy_knows_no_connection_of_them),
		cmocka_unit_test(policy_knows_where_one_could_be_allowed),
		cmocka_unit_test(explain_shows_the_line_that_was_missing),
		cmocka_unit_test(load_refuses_what_says_nothing_of_them),
		cmocka_unit_test(load_says_what_only_stands_for),
	};

	return cmocka_run_group_tests_name("websocket", tests, setup, teardown);
}
