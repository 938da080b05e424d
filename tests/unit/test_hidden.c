/* SPDX-License-Identifier: Apache-2.0 */
/* CF-15, CF-17, CF-18: rules that can never decide, deny rules that miss. */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/limits.h"
#include "policy_bed.h"

#define HIDDEN "is hidden by the"
#define NOTHING "has nothing to cut out"
#define ALL "denies all that follows"

static const struct {
	const char *name, *rules;
	const char *warning; /* NULL: none */
} rows[] = {
	{ "narrow after broad",
	    "[{allow: 'https://a.test/**'}, {allow: 'https://a.test/x'}]",
	    HIDDEN },
	{ "broad after narrow",
	    "[{allow: 'https://a.test/x'}, {allow: 'https://a.test/**'}]",
	    NULL },
	{ "the same twice",
	    "[{allow: 'https://a.test/x'}, {allow: 'https://a.test/x'}]",
	    HIDDEN },
	{ "other method",
	    "[{allow: 'https://a.test/**'}, {allow: 'https://a.test/x', "
	    "methods: [POST]}]",
	    NULL },
	{ "fewer methods",
	    "[{allow: 'https://a.test/**', methods: any}, {allow: "
	    "'https://a.test/x'}]",
	    HIDDEN },
	{ "a condition before",
	    "[{allow: 'https://a.test/**', query: {}}, {allow: "
	    "'https://a.test/x'}]",
	    NULL },
	{ "a condition behind",
	    "[{allow: 'https://a.test/**'}, {allow: 'https://a.test/x', "
	    "query: {}}]",
	    HIDDEN },
	{ "encoded slashes only the second takes",
	    "[{allow: 'https://a.test/**'}, {allow: 'https://a.test/x', "
	    "encoded_slash: true}]",
	    NULL },
	{ "other port",
	    "[{allow: 'https://a.test/**'}, {allow: "
	    "'https://a.test:8443/x'}]",
	    NULL },
	{ "other scheme",
	    "[{allow: 'https://a.test:8080/**'}, {allow: 'http://a.test:8080/x'}]",
	    NULL },
	{ "under a wildcard",
	    "[{allow: 'https://*.b.test/**'}, {allow: 'https://a.b.test/x'}]",
	    HIDDEN },
	{ "a name that a wildcard does not cover",
	    "[{allow: 'https://*.b.test/**'}, {allow: "
	    "'https://xn--a.b.test/x'}]",
	    NULL },
	{ "one of two patterns",
	    "[{allow: 'https://a.test/**'}, {allow: ['https://a.test/x', "
	    "'https://c.test/']}]",
	    "`https://a.test/x` is hidden by the allow rule `rule-1`" },
	{ "deny after allow",
	    "[{allow: 'https://a.test/**', methods: any}, {deny: "
	    "'https://a.test/s/**', methods: [GET]}]",
	    HIDDEN },
	{ "deny of all methods after an allow of some",
	    "[{allow: 'https://a.test/**'}, {deny: 'https://a.test/s/**'}]",
	    NOTHING },
	{ "deny before allow",
	    "[{deny: 'https://a.test/s/**'}, {allow: 'https://a.test/**'}]",
	    NULL },
	{ "deny as wide as what follows",
	    "[{deny: 'https://a.test/**'}, {allow: 'https://a.test/**'}]",
	    ALL },
	{ "deny wider than what follows",
	    "[{deny: 'https://**.a.test/**'}, {allow: 'https://x.a.test/y'}]",
	    ALL },
	{ "deny of a name that nothing allows",
	    "[{deny: 'https://c.test/**'}, {allow: 'https://a.test/**'}]",
	    NOTHING },
	{ "deny of a name under an allowed wildcard",
	    "[{deny: 'https://x.a.test/**'}, {allow: 'https://*.a.test/**'}]",
	    NULL },
	{ "tls under a wildcard that is served",
	    "[{allow: 'https://*.b.test/x', methods: [PUT]}, {allow: "
	    "'tls://a.b.test'}]",
	    "rule `rule-2` is hidden by the allow rule `rule-1`" },
	{ "tls under a wildcard of plain HTTP",
	    "[{allow: 'http://*.b.test:443/x'}, {allow: 'tls://a.b.test'}]",
	    HIDDEN },
	{ "tcp under a deny rule",
	    "[{deny: 'https://**.b.test:5432/x'}, {allow: "
	    "'tcp://a.b.test:5432'}]",
	    "is hidden by the deny rule `rule-1`" },
	{ "a wildcard behind tls",
	    "[{allow: 'tls://a.b.test'}, {allow: 'https://*.b.test/**'}]",
	    NULL },
	{ "tls on another port",
	    "[{allow: 'https://*.b.test/**'}, {allow: 'tls://a.b.test:8443'}]",
	    NULL },
	{ "tcp on port 443", "[{allow: 'tcp://a.test:443'}]",
	    "`tcp` on port 443: `https`, `http` or `tls` would see more" },
	{ "an upgrade behind requests",
	    "[{allow: 'https://a.test/**'}, {allow: 'wss://a.test/x'}]", NULL },
	{ "an upgrade behind an upgrade",
	    "[{allow: 'wss://a.test/**'}, {allow: 'wss://a.test/x'}]", HIDDEN },
	{ "an upgrade behind a deny rule of requests",
	    "[{deny: 'https://a.test/x'}, {allow: 'wss://a.test/x'}]", HIDDEN },
	{ "an upgrade behind a deny rule of other methods",
	    "[{deny: 'https://a.test/x', methods: [POST]}, {allow: "
	    "'wss://a.test/x'}]",
	    NULL },
	{ "requests behind a deny rule of upgrades",
	    "[{deny: 'wss://a.test/**'}, {allow: 'https://a.test/x'}]",
	    NOTHING },
	{ "ws on port 443", "[{allow: 'ws://a.test:443/x'}]",
	    "`ws` on port 443: TLS is usual there" },
	{ "every name", "[{allow: 'https://**/**'}]", "`**` is every name" },
};

