/* SPDX-License-Identifier: Apache-2.0 */
#include "row.h"
#include "wire/target.h"

static const struct {
	const char *name;
	struct slice in, host;
	uint16_t port; /* 0: none */
} authorities[] = {
	{ "name", IN("ok.test"), IN("ok.test"), 0 },
	{ "NM-20 port", IN("OK.test:443"), IN("ok.test"), 443 },
	{ "lowest port", IN("ok.test:1"), IN("ok.test"), 1 },
	{ "highest port", IN("ok.test.:65535"), IN("ok.test"), 65535 },
	{ "IPv4", IN("127.0.0.1:80"), IN("127.0.0.1"), 80 },
	{ "IPv6", IN("[::1]"), IN("::1"), 0 },
	{ "IPv6 and port", IN("[::ffff:127.0.0.1]:443"), IN("::ffff:127.0.0.1"),
	    443 },
};

static void
target_takes_each_authority(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(authorities); i++) {
		struct slice in = exact(authorities[i].in);
		struct parse_fail fail;
		struct target_authority a;

		print_message("# %s\n", authorities[i].name);
		assert_int_equal(target_authority(in, &a, &fail), PARSE_DONE);
		assert_slice(host_slice(&a.host), authorities[i].host);
		assert_int_equal(a.port, authorities[i].port);
		assert_int_equal(a.has_port, authorities[i].port != 0);
		drop(in);
	}
}

static const struct {
	const char *name;
	struct slice in;
	const char *detail;
	size_t at;
} bad_authorities[] = {
	{ "empty", IN(""), "empty name", 0 },
	{ "NM-20 no port", IN("ok.test:"), "colon without a port", 8 },
	{ "NM-20 leading zero", IN("ok.test:0443"), "port begins with a zero",
	    8 },
	{ "NM-20 zero", IN("ok.test:0"), "port begins with a zero", 8 },
	{ "NM-20 letter", IN("ok.test:443a"), "port is not a number", 11 },
	{ "sign", IN("ok.test:+443"), "port is not a number", 8 },
	{ "NM-20 over", IN("ok.test:65536"), "port over 65535", 8 },
	{ "far over", IN("ok.test:99999999999999999999"), "port over 65535",
	    8 },
	{ "two colons", IN("ok.test:443:443"), "port is not a number", 11 },
	{ "NM-10 userinfo", IN("a:b@ok.test"), "name of one label", 0 },
	{ "userinfo with an address", IN("a@[::1]"), "byte that no name has",
	    1 },
	{ "IPv6 without brackets", IN("::1"), "empty name", 0 },
	{ "bracket open", IN("[::1:443"), "no closing bracket", 8 },
	{ "text behind the bracket", IN("[::1]x:443"), "no closing bracket",
	    6 },
	{ "port behind nothing", IN(":443"), "empty name", 0 },
};

static void
target_refuses_each_bad_authority(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad_authorities); i++) {
		struct slice in = exact(bad_authorities[i].in);
		struct parse_fail fail = { .detail = "" };
		struct target_authority a;

		print_message("# %s\n", bad_authorities[i].name);
		assert_int_equal(target_authority(in, &a, &fail), PARSE_BAD);
		assert_string_equal(fail.detail, bad_authorities[i].detail);
		assert_int_equal(fail.at, bad_authorities[i].at);
		assert_int_equal(fail.reason, REASON_HTTP_MALFORMED);
		drop(in);
	}
}

