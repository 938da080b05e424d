/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <time.h>

#include <cmocka.h>

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
    "private: [10.0.0.0/8, 'fd00::/8']\n";

static const char policy[] =
    "version: 1\n"
    "policies:\n"
    "  agent:\n"
    "    rules:\n"
    "      - name: no-secrets\n"
    "        deny: https://ok.test/admin/**\n"
    "      - name: ok\n"
    "        allow: https://ok.test/**\n"
    "        methods: [GET, DELETE]\n"
    "      - name: plain\n"
    "        allow: http://plain.test/x\n"
    "      - name: issues-get\n"
    "        allow: https://api.test/repos/acme/*/issues/**\n"
    "        credential: github\n"
    "      - name: issues-post\n"
    "        allow: https://api.test/repos/acme/*/issues/**\n"
    "        methods: [POST]\n"
    "        foreign_credentials: strip\n"
    "      - name: both\n"
    "        allow: https://api.test/both\n"
    "        credential: [github, key]\n"
    "        foreign_credentials: pass\n"
    "      - name: any\n"
    "        allow: https://api.test/any\n"
    "        methods: any\n"
    "      - name: package\n"
    "        allow: https://npm.test/*\n"
    "        encoded_slash: true\n"
    "      - name: query\n"
    "        allow: https://q.test/api\n"
    "        query: {type: ['2', 'a b'], prefix: ['runs/*'], token: absent}\n"
    "      - name: query-others\n"
    "        allow: https://q.test/others\n"
    "        query: {type: any, others: allow}\n"
    "      - name: no-query\n"
    "        allow: https://q.test/none\n"
    "        query: {}\n"
    "      - name: no-delete\n"
    "        deny: https://one.wild.test/**\n"
    "        methods: [DELETE]\n"
    "      - name: gone\n"
    "        deny: https://gone.wild.test/**\n"
    "      - name: one-level\n"
    "        allow: https://*.wild.test/**\n"
    "        methods: any\n"
    "        credential: github\n"
    "      - name: deep\n"
    "        allow: https://**.deep.test:8443/a*c/**/z\n"
    "      - name: odd\n"
    "        allow: ['https://_x.ok.test/', 'https://xn--n3h.wild.test/', "
    "'https://under_score.deep.test:8443/']\n"
    "      - name: literal\n"
    "        allow: ['https://10.96.0.1/**', 'https://[fd00::5]:8443/']\n"
    "      - name: escapes\n"
    "        allow: ['https://go.test/!burnt!x/@v/a:b+c', "
    "'https://go.test/lit%2Aeral']\n"
    "      - name: opened\n"
    "        allow: https://intra.test/**\n"
    "        addresses: [10.1.2.3, 10.9.0.0/16]\n";

static int
setup(void **state)
{
	static struct bed bed;

	bed_load(&bed, config, policy);
	if (bed.program == NULL)
		print_error("%s", buf_text(&bed.text));
	*state = &bed;
	return bed.program == NULL ? -1 : 0;
}

static int
teardown(void **state)
{
	bed_release(*state);
	return 0;
}

