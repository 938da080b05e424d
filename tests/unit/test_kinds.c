/* SPDX-License-Identifier: Apache-2.0 */
/* What a connection is (served, tls, tcp), and what is allowed of it then. */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "policy_bed.h"

static const char policy[] =
    "version: 1\n"
    "policies:\n"
    "  p:\n"
    "    rules:\n"
    "      - {name: pin, allow: 'tls://pin.test'}\n"
    "      - {name: db, allow: 'tcp://db.test:5432'}\n"
    "      - {name: web, allow: 'https://ok.test/**'}\n"
    "      - {name: wild, allow: 'https://*.wild.test/**'}\n"
    "      - {name: late, allow: 'tls://late.wild.test'}\n"
    "      - {name: early, allow: 'tls://early.first.test'}\n"
    "      - {name: first, allow: 'https://*.first.test/**'}\n"
    "      - {name: plain, allow: 'http://*.plain.test:443/**'}\n"
    "      - {name: unplain, allow: 'tls://x.plain.test'}\n"
    "      - {name: cut, deny: 'https://*.cut.test/private/**'}\n"
    "      - {name: uncut, allow: 'tls://xn--q.cut.test'}\n"
    "      - {name: never, deny: 'tcp://no.test:25'}\n"
    "      - {name: still, allow: 'tcp://no.test:25'}\n"
    "      - {name: bare, allow: 'tls://203.0.113.9:8443'}\n"
    "      - {name: bare6, allow: 'tcp://[fd00::7]:5432'}\n"
    "      - {name: both, allow: ['tls://two.test', 'tcp://two.test:22']}\n";

static const struct {
	const char *what;
	const char *dst; /* a name, whose address is meant; or an address */
	uint16_t port;
	enum scheme kind;	   /* that policy_kind() says */
	enum scheme scheme;	   /* of the facts */
	const char *sni, *host;	   /* NULL: none */
	const char *reason, *rule; /* rule NULL: none */
} rows[] = {
	{ "TL-34", "pin.test", 443, SCHEME_TLS, SCHEME_TLS, "pin.test", NULL,
	    "allow.pass", "pin" },
	{ "TL-35 no SNI", "pin.test", 443, SCHEME_TLS, SCHEME_TLS, NULL, NULL,
	    "tls.no_sni", NULL },
	{ "TL-35 another name", "pin.test", 443, SCHEME_TLS, SCHEME_TLS,
	    "ok.test", NULL, "tls.dst_mismatch", NULL },
	{ "TL-35 no name of ours", "pin.test", 443, SCHEME_TLS, SCHEME_TLS,
	    "evil.test", NULL, "tls.sni_denied", NULL },
	{ "TL-35 plain HTTP", "pin.test", 443, SCHEME_TLS, SCHEME_HTTP, NULL,
	    NULL, "tls.not_tls", NULL },
	{ "TL-02 the refusal address", "evil.test", 443, SCHEME_HTTPS,
	    SCHEME_HTTPS, "pin.test", NULL, "tls.dst_mismatch", NULL },
	{ "another name's address", "ok.test", 443, SCHEME_HTTPS, SCHEME_HTTPS,
	    "pin.test", NULL, "tls.dst_mismatch", NULL },
	{ "an address of nobody's", "203.0.113.66", 443, SCHEME_HTTPS,
	    SCHEME_HTTPS, "pin.test", NULL, "dst.unmapped_ip", NULL },
	{ "served, though it is not", "pin.test", 443, SCHEME_TLS, SCHEME_HTTPS,
	    "pin.test", NULL, "http.malformed", NULL },
	{ "passed, though it is served", "ok.test", 443, SCHEME_HTTPS,
	    SCHEME_TLS, "ok.test", NULL, "http.upgrade", NULL },
	{ "another port", "pin.test", 8443, SCHEME_HTTPS, SCHEME_HTTPS,
	    "pin.test", NULL, "dst.port", NULL },

	{ "UP-17", "db.test", 5432, SCHEME_TCP, SCHEME_TCP, NULL, "db.test",
	    "allow.tcp", "db" },
	{ "UP-17 another port", "db.test", 5433, SCHEME_HTTPS, SCHEME_HTTP,
	    NULL, NULL, "dst.port", NULL },
	{ "UP-17 port 443", "db.test", 443, SCHEME_HTTPS, SCHEME_HTTPS,
	    "db.test", NULL, "dst.port", NULL },
	{ "tcp with another name", "db.test", 5432, SCHEME_TCP, SCHEME_TCP,
	    NULL, "ok.test", "http.host_mismatch", NULL },
	{ "tcp with none", "db.test", 5432, SCHEME_TCP, SCHEME_TCP, NULL, NULL,
	    "http.host_denied", NULL },
	{ "tcp at the refusal address", "evil.test", 5432, SCHEME_HTTPS,
	    SCHEME_TCP, NULL, "db.test", "http.host_mismatch", NULL },
	{ "read, though it is not", "db.test", 5432, SCHEME_TCP, SCHEME_HTTPS,
	    "db.test", NULL, "http.malformed", NULL },

	{ "hidden by a wildcard", "late.wild.test", 443, SCHEME_HTTPS,
	    SCHEME_HTTPS, "late.wild.test", NULL, "allow", NULL },
	{ "hidden, and asked for", "late.wild.test", 443, SCHEME_HTTPS,
	    SCHEME_TLS, "late.wild.test", NULL, "http.upgrade", NULL },
	{ "before a wildcard", "early.first.test", 443, SCHEME_TLS, SCHEME_TLS,
	    "early.first.test", NULL, "allow.pass", "early" },
	{ "beside it", "x.first.test", 443, SCHEME_HTTPS, SCHEME_HTTPS,
	    "x.first.test", NULL, "allow", NULL },
	{ "hidden by plain HTTP", "x.plain.test", 443, SCHEME_HTTPS,
	    SCHEME_HTTPS, "x.plain.test", NULL, "http.malformed", NULL },
	{ "a deny rule says what it is", "xn--q.cut.test", 443, SCHEME_HTTPS,
	    SCHEME_HTTPS, "xn--q.cut.test", NULL, "http.malformed", NULL },
	{ "denied as a whole", "no.test", 25, SCHEME_TCP, SCHEME_TCP, NULL,
	    "no.test", "deny.rule", "never" },

	{ "TL-08 an address", "203.0.113.9", 8443, SCHEME_TLS, SCHEME_TLS, NULL,
	    NULL, "allow.pass", "bare" },
	{ "a name at an address", "203.0.113.9", 8443, SCHEME_TLS, SCHEME_TLS,
	    "pin.test", NULL, "tls.dst_mismatch", NULL },
	{ "an IPv6 address", "fd00::7", 5432, SCHEME_TCP, SCHEME_TCP, NULL,
	    "fd00::7", "allow.tcp", "bare6" },
	{ "its neighbour", "fd00::8", 5432, SCHEME_HTTPS, SCHEME_TCP, NULL,
	    "fd00::7", "dst.unmapped_ip", NULL },
	{ "two of one rule", "two.test", 22, SCHEME_TCP, SCHEME_TCP, NULL,
	    "two.test", "allow.tcp", "both" },
	{ "the other", "two.test", 443, SCHEME_TLS, SCHEME_TLS, "two.test",
	    NULL, "allow.pass", "both" },
};

