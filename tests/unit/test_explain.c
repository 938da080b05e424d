/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "policy_bed.h"

static const char policy[] =
    "version: 1\n"
    "policies:\n"
    "  p:\n"
    "    rules:\n"
    "      - name: no-secrets\n"
    "        deny: https://ok.test/admin/**\n"
    "      - name: ok\n"
    "        allow: https://ok.test/**\n"
    "        methods: [GET, DELETE]\n"
    "      - name: plain\n"
    "        allow: http://plain.test/x\n"
    "      - name: query\n"
    "        allow: https://q.test/api\n"
    "        query: {type: ['2'], prefix: ['runs/*']}\n"
    "      - name: any\n"
    "        allow: https://any.test/a\n"
    "        methods: any\n"
    "      - name: soon\n"
    "        allow: https://soon.test/**\n"
    "        report: true\n";

static const struct {
	const char *method, *url, *text;
} rows[] = {
	{ "GET", "https://evil.test/x",
	    "no rule allows GET on https://evil.test/x; the missing rule: "
	    "`- allow: https://evil.test/**`" },
	{ "GET", "https://evil.test/a/b.git/info/refs?service=git-upload-pack",
	    "no rule allows GET on https://evil.test/a/b.git/info/refs; the "
	    "missing rule: `- allow: git+https://evil.test/a/b` with `fetch: "
	    "true`, `push:` or both" },
	{ "GET", "https://evil.test/a/b.git/HEAD",
	    "no rule allows GET on https://evil.test/a/b.git/HEAD; the missing "
	    "rule: `- allow: https://evil.test/**`" },
	{ "GET", "http://evil.test:8080/x",
	    "no rule allows GET on http://evil.test:8080/x; the missing rule: "
	    "`- allow: http://evil.test:8080/**`" },
	{ "GET", "https://soon.test:8443/x",
	    "no rule allows GET on https://soon.test:8443/x; nearest: rule "
	    "`soon` (policy.yaml:18) allows https://soon.test/** on the port "
	    "that it names, else 443 (of http 80), and no other; the missing "
	    "rule: `- allow: https://soon.test:8443/**`" },
	{ "POST", "https://ok.test/x",
	    "no rule allows POST on https://ok.test/x; nearest: rule `ok` "
	    "(policy.yaml:7) allows GET, DELETE" },
	{ "TRACE", "https://any.test/a",
	    "no rule allows TRACE on https://any.test/a; nearest: rule `any` "
	    "(policy.yaml:15) allows any method of the table" },
	{ "GET", "https://ok.test/admin",
	    "rule `no-secrets` (policy.yaml:5) denies https://ok.test/admin" },
	{ "GET", "http://plain.test/y",
	    "no rule allows GET on http://plain.test/y; nearest: rule `plain` "
	    "(policy.yaml:10) allows http://plain.test/x" },
	{ "GET", "https://ok.test:8443/",
	    "no rule allows GET on https://ok.test:8443/; nearest: rule `ok` "
	    "(policy.yaml:7) allows https://ok.test/**" },
	{ "GET", "https://q.test/api?type=3&prefix=runs/1",
	    "no rule allows GET on https://q.test/api with this query; "
	    "nearest: rule `query` (policy.yaml:12) and its condition on the "
	    "query key `type`" },
	{ "GET", "https://q.test/api?type=2&prefix=runs/1&x%41=1",
	    "no rule allows GET on https://q.test/api with this query; "
	    "nearest: rule `query` (policy.yaml:12) and its condition on the "
	    "query key `x%41`" },
	{ "GET", "https://ok.test/", "rule `ok` (policy.yaml:7) allows it" },
	{ "GET", "https://192.0.2.1/",
	    "destination was not handed out to this sandbox, and no rule "
	    "names it" },
};

static void
explain_tells_what_is_missing(void **state)
{
	struct bed b;

	(void)state;
	bed_load(&b, NULL, policy);
	assert_non_null(b.program);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct facts f =
		    bed_request(b.program, rows[i].method, rows[i].url);
		struct verdict v = policy_decide(b.program, &f);
		struct buf out;
		buf_init(&out, 4096);
		policy_explain(b.program, &f, &v, &out);
		print_message("# %s %s\n", rows[i].method, rows[i].url);
		assert_string_equal(buf_text(&out), rows[i].text);
		buf_release(&out);
	}
	bed_release(&b);
}

/* What a peer chose is cut, and no control of it gets out. */
static void
explain_bounds_what_a_peer_chose(void **state)
{
	char method[9000];
	struct bed b;
	struct buf out;

	(void)state;
	bed_load(&b, NULL, policy);
	memset(method, 'A', sizeof(method) - 1);
	method[sizeof(method) - 1] = '\0';
	method[3] = '\x1b';
	struct facts f = bed_request(b.program, method, "https://ok.test/");
	struct verdict v = policy_decide(b.program, &f);
	buf_init(&out, 4096);
	policy_explain(b.program, &f, &v, &out);
	assert_false(out.failed);
	assert_true(out.n < 500);
	assert_null(memchr(out.p, 0x1b, out.n));
	buf_release(&out);
	bed_release(&b);
}

static void
explain_says_what_each_rule_stumbles_over(void **state)
{
	static const struct {
		const char *method, *url;
		uint32_t rule;
		const char *what; /* NULL: it matches */
	} cases[] = {
		{ "GET", "https://ok.test/x", 0, "path" },
		{ "GET", "https://ok.test/x", 1, NULL },
		{ "GET", "https://ok.test/x", 2, "host" },
		{ "POST", "https://ok.test/x", 1, "method" },
		{ "GET", "https://ok.test:1/x", 1, "port" },
		{ "GET", "http://ok.test:443/x", 1, "scheme or upgrade" },
		{ "GET", "https://q.test/api", 3, "query" },
	};
	struct bed b;

	(void)state;
	bed_load(&b, NULL, policy);
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct facts f =
		    bed_request(b.program, cases[i].method, cases[i].url);
		const char *what = policy_stumble(b.program, &f, cases[i].rule);
		print_message("# %s\n", cases[i].url);
		if (cases[i].what == NULL)
			assert_null(what);
		else
			assert_string_equal(what, cases[i].what);
	}
	bed_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(explain_tells_what_is_missing),
		cmocka_unit_test(explain_bounds_what_a_peer_chose),
		cmocka_unit_test(explain_says_what_each_rule_stumbles_over),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