static const struct {
	const char *method, *url, *reason,
	    *rule; /* rule: decided, or nearest */
} requests[] = {
	{ "GET", "https://ok.test/", "allow", "ok" },
	{ "GET", "https://ok.test/a/b?c=d", "allow", "ok" },
	/* PT-18 */
	{ "GET", "https://ok.test/admin", "deny.rule", "no-secrets" },
	{ "GET", "https://ok.test/admin/x", "deny.rule", "no-secrets" },
	{ "GET", "https://ok.test/admin/a%2Fb", "deny.rule", "no-secrets" },
	{ "GET", "https://ok.test/adminx", "allow", "ok" },
	{ "GET", "https://ok.test/ADMIN/x", "allow", "ok" },
	/* PT-04 */
	{ "GET", "https://ok.test/public%2Fx", "http.path_denied", "ok" },
	{ "GET", "https://npm.test/@scope%2Fname", "allow", "package" },
	{ "GET", "https://npm.test/%40scope%2Fname", "allow", "package" },
	{ "GET", "https://npm.test/x%2F..%2Fy", "http.path_denied", "package" },
	/* PT-21 */
	{ "HEAD", "https://ok.test/", "http.method_denied", "ok" },
	{ "get", "https://ok.test/", "http.method_denied", "ok" },
	{ "TRACE", "https://api.test/any", "http.method_denied", "any" },
	{ "CONNECT", "https://api.test/any", "http.method_denied", "any" },
	{ "PRI", "https://api.test/any", "http.method_denied", "any" },
	{ "GETX", "https://api.test/any", "http.method_denied", "any" },
	{ "PROPFIND", "https://api.test/any", "allow", "any" },
	/* PT-16, PT-29 */
	{ "GET", "https://api.test/repos/acme/w/issues", "allow",
	    "issues-get" },
	{ "GET", "https://api.test/repos/acme/w/issues/7", "allow",
	    "issues-get" },
	{ "POST", "https://api.test/repos/acme/w/issues", "allow",
	    "issues-post" },
	{ "DELETE", "https://api.test/repos/acme/w/issues",
	    "http.method_denied", "issues-get" },
	{ "GET", "https://api.test/repos/acme/issues", "http.path_denied",
	    "issues-get" },
	{ "GET", "https://api.test/repos/acme/w/x/issues", "http.path_denied",
	    "issues-get" },
	{ "GET", "https://api.test/REPOS/acme/w/issues", "http.path_denied",
	    "issues-get" },
	{ "GET", "https://one.wild.test/", "allow", "one-level" },
	{ "DELETE", "https://one.wild.test/", "deny.rule", "no-delete" },
	{ "DELETE", "https://two.wild.test/", "allow", "one-level" },
	{ "GET", "https://gone.wild.test/", "deny.rule", "gone" },
	/* NM-05, NM-06 */
	{ "GET", "https://notok.test/", "tls.sni_denied", "" },
	{ "GET", "https://ok.test.evil.test/", "tls.sni_denied", "" },
	{ "GET", "http://evil.test/", "http.host_denied", "" },
	{ "GET", "https://wild.test/", "tls.sni_denied", "" },
	{ "GET", "https://a.b.wild.test/", "tls.sni_denied", "" },
	{ "GET", "https://a.b.deep.test:8443/axc/z", "allow", "deep" },
	{ "GET", "https://a.deep.test:8443/axc/1/2/z", "allow", "deep" },
	{ "GET", "https://a.deep.test:8443/ac/z", "http.path_denied", "deep" },
	{ "GET", "https://deep.test:8443/axc/z", "tls.sni_denied", "" },
	/* NM-13, NM-19 */
	{ "GET", "https://_x.wild.test/", "tls.sni_denied", "" },
	{ "GET", "https://_x.ok.test/", "allow", "odd" },
	{ "GET", "https://xn--abc.wild.test/", "tls.sni_denied", "" },
	{ "GET", "https://xn--n3h.wild.test/", "allow", "odd" },
	{ "GET", "https://a.xn--n3h.deep.test:8443/axc/z", "tls.sni_denied",
	    "" },
	{ "GET", "https://under_score.deep.test:8443/", "allow", "odd" },
	/* NM-22, TL-23 */
	{ "GET", "https://ok.test:8443/", "dst.port", "ok" },
	{ "GET", "http://ok.test/", "dst.port", "ok" },
	{ "GET", "http://ok.test:443/", "http.upgrade", "ok" },
	{ "GET", "http://plain.test/x", "allow", "plain" },
	{ "GET", "http://plain.test/y", "http.path_denied", "plain" },
	{ "GET", "https://plain.test:80/x", "http.upgrade", "plain" },
	/* NM-25 */
	{ "GET", "https://10.96.0.1/x", "allow", "literal" },
	{ "GET", "https://10.96.0.1:8443/x", "dst.port", "literal" },
	{ "GET", "https://10.96.0.2/x", "dst.unmapped_ip", "" },
	{ "GET", "http://127.0.0.1/", "dst.unmapped_ip", "" },
	/* PT-20, PT-31 */
	{ "GET", "https://q.test/api?type=2&prefix=runs/1", "allow", "query" },
	{ "GET", "https://q.test/api?prefix=runs%2F1&type=%32", "allow",
	    "query" },
	{ "GET", "https://q.test/api?type=a+b&prefix=runs/1", "allow",
	    "query" },
	{ "GET", "https://q.test/api?type=a%20b&prefix=runs/1", "allow",
	    "query" },
	{ "GET", "https://q.test/api", "http.query_denied", "query" },
	{ "GET", "https://q.test/api?type=2", "http.query_denied", "query" },
	{ "GET", "https://q.test/api?type&prefix=runs/1", "http.query_denied",
	    "query" },
	{ "GET", "https://q.test/api?type=2&type=2&prefix=runs/1",
	    "http.query_denied", "query" },
	{ "GET", "https://q.test/api?type=2&t%79pe=2&prefix=runs/1",
	    "http.query_denied", "query" },
	{ "GET", "https://q.test/api?t%79pe=2&prefix=runs/1",
	    "http.query_denied", "query" },
	{ "GET", "https://q.test/api?type=2&prefix=runs/1&x=1",
	    "http.query_denied", "query" },
	{ "GET", "https://q.test/api?type=2&prefix=runs/1&token=x",
	    "http.query_denied", "query" },
	{ "GET", "https://q.test/api?type=2&prefix=runs/1%26token=x", "allow",
	    "query" },
	{ "GET", "https://q.test/api?type=2&prefix=runs/1/2",
	    "http.query_denied", "query" },
	{ "GET", "https://q.test/api?type=2&prefix=runs/", "http.query_denied",
	    "query" },
	{ "GET", "https://q.test/api?type=2;prefix=runs/1", "http.query_denied",
	    "query" },
	{ "GET", "https://q.test/others?type=7&a=1&a=2", "allow",
	    "query-others" },
	{ "GET", "https://q.test/others?a=1", "http.query_denied",
	    "query-others" },
	{ "GET", "https://q.test/none", "allow", "no-query" },
	{ "GET", "https://q.test/none?", "allow", "no-query" },
	{ "GET", "https://q.test/none?x", "http.query_denied", "no-query" },
	/* PT-30 */
	{ "GET", "https://go.test/!burnt!x/@v/a:b+c", "allow", "escapes" },
	{ "GET", "https://go.test/%21burnt%21x/%40v/a%3Ab%2Bc", "allow",
	    "escapes" },
	{ "GET", "https://go.test/lit*eral", "allow", "escapes" },
	{ "GET", "https://go.test/lit%2Aeral", "allow", "escapes" },
	{ "GET", "https://go.test/litxeral", "http.path_denied", "escapes" },
	{ "GET", "https://intra.test/", "allow", "opened" },
};