static const struct {
	const char *name;
	struct slice in;
	enum target_form form;
	struct slice scheme, host, path, query;
	uint16_t port;
	bool has_query;
} targets[] = {
	{ "origin", IN("/a/b"), TARGET_ORIGIN, .path = IN("/a/b") },
	{ "query", IN("/a?b?c"), TARGET_ORIGIN, .path = IN("/a"),
	    .query = IN("b?c"), .has_query = true },
	{ "empty query", IN("/?"), TARGET_ORIGIN, .path = IN("/"),
	    .has_query = true },
	{ "PT-08 is a path", IN("//evil.test/x"), TARGET_ORIGIN,
	    .path = IN("//evil.test/x") },
	{ "not judged here", IN("/a b\\#\0"), TARGET_ORIGIN,
	    .path = IN("/a b\\#\0") },
	{ "PT-13 absolute", IN("https://OK.test/x?y"), TARGET_ABSOLUTE,
	    IN("https"), IN("ok.test"), IN("/x"), IN("y"), 0, true },
	{ "absolute with a port", IN("HTTP://ok.test:8080"), TARGET_ABSOLUTE,
	    IN("HTTP"), IN("ok.test"), IN("/"), IN(""), 8080, false },
	{ "absolute, query alone", IN("a+b-c.1://[::1]?y"), TARGET_ABSOLUTE,
	    IN("a+b-c.1"), IN("::1"), IN("/"), IN("y"), 0, true },
	{ "PT-14 authority", IN("ok.test:443"), TARGET_AUTHORITY,
	    .host = IN("ok.test"), .port = 443 },
	{ "PT-14 asterisk", IN("*"), TARGET_ASTERISK },
};

static void
target_tells_each_form(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(targets); i++) {
		struct slice in = exact(targets[i].in);
		struct parse_fail fail;
		struct target t;

		print_message("# %s\n", targets[i].name);
		assert_int_equal(target_parse(in, &t, &fail), PARSE_DONE);
		assert_int_equal(t.form, targets[i].form);
		assert_slice(t.scheme, targets[i].scheme);
		assert_slice(host_slice(&t.authority.host), targets[i].host);
		assert_int_equal(t.authority.port, targets[i].port);
		assert_slice(t.path, targets[i].path);
		assert_slice(t.query, targets[i].query);
		assert_int_equal(t.has_query, targets[i].has_query);
		drop(in);
	}
}

static const struct {
	const char *name;
	struct slice in;
	const char *detail;
	size_t at;
} bad_targets[] = {
	{ "empty", IN(""), "empty target", 0 },
	{ "PT-15 no slash", IN("x"), "target of no known form", 0 },
	{ "name without port", IN("ok.test"), "target of no known form", 0 },
	{ "name and path", IN("ok.test:443/x"), "target of no known form", 0 },
	{ "scheme without slashes", IN("https:ok.test"),
	    "target of no known form", 0 },
	{ "no scheme", IN("://ok.test/"), "target of no known form", 0 },
	{ "scheme with a digit first", IN("1http://ok.test/"),
	    "target of no known form", 0 },
	{ "asterisk and more", IN("*/"), "target of no known form", 0 },
	{ "NM-10 userinfo", IN("https://ok.test@evil.test/x"),
	    "byte that no name has", 15 },
	{ "no host", IN("https:///x"), "empty name", 8 },
	{ "fragment in the authority", IN("https://ok.test#@evil.test/"),
	    "byte that no name has", 15 },
};

static void
target_refuses_each_bad_target(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad_targets); i++) {
		struct slice in = exact(bad_targets[i].in);
		struct parse_fail fail = { .detail = "" };
		struct target t;

		print_message("# %s\n", bad_targets[i].name);
		assert_int_equal(target_parse(in, &t, &fail), PARSE_BAD);
		assert_string_equal(fail.detail, bad_targets[i].detail);
		assert_int_equal(fail.at, bad_targets[i].at);
		assert_int_equal(fail.reason, REASON_HTTP_MALFORMED);
		drop(in);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(target_takes_each_authority),
		cmocka_unit_test(target_refuses_each_bad_authority),
		cmocka_unit_test(target_tells_each_form),
		cmocka_unit_test(target_refuses_each_bad_target),
	};

	return cmocka_run_group_tests_name("target", tests, NULL, NULL);
}
