/* SPDX-License-Identifier: Apache-2.0 */
/*
 * `report:`: what is let through instead of refused, with which reason, and
 * what is refused all the same.
 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "policy_bed.h"

static const char config[] = "version: 1\n"
			     "credentials:\n"
			     "  token:\n"
			     "    kind: token\n"
			     "    secret: {file: /run/secrets/token}\n"
			     "    only: https://api.test/**\n"
			     "private: [10.0.0.0/8]\n";

/* A rule that is reported stands first, and is asked last. */
static const char rules[] =
    "version: 1\n"
    "policies:\n"
    "  agent:\n"
    "    rules:\n"
    "      - name: seen\n"
    "        allow: ['https://api.test/**', 'https://new.test/a/**',\n"
    "          'https://*.wild.test/', 'https://plain.test:80/',\n"
    "          'https://db.test:8443/']\n"
    "        report: true\n"
    "      - name: written\n"
    "        allow: https://up.test/**\n"
    "        report: all\n"
    "      - name: no\n"
    "        deny: https://api.test/admin/**\n"
    "      - name: issues\n"
    "        allow: https://api.test/issues\n"
    "        query: {page: any}\n"
    "        credential: token\n"
    "      - name: plain\n"
    "        allow: http://plain.test/\n"
    "      - name: db\n"
    "        allow: tcp://db.test:5432\n"
    "      - name: corp\n"
    "        allow: https://corp.test/a\n"
    "        addresses: [10.0.0.5]\n";

struct row {
	const char *method, *url;
	const char *verdict;
	enum reason reason;
	const char *rule;
};

static struct verdict
decide(const struct bed *b, const struct row *row)
{
	struct facts f = bed_request(b->program, row->method, row->url);

	return policy_decide(b->program, &f);
}

static void
check_rows(const struct bed *b, const struct row *rows_, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct verdict v = decide(b, &rows_[i]);
		struct slice rule = v.rule == VERDICT_NONE ?
		    SLICE("-") :
		    program_rule(b->program, v.rule).name;
		bool good = strcmp(verdict_name(&v), rows_[i].verdict) == 0 &&
		    v.reason == rows_[i].reason &&
		    slice_eq_str(rule, rows_[i].rule);
		if (!good)
			print_error("%s %s: %s %s %.*s\n", rows_[i].method,
			    rows_[i].url, verdict_name(&v),
			    reason_name(v.reason), SLICE_ARG(rule));
		assert_true(good);
		assert_true(!v.report || v.allow);
		assert_true(!v.report || v.n_credentials == 0);
	}
}

static void
report_lets_through_what_other_rules_refuse(void **state)
{
	static const struct row table[] = {
		{ "GET", "https://api.test/issues?page=1", "allow",
		    REASON_ALLOW, "issues" },
		{ "GET", "https://api.test/issues?x=1", "report",
		    REASON_HTTP_QUERY_DENIED, "seen" },
		{ "GET", "https://api.test/other", "report",
		    REASON_HTTP_PATH_DENIED, "seen" },
		{ "HEAD", "https://new.test/a/b", "report",
		    REASON_TLS_SNI_DENIED, "seen" },
		{ "GET", "https://x.wild.test/", "report",
		    REASON_TLS_SNI_DENIED, "seen" },
		{ "GET", "https://db.test:8443/", "report", REASON_DST_PORT,
		    "seen" },
		{ "DELETE", "https://up.test/x", "report",
		    REASON_TLS_SNI_DENIED, "written" },
		/* What stays. */
		{ "POST", "https://api.test/issues?page=1", "deny",
		    REASON_HTTP_METHOD_DENIED, "-" },
		{ "GET", "https://api.test/admin/x", "deny", REASON_DENY_RULE,
		    "no" },
		{ "GET", "https://new.test/b", "deny", REASON_HTTP_PATH_DENIED,
		    "-" },
		{ "GET", "https://new.test:8443/a/b", "deny", REASON_DST_PORT,
		    "-" },
		{ "GET", "https://evil.test/", "deny", REASON_TLS_SNI_DENIED,
		    "-" },
		{ "GET", "https://db.test:5432/", "deny", REASON_HTTP_UPGRADE,
		    "-" },
		/* Another scheme than the port has. */
		{ "GET", "https://plain.test:80/", "deny", REASON_HTTP_UPGRADE,
		    "-" },
	};
	struct bed b;

	(void)state;
	bed_load(&b, config, rules);
	assert_non_null(b.program);
	check_rows(&b, table, COUNT_OF(table));
	bed_release(&b);
}