static const char *
rule_name(const struct program *p, uint32_t rule, char out[64])
{
	out[0] = '\0';
	if (rule != VERDICT_NONE)
		snprintf(out, 64, "%.*s",
		    SLICE_ARG(program_rule(p, rule).name));
	return out;
}

static void
policy_decides_each_request(void **state)
{
	const struct bed *b = *state;

	for (size_t i = 0; i < COUNT_OF(requests); i++) {
		struct facts f = bed_request(b->program, requests[i].method,
		    requests[i].url);
		struct verdict v = policy_decide(b->program, &f);
		uint32_t rule = v.rule != VERDICT_NONE ? v.rule : v.nearest;
		char name[64];
		print_message("# %s %s\n", requests[i].method, requests[i].url);
		assert_string_equal(reason_name(v.reason), requests[i].reason);
		assert_int_equal(v.allow, v.reason == REASON_ALLOW);
		assert_string_equal(rule_name(b->program, rule, name),
		    requests[i].rule);
	}
}

/* A refused request is refused from its dial on, an allowed one never is. */
static void
policy_connects_where_a_request_could_be_allowed(void **state)
{
	const struct bed *b = *state;

	for (size_t i = 0; i < COUNT_OF(requests); i++) {
		struct facts f = bed_request(b->program, requests[i].method,
		    requests[i].url);
		struct verdict v = policy_decide(b->program, &f);
		f.kind = FACTS_CONNECT;
		struct verdict c = policy_decide(b->program, &f);
		print_message("# %s\n", requests[i].url);
		if (!v.allow)
			continue;
		assert_true(c.allow);
		f.kind = FACTS_NAME;
		f.qtype = 1;
		struct ip literal;
		if (!ip_parse(f.host, &literal))
			assert_true(policy_decide(b->program, &f).allow);
		f.kind = FACTS_DIAL;
		f.rule = v.rule;
		assert_true(policy_decide(b->program, &f).allow);
		f.rule = v.rule + 1;
		struct verdict d = policy_decide(b->program, &f);
		if (d.allow) /* only if that rule names the same origin */
			assert_false(program_rule(b->program, f.rule).deny);
	}
}