static int
load(void **state)
{
	static struct bed b;

	bed_load_trusted(&b, NULL, policy);
	assert_non_null(b.program);
	*state = &b;
	return 0;
}

static int
unload(void **state)
{
	bed_release(*state);
	return 0;
}

static struct facts
facts_of(const struct bed *b, size_t i)
{
	struct facts f = { .kind = FACTS_CONNECT,
		.port = rows[i].port,
		.scheme = rows[i].scheme };

	if (!ip_parse(slice_of_str(rows[i].dst), &f.dst) &&
	    !program_address(b->program, slice_of_str(rows[i].dst), &f.dst))
		f.dst = program_refusal_address(b->program);
	f.has_sni = rows[i].sni != NULL;
	if (rows[i].sni != NULL)
		f.sni = slice_of_str(rows[i].sni);
	if (rows[i].host != NULL)
		f.host = slice_of_str(rows[i].host);
	return f;
}

static void
policy_knows_the_kind_and_judges_by_it(void **state)
{
	const struct bed *b = *state;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct facts f = facts_of(b, i);
		struct slice name;

		print_message("# %s\n", rows[i].what);
		assert_int_equal(policy_kind(b->program, &f.dst, f.port, &name),
		    rows[i].kind);
		struct verdict v = policy_decide(b->program, &f);
		assert_string_equal(reason_name(v.reason), rows[i].reason);
		assert_int_equal(v.allow && !v.report,
		    reason_is_allow(v.reason));
		if (rows[i].rule == NULL)
			assert_int_equal(v.rule, VERDICT_NONE);
		else
			assert_true(
			    slice_eq_str(program_rule(b->program, v.rule).name,
				rows[i].rule));
	}
}

