/* SPDX-License-Identifier: Apache-2.0 */
/* `expires:`: what moment it is, and that behind it the rule is not there. */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "policy/address.h"
#include "policy_bed.h"

static const char frame[] = "version: 1\n"
			    "policies:\n"
			    "  p:\n"
			    "    rules:\n"
			    "      - allow: https://a.test/**\n"
			    "        expires: %s\n";

static void
expires_is_that_moment(void **state)
{
	/* As `date -u +%s -d` says. */
	static const struct {
		const char *text;
		uint64_t seconds;
	} rows[] = {
		{ "1970-01-01T00:00:02Z", 2 },
		{ "2000-02-29T23:59:59Z", 951868799 },
		{ "2027-01-31T12:00:00Z", 1801396800 },
		{ "2027-01-31T12:00:00+01:00", 1801393200 },
		{ "2027-01-31T12:00:00-08:30", 1801427400 },
		{ "2027-12-31T23:59:59-00:01", 1830297659 },
		{ "2100-03-01T00:00:00Z", 4107542400 },
		{ "9999-12-31T23:59:59Z", 253402300799 },
		{ "1970-01-01T00:00:00Z", 1 },
		{ "1970-01-01T00:00:00+05:00", 1 },
		{ "0001-01-01T00:00:00Z", 1 },
	};
	char text[sizeof(frame) + 64];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct bed b;
		snprintf(text, sizeof(text), frame, rows[i].text);
		bed_load(&b, NULL, text);
		assert_non_null(b.program);
		print_message("# %s\n", rows[i].text);
		assert_true(program_expires(b.program, 0) == rows[i].seconds);
		bed_release(&b);
	}
}

static void
expires_is_warned_of(void **state)
{
	static const struct {
		uint64_t now_s;
		const char *said; /* NULL: nothing */
	} rows[] = {
		{ 1801396800,
		    "policy.yaml:6:18: warning: the rule has expired" },
		{ 1801396799, "6:18: warning: the rule expires within a day" },
		{ 1801396800 - 86400, "expires within a day" },
		{ 1801396800 - 86401, NULL },
		{ 0, NULL },
	};
	char text[sizeof(frame) + 64];

	(void)state;
	snprintf(text, sizeof(text), frame, "2027-01-31T12:00:00Z");
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct bed b;
		bed_load_want(&b,
		    &(struct bed_want){ .policy = text,
			.now_s = rows[i].now_s });
		assert_non_null(b.program);
		if (rows[i].said == NULL)
			assert_string_equal(buf_text(&b.text), "");
		else
			assert_non_null(
			    strstr(buf_text(&b.text), rows[i].said));
		bed_release(&b);
	}
}

#define END 1801396800

static const char config[] = "version: 1\n"
			     "credentials:\n"
			     "  token:\n"
			     "    kind: token\n"
			     "    secret: {file: /run/secrets/token}\n"
			     "    only: https://a.test/**\n"
			     "private: [10.0.0.0/8]\n";

static const char policy[] = "version: 1\n"
			     "policies:\n"
			     "  p:\n"
			     "    rules:\n"
			     "      - name: short\n"
			     "        allow: https://a.test/x\n"
			     "        credential: token\n"
			     "        addresses: [10.0.0.5]\n"
			     "        expires: 2027-01-31T12:00:00Z\n"
			     "      - name: long\n"
			     "        allow: https://a.test/**\n"
			     "      - name: only\n"
			     "        allow: https://b.test/**\n"
			     "        expires: 2027-01-31T12:00:00Z\n"
			     "      - name: db\n"
			     "        allow: tcp://db.x.test:5432\n"
			     "        expires: 2027-01-31T12:00:00Z\n"
			     "      - name: every\n"
			     "        allow: https://*.x.test:5432/**\n";

static struct verdict
decide(const struct bed *b, const char *url, enum facts_kind kind,
    uint64_t now_s)
{
	struct facts f = bed_request(b->program, "GET", url);

	f.kind = kind;
	f.now_s = now_s;
	f.qtype = 1;
	if (kind == FACTS_DIAL)
		f.rule = 2;
	if (kind == FACTS_CONNECT && f.port == 5432) {
		f.scheme = SCHEME_TCP;
		f.has_sni = false;
	}
	return policy_decide(b->program, &f);
}