static const struct {
	const char *what;
	const char *dst; /* text of an address, or a name whose address it is */
	bool tls;
	const char *sni, *host; /* NULL: none */
	uint16_t port;
	enum facts_kind kind;
	const char *reason;
} connections[] = {
	{ "TL-01", "203.0.113.66", true, "ok.test", "ok.test", 443,
	    FACTS_CONNECT, "dst.unmapped_ip" },
	{ "TL-02", "ok.test", true, "q.test", NULL, 443, FACTS_CONNECT,
	    "tls.dst_mismatch" },
	{ "TL-02 refusal address", "evil.test", true, "ok.test", NULL, 443,
	    FACTS_CONNECT, "tls.dst_mismatch" },
	{ "TL-03", "ok.test", true, "ok.test", "q.test", 443, FACTS_REQUEST,
	    "http.host_mismatch" },
	{ "TL-08", "ok.test", true, NULL, NULL, 443, FACTS_CONNECT,
	    "tls.no_sni" },
	{ "TL-08 refusal address", "evil.test", true, NULL, NULL, 443,
	    FACTS_CONNECT, "tls.no_sni" },
	{ "UP-12 as a proxy's client says", "ok.test", true, NULL, "ok.test",
	    443, FACTS_CONNECT, "allow" },
	{ "UP-13 as a proxy's client says", "evil.test", true, NULL,
	    "evil.test", 443, FACTS_CONNECT, "http.host_denied" },
	{ "TL-08 literal", "10.96.0.1", true, NULL, NULL, 443, FACTS_CONNECT,
	    "allow" },
	{ "TL-21", "ok.test", false, NULL, NULL, 443, FACTS_CONNECT,
	    "tls.not_tls" },
	{ "TL-23 TLS on 80", "plain.test", true, "plain.test", NULL, 80,
	    FACTS_CONNECT, "http.malformed" },
	{ "TL-23 port", "ok.test", false, NULL, NULL, 8080, FACTS_CONNECT,
	    "dst.port" },
	{ "plain, no name yet", "plain.test", false, NULL, NULL, 80,
	    FACTS_CONNECT, "allow" },
	{ "plain at the refusal address", "evil.test", false, NULL, NULL, 80,
	    FACTS_CONNECT, "http.host_denied" },
	{ "no HTTP at the refusal address", "evil.test", false, NULL, NULL, 22,
	    FACTS_CONNECT, "dst.port" },
	{ "HTTP there on another port", "evil.test", false, NULL, "evil.test",
	    8080, FACTS_REQUEST, "http.host_denied" },
	{ "plain, another Host", "plain.test", false, NULL, "ok.test", 80,
	    FACTS_REQUEST, "http.host_mismatch" },
	{ "plain, Host without a rule", "plain.test", false, NULL, "evil.test",
	    80, FACTS_REQUEST, "http.host_denied" },
	{ "NM-14", "plain.test", false, NULL, "127.0.0.1", 80, FACTS_REQUEST,
	    "http.host_denied" },
	{ "NM-25 SNI", "10.96.0.1", true, "evil.test", NULL, 443, FACTS_CONNECT,
	    "tls.sni_denied" },
	{ "NM-25 Host", "10.96.0.1", true, NULL, "10.96.0.2", 443,
	    FACTS_REQUEST, "http.host_mismatch" },
	{ "NM-25 mapped", "::ffff:10.96.0.1", true, NULL, NULL, 443,
	    FACTS_CONNECT, "dst.unmapped_ip" },
	{ "IPv6 literal", "fd00::5", true, NULL, "fd00::5", 8443, FACTS_CONNECT,
	    "allow" },
	{ "wildcard's address", "two.wild.test", true, "three.wild.test", NULL,
	    443, FACTS_CONNECT, "allow" },
	{ "wildcard's address, exact name", "two.wild.test", true,
	    "one.wild.test", NULL, 443, FACTS_CONNECT, "tls.dst_mismatch" },
	{ "TL-07 deny only", "gone.wild.test", true, "gone.wild.test", NULL,
	    443, FACTS_CONNECT, "deny.rule" },
	{ "SNI without a rule", "ok.test", true, "evil.test", NULL, 443,
	    FACTS_CONNECT, "tls.sni_denied" },
};

static void
policy_judges_each_connection(void **state)
{
	const struct bed *b = *state;

	for (size_t i = 0; i < COUNT_OF(connections); i++) {
		struct facts f = { .kind = connections[i].kind,
			.port = connections[i].port,
			.scheme =
			    connections[i].tls ? SCHEME_HTTPS : SCHEME_HTTP,
			.method = SLICE("GET"),
			.path = SLICE("/x") };
		struct slice dst = slice_of_str(connections[i].dst);

		print_message("# %s\n", connections[i].what);
		if (!ip_parse(dst, &f.dst) &&
		    !program_address(b->program, dst, &f.dst))
			f.dst = program_refusal_address(b->program);
		if (connections[i].sni != NULL) {
			f.has_sni = true;
			f.sni = slice_of_str(connections[i].sni);
		}
		if (connections[i].host != NULL)
			f.host = slice_of_str(connections[i].host);
		struct verdict v = policy_decide(b->program, &f);
		assert_string_equal(reason_name(v.reason),
		    connections[i].reason);
	}
}