static void
report_leaves_credentials_alone(void **state)
{
	struct facts f;
	struct bed b;

	(void)state;
	bed_load(&b, config, rules);
	assert_non_null(b.program);
	f = bed_request(b.program, "GET", "https://api.test/other");
	f.foreign = 1U << FOREIGN_X_API_KEY;
	assert_int_equal(policy_decide(b.program, &f).reason,
	    REASON_CRED_CLIENT_AUTH);
	assert_false(policy_decide(b.program, &f).allow);
	f = bed_request(b.program, "GET", "https://api.test/other");
	f.placeholder = PLACEHOLDER_IN_SLOT;
	assert_int_equal(policy_decide(b.program, &f).reason,
	    REASON_CRED_MISPLACED);
	f = bed_request(b.program, "GET", "https://api.test/other");
	f.signed_url = true;
	assert_int_equal(policy_decide(b.program, &f).reason,
	    REASON_CRED_CLIENT_AUTH);
	f = bed_request(b.program, "GET", "https://api.test/other");
	f.upgrade = true;
	assert_int_equal(policy_decide(b.program, &f).reason,
	    REASON_HTTP_UPGRADE);
	bed_release(&b);
}

/* The connection, the question and the dial of such a request. */
static void
report_opens_the_way_to_a_request(void **state)
{
	struct facts f;
	struct verdict v;
	struct bed b;

	(void)state;
	bed_load(&b, config, rules);
	assert_non_null(b.program);
	f = bed_request(b.program, "GET", "https://new.test/a/b");
	f.kind = FACTS_CONNECT;
	v = policy_decide(b.program, &f);
	assert_string_equal(verdict_name(&v), "report");
	assert_int_equal(v.reason, REASON_TLS_SNI_DENIED);
	f.host = f.sni;
	f.kind = FACTS_NAME;
	f.qtype = 1;
	assert_int_equal(policy_decide(b.program, &f).reason, REASON_ALLOW);
	f.kind = FACTS_DIAL;
	for (f.rule = 0;
	     !slice_eq_str(program_rule(b.program, f.rule).name, "seen");)
		f.rule++;
	assert_true(program_rule(b.program, f.rule).report);
	assert_int_equal(policy_decide(b.program, &f).reason, REASON_ALLOW);
	f.host = SLICE("evil.test");
	assert_false(policy_decide(b.program, &f).allow);
	/* An ordinary request on the same name is no report. */
	f = bed_request(b.program, "GET", "https://api.test/issues");
	f.kind = FACTS_CONNECT;
	v = policy_decide(b.program, &f);
	assert_string_equal(verdict_name(&v), "allow");
	bed_release(&b);
}

static const char whole[] = "version: 1\n"
			    "policies:\n"
			    "  agent:\n"
			    "    report: %s\n"
			    "    rules:\n"
			    "      - allow: https://api.test/issues\n"
			    "      - deny: https://evil.test/**\n"
			    "      - allow: tcp://db.test:443\n";

static void
report_of_a_policy_is_a_last_rule_for_every_name(void **state)
{
	static const struct row table[] = {
		{ "GET", "https://api.test/issues", "allow", REASON_ALLOW,
		    "rule-1" },
		{ "GET", "https://any.example/x", "report",
		    REASON_TLS_SNI_DENIED, "(report)" },
		{ "GET", "http://any.example/x", "report",
		    REASON_HTTP_HOST_DENIED, "(report)" },
		{ "GET", "https://evil.test/", "deny", REASON_DENY_RULE,
		    "rule-2" },
		{ "GET", "https://any.example:8443/", "deny", REASON_DST_PORT,
		    "-" },
		{ "GET", "https://xn--n3h.example/", "deny",
		    REASON_TLS_SNI_DENIED, "-" },
		{ "GET", "https://db.test/", "deny", REASON_HTTP_UPGRADE, "-" },
	};
	static const struct row post = { "POST", "https://any.example/x", "",
		REASON_ALLOW, "" };
	char text[sizeof(whole) + 8];
	struct bed b;

	(void)state;
	for (int all = 0; all < 2; all++) {
		snprintf(text, sizeof(text), whole, all ? "all" : "true");
		bed_load(&b, NULL, text);
		assert_non_null(b.program);
		check_rows(&b, table, COUNT_OF(table));
		assert_int_equal(decide(&b, &post).allow, all);
		assert_non_null(strstr(buf_text(&b.text),
		    "policy.yaml:4:13: warning: not enforced"));
		bed_release(&b);
	}
}

static void
report_is_explained(void **state)
{
	struct facts f;
	struct verdict v;
	struct buf out;
	struct bed b;

	(void)state;
	bed_load(&b, config, rules);
	assert_non_null(b.program);
	buf_init(&out, 4096);
	f = bed_request(b.program, "GET", "https://api.test/other");
	v = policy_decide(b.program, &f);
	policy_explain(b.program, &f, &v, &out);
	assert_string_equal(buf_text(&out),
	    "rule `seen` (policy.yaml:5) lets it through, not enforced: no "
	    "rule allows GET on https://api.test/other; nearest: rule "
	    "`issues` (policy.yaml:15) allows https://api.test/issues");
	buf_release(&out);
	bed_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(report_lets_through_what_other_rules_refuse),
		cmocka_unit_test(report_leaves_credentials_alone),
		cmocka_unit_test(report_opens_the_way_to_a_request),
		cmocka_unit_test(
		    report_of_a_policy_is_a_last_rule_for_every_name),
		cmocka_unit_test(report_is_explained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