static void
expires_takes_the_rule_away(void **state)
{
	static const struct {
		const char *url;
		enum facts_kind kind;
		enum reason before, after;
	} rows[] = {
		{ "https://a.test/x", FACTS_REQUEST, REASON_ALLOW,
		    REASON_ALLOW },
		{ "https://b.test/x", FACTS_REQUEST, REASON_ALLOW,
		    REASON_TLS_SNI_DENIED },
		{ "https://b.test/x", FACTS_CONNECT, REASON_ALLOW,
		    REASON_TLS_SNI_DENIED },
		{ "https://b.test/x", FACTS_NAME, REASON_ALLOW,
		    REASON_DNS_DENIED },
		{ "https://b.test/x", FACTS_DIAL, REASON_ALLOW,
		    REASON_POLICY_CHANGED },
		{ "https://db.x.test:5432/", FACTS_CONNECT, REASON_ALLOW_TCP,
		    REASON_HTTP_UPGRADE },
	};
	struct bed b;

	(void)state;
	bed_load(&b, config, policy);
	assert_non_null(b.program);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct verdict before =
		    decide(&b, rows[i].url, rows[i].kind, END - 1);
		struct verdict after =
		    decide(&b, rows[i].url, rows[i].kind, END);
		/* At a time that nobody knows it is not there either. */
		struct verdict unknown =
		    decide(&b, rows[i].url, rows[i].kind, 0);
		print_message("# %s %d\n", rows[i].url, rows[i].kind);
		assert_int_equal(before.reason, rows[i].before);
		assert_int_equal(after.reason, rows[i].after);
		assert_int_equal(unknown.reason, rows[i].after);
	}
	/* The next rule decides, and with it what is attached. */
	struct verdict v = decide(&b, "https://a.test/x", FACTS_REQUEST, END);
	assert_int_equal(v.rule, 1);
	assert_int_equal(v.n_credentials, 0);
	v = decide(&b, "https://a.test/x", FACTS_REQUEST, END - 1);
	assert_int_equal(v.rule, 0);
	assert_int_equal(v.n_credentials, 1);
	bed_release(&b);
}

static void
expires_closes_its_addresses(void **state)
{
	struct ip ip = ip_v4(10, 0, 0, 5);
	struct bed b;

	(void)state;
	bed_load(&b, config, policy);
	assert_non_null(b.program);
	struct address_of of = { SLICE("a.test"), 443, END - 1 };
	assert_int_equal(address_judge(b.program, &of, &ip, NULL, 0),
	    REASON_ALLOW);
	of.now_s = END;
	assert_int_equal(address_judge(b.program, &of, &ip, NULL, 0),
	    REASON_UP_PRIVATE);
	bed_release(&b);
}

static void
expires_is_explained(void **state)
{
	struct facts f;
	struct verdict v;
	struct buf out;
	struct bed b;

	(void)state;
	bed_load(&b, config, policy);
	assert_non_null(b.program);
	buf_init(&out, 4096);
	f = bed_request(b.program, "GET", "https://b.test/x");
	f.now_s = END;
	v = policy_decide(b.program, &f);
	policy_explain(b.program, &f, &v, &out);
	assert_non_null(strstr(buf_text(&out),
	    "; rule `only` (policy.yaml:12) allowed it until "
	    "2027-01-31T12:00:00Z"));
	assert_string_equal(policy_stumble(b.program, &f, 2), "time");
	assert_string_equal(policy_stumble(b.program, &f, 0), "host");
	f.now_s = END - 1;
	assert_null(policy_stumble(b.program, &f, 2));
	assert_true(program_may_expire(b.program));
	buf_release(&out);
	bed_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(expires_is_that_moment),
		cmocka_unit_test(expires_is_warned_of),
		cmocka_unit_test(expires_takes_the_rule_away),
		cmocka_unit_test(expires_closes_its_addresses),
		cmocka_unit_test(expires_is_explained),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