static void
policy_kind_names_exact_hosts_alone(void **state)
{
	const struct bed *b = *state;
	struct slice name;
	struct ip ip;

	assert_true(program_address(b->program, SLICE("db.test"), &ip));
	(void)policy_kind(b->program, &ip, 1, &name);
	assert_true(slice_eq_str(name, "db.test"));
	assert_true(program_address(b->program, SLICE("q.wild.test"), &ip));
	assert_int_equal(policy_kind(b->program, &ip, 443, &name),
	    SCHEME_HTTPS);
	assert_int_equal(name.n, 0);
}

/* What passes unread is dialled for its own rule, name and port alone. */
static void
policy_allows_the_dial_of_what_passes(void **state)
{
	static const struct {
		const char *rule, *host;
		uint16_t port;
		enum scheme scheme;
		bool allow;
	} dials[] = {
		{ "pin", "pin.test", 443, SCHEME_TLS, true },
		{ "pin", "pin.test", 443, SCHEME_HTTPS, false },
		{ "pin", "pin.test", 80, SCHEME_TLS, false },
		{ "pin", "ok.test", 443, SCHEME_TLS, false },
		{ "db", "db.test", 5432, SCHEME_TCP, true },
		{ "db", "db.test", 5432, SCHEME_TLS, false },
		{ "web", "ok.test", 443, SCHEME_TLS, false },
		{ "late", "late.wild.test", 443, SCHEME_TLS, false },
		{ "wild", "late.wild.test", 443, SCHEME_HTTPS, true },
		{ "first", "early.first.test", 443, SCHEME_HTTPS, false },
		{ "first", "x.first.test", 443, SCHEME_HTTPS, true },
		{ "never", "no.test", 25, SCHEME_TCP, false },
		{ "bare6", "fd00::7", 5432, SCHEME_TCP, true },
	};
	const struct bed *b = *state;

	for (size_t i = 0; i < COUNT_OF(dials); i++) {
		struct facts f = { .kind = FACTS_DIAL,
			.host = slice_of_str(dials[i].host),
			.port = dials[i].port,
			.scheme = dials[i].scheme };
		while (!slice_eq_str(program_rule(b->program, f.rule).name,
		    dials[i].rule))
			f.rule++;
		print_message("# %s %s\n", dials[i].rule, dials[i].host);
		struct verdict v = policy_decide(b->program, &f);
		assert_int_equal(v.allow, dials[i].allow);
		assert_int_equal(v.allow, v.reason == REASON_ALLOW);
	}
}

static void
policy_answers_names_that_pass(void **state)
{
	static const char *const names[] = { "pin.test", "db.test",
		"late.wild.test" };
	const struct bed *b = *state;

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		struct facts f = { .kind = FACTS_NAME,
			.qtype = 1,
			.host = slice_of_str(names[i]) };
		assert_true(policy_decide(b->program, &f).allow);
	}
	struct facts f = { .kind = FACTS_NAME,
		.qtype = 1,
		.host = SLICE("no.test") };
	assert_false(policy_decide(b->program, &f).allow);
}

/* No request is judged where none is read. */
static void
policy_has_no_requests_in_what_passes(void **state)
{
	const struct bed *b = *state;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct facts f = facts_of(b, i);
		f.kind = FACTS_REQUEST;
		f.method = SLICE("GET");
		f.path = SLICE("/");
		if (f.host.n == 0)
			f.host = f.sni;
		struct verdict v = policy_decide(b->program, &f);
		if (scheme_is_passed(f.scheme))
			assert_false(v.allow);
	}
}

/* What was opened for the name is opened for its dial, and a literal itself. */
static void
policy_opens_addresses_of_what_passes(void **state)
{
	const struct bed *b = *state;
	struct ip six, other;

	assert_true(ip_parse(SLICE("fd00::7"), &six));
	assert_true(ip_parse(SLICE("fd00::8"), &other));
	assert_true(program_opens(b->program, SLICE("fd00::7"), 5432, &six, 0));
	assert_false(
	    program_opens(b->program, SLICE("fd00::7"), 5433, &six, 0));
	assert_false(
	    program_opens(b->program, SLICE("fd00::7"), 5432, &other, 0));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(policy_knows_the_kind_and_judges_by_it),
		cmocka_unit_test(policy_kind_names_exact_hosts_alone),
		cmocka_unit_test(policy_allows_the_dial_of_what_passes),
		cmocka_unit_test(policy_answers_names_that_pass),
		cmocka_unit_test(policy_has_no_requests_in_what_passes),
		cmocka_unit_test(policy_opens_addresses_of_what_passes),
	};

	return cmocka_run_group_tests_name("kinds", tests, load, unload);
}