static void
policy_answers_names(void **state)
{
	static const struct {
		const char *name;
		uint16_t qtype;
		const char *reason;
	} rows[] = {
		{ "ok.test", 1, "allow" },
		{ "ok.test", 28, "allow" },
		{ "ok.test", 16, "dns.qtype" },
		{ "a.b.deep.test", 1, "allow" },
		{ "deep.test", 1, "dns.denied" },
		{ "evil.test", 1, "dns.denied" },
		{ "gone.wild.test", 1, "dns.denied" },
		{ "one.wild.test", 1, "allow" },
		{ "10.96.0.1", 1, "allow" },
		{ "127.0.0.1", 1, "dns.denied" },
	};
	const struct bed *b = *state;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct facts f = { .kind = FACTS_NAME,
			.qtype = rows[i].qtype,
			.host = slice_of_str(rows[i].name) };
		struct verdict v = policy_decide(b->program, &f);
		print_message("# %s\n", rows[i].name);
		assert_string_equal(reason_name(v.reason), rows[i].reason);
	}
}

static void
policy_gives_each_pattern_one_address(void **state)
{
	const struct bed *b = *state;
	struct ip one, two, exact,
	    refusal = program_refusal_address(b->program);

	assert_true(program_address(b->program, SLICE("two.wild.test"), &one));
	assert_true(program_address(b->program, SLICE("x.wild.test"), &two));
	assert_true(
	    program_address(b->program, SLICE("one.wild.test"), &exact));
	assert_true(ip_eq(&one, &two));
	assert_false(ip_eq(&one, &exact));
	assert_false(ip_eq(&one, &refusal));
	assert_int_equal(one.family, 4);
	assert_int_equal(one.bytes[0], 198);
	assert_in_range(one.bytes[1], 18, 19);
	assert_false(one.bytes[1] == 18 && one.bytes[2] == 0);
	assert_false(program_address(b->program, SLICE("evil.test"), &one));
	assert_false(
	    program_address(b->program, SLICE("xn--a.wild.test"), &one));
}

static void
policy_lets_a_fault_decide_alone(void **state)
{
	const struct bed *b = *state;
	struct facts f = bed_request(b->program, "GET", "https://ok.test/x");

	f.fault = REASON_HTTP_FRAMING;
	struct verdict v = policy_decide(b->program, &f);
	assert_false(v.allow);
	assert_int_equal(v.reason, REASON_HTTP_FRAMING);
	assert_int_equal(v.rule, VERDICT_NONE);
	f.fault = REASON_ALLOW;
	f.upgrade = true;
	assert_int_equal(policy_decide(b->program, &f).reason,
	    REASON_HTTP_UPGRADE);
}

static void
policy_refuses_dials_of_other_rules(void **state)
{
	const struct bed *b = *state;
	struct facts f = { .kind = FACTS_DIAL,
		.scheme = SCHEME_HTTPS,
		.port = 443,
		.rule = 1,
		.host = SLICE("ok.test") };

	assert_true(policy_decide(b->program, &f).allow);
	f.port = 8443;
	assert_int_equal(policy_decide(b->program, &f).reason, REASON_DST_PORT);
	f.port = 0;
	assert_int_equal(policy_decide(b->program, &f).reason, REASON_DST_PORT);
	f.port = 443;
	f.scheme = SCHEME_HTTP;
	assert_int_equal(policy_decide(b->program, &f).reason,
	    REASON_HTTP_UPGRADE);
	f.scheme = SCHEME_HTTPS;
	f.host = SLICE("evil.test");
	assert_int_equal(policy_decide(b->program, &f).reason,
	    REASON_HTTP_HOST_DENIED);
	f.host = SLICE("ok.test");
	f.rule = 0;
	assert_int_equal(policy_decide(b->program, &f).reason,
	    REASON_DENY_RULE);
	f.rule = 4000;
	assert_int_equal(policy_decide(b->program, &f).reason, REASON_INTERNAL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(policy_decides_each_request),
		cmocka_unit_test(
		    policy_connects_where_a_request_could_be_allowed),
		cmocka_unit_test(policy_judges_each_connection),
		cmocka_unit_test(policy_answers_names),
		cmocka_unit_test(policy_gives_each_pattern_one_address),
		cmocka_unit_test(policy_lets_a_fault_decide_alone),
		cmocka_unit_test(policy_refuses_dials_of_other_rules),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