static void
hidden_warns_of_each(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char text[1024];
		struct bed b;
		snprintf(text, sizeof(text),
		    "version: 1\npolicies: {p: {rules: %s}}\n", rows[i].rules);
		print_message("# %s\n", rows[i].name);
		bed_load(&b, NULL, text);
		assert_non_null(b.program);
		if (rows[i].warning == NULL)
			assert_string_equal(buf_text(&b.text), "");
		else
			assert_non_null(
			    strstr(buf_text(&b.text), rows[i].warning));
		bed_release(&b);
	}
}

/* CF-15, CF-17: the verdict is the first rule's all the same. */
static void
hidden_rules_do_not_decide(void **state)
{
	static const char policy[] =
	    "version: 1\npolicies: {p: {rules: [{allow: 'https://a.test/**', "
	    "methods: any}, {deny: 'https://a.test/secret/**'}]}}\n";
	struct bed b;

	(void)state;
	bed_load(&b, NULL, policy);
	assert_non_null(b.program);
	struct facts f =
	    bed_request(b.program, "GET", "https://a.test/secret/x");
	struct verdict v = policy_decide(b.program, &f);
	assert_true(v.allow);
	assert_int_equal(v.rule, 0);
	bed_release(&b);
}

/* As many rules as there may be, all of one host, are read in time. */
static void
hidden_gives_up_in_time(void **state)
{
	struct buf yaml;
	struct bed b;

	(void)state;
	buf_init(&yaml, LIMIT_POLICY_FILE_SIZE);
	buf_put_str(&yaml, "version: 1\npolicies:\n  p:\n    rules:\n");
	for (unsigned i = 0; i < 50000; i++)
		buf_putf(&yaml, "    - {allow: https://a.test/%u}\n", i);
	bed_load(&b, NULL, buf_text(&yaml));
	assert_non_null(b.program);
	assert_non_null(strstr(buf_text(&b.text), "too many rules to look"));
	bed_release(&b);
	buf_release(&yaml);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hidden_warns_of_each),
		cmocka_unit_test(hidden_rules_do_not_decide),
		cmocka_unit_test(hidden_gives_up_in_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
