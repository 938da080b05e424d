/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/attr.h"
#include "control/content.h"
#include "priv/parts.h"

static struct control_request req;

static bool
reads(const char *text, enum control_verb verb, struct content *c,
    struct problem *why)
{
	return content_read(c, slice_of_str(text), verb, SLICE("box"), &req,
	    why);
}

static void
assert_slice(struct slice a, const char *b)
{
	assert_true(slice_eq_str(a, b));
}

static void
an_attach_is_read(void **state)
{
	(void)state;
	struct content c;
	struct problem why;

	assert_true(
	    reads("{\"policy\": \"coding-agent\", \"tenant\": \"acme\","
		  " \"set\": {\"repo\": \"a/b\"},"
		  " \"labels\": {\"job\": \"17\", \"who\": \"\\u00eb\"},"
		  " \"secrets\": {\"github\": \"to\\nken\"},"
		  " \"capture\": \"gate\", \"netns\": \"/run/netns/b\","
		  " \"interface\": \"tap0\","
		  " \"addresses\": [\"192.0.2.1/24\", \"2001:db8::1\"],"
		  " \"mac\": \"02:00:00:00:0a:FF\"}",
		CONTROL_ATTACH, &c, &why));
	assert_int_equal(req.verb, CONTROL_ATTACH);
	assert_slice(req.attach.name, "box");
	assert_slice(req.attach.policy, "coding-agent");
	assert_slice(req.attach.tenant, "acme");
	assert_int_equal(req.attach.n_sets, 1);
	assert_int_equal(req.attach.n_labels, 2);
	assert_slice(req.attach.labels[1].value, "\xc3\xab");
	assert_slice(req.attach.secrets[0].value, "to\nken");
	assert_int_equal(req.attach.mode, CAPTURE_GATE);
	assert_int_equal(req.attach.n_addresses, 2);
	assert_int_equal(req.attach.addresses[0].prefix, 24);
	assert_int_equal(req.attach.addresses[1].prefix, 128);
	assert_memory_equal(req.attach.mac, "\x02\0\0\0\x0a\xff", 6);
	content_release(&c);
	assert_null(c.root);
	content_release(&c);
}

static void
an_allow_is_read(void **state)
{
	(void)state;
	struct content c;
	struct problem why;

	assert_true(reads("{\"url\": \"https://x.test/a\", \"seconds\": 7200}",
	    CONTROL_ALLOW, &c, &why));
	assert_slice(req.url, "https://x.test/a");
	assert_int_equal(req.seconds, 7200);
	content_release(&c);
}

#define NETNS "\"policy\": \"p\", \"capture\": \"netns\", \"pid\": 7"

/* clang-format off */
static const struct {
	const char *text, *where, *detail;
} attaches[] = {
	{ "[]", "$", "expected an object, found a list" },
	{ "{" NETNS ", \"polcy\": \"x\"}", "$.polcy",
	    "no such key; did you mean `policy`?" },
	{ "{" NETNS ", \"a b\": 1}", "$[\"a b\"]", "no such key" },
	{ "{" NETNS ", \"\": 1}", "$[\"\"]", "no such key" },
	{ "{" NETNS ", \"tenant\": 1}", "$.tenant",
	    "expected a string, found a whole number" },
	{ "{" NETNS ", \"tenant\": null}", "$.tenant",
	    "expected a string, found null" },
	{ "{" NETNS ", \"tenant\": \"\"}", "$.tenant",
	    "expected a string that is not empty" },
	{ "{" NETNS ", \"set\": []}", "$.set",
	    "expected an object of strings, found a list" },
	{ "{" NETNS ", \"secrets\": {\"github\": 5}}", "$.secrets.github",
	    "expected a string, found a whole number" },
	{ "{" NETNS ", \"labels\": {\"a\": {}}}", "$.labels.a",
	    "expected a string, found an object" },
	{ "{\"policy\": \"p\", \"capture\": \"bridge\"}", "$.capture",
	    "expected netns, gate, interface, shared or proxy" },
	{ "{\"policy\": \"p\"}", "$.capture",
	    "expected netns, gate, interface, shared or proxy" },
	{ "{\"capture\": \"netns\", \"pid\": 7}", "$.policy",
	    "expected the name of a policy, or its text in `policy_text`" },
	{ "{\"policy\": \"p\", \"capture\": \"netns\", \"pid\": 0}", "$.pid",
	    "expected 1 to 2147483647" },
	{ "{\"policy\": \"p\", \"capture\": \"netns\", \"pid\": 1.5}", "$.pid",
	    "expected a whole number, found a fraction" },
	{ "{\"policy\": \"../p\", \"capture\": \"netns\", \"pid\": 1}",
	    "$.policy", "expected FILE or FILE:NAME below the policies of the "
	    "configuration, without `.yaml`" },
	{ "{" NETNS ", \"addresses\": \"x\"}", "$.addresses",
	    "expected a list of addresses, found a string" },
	{ "{" NETNS ", \"addresses\": [\"192.0.2.1\", \"x\"]}",
	    "$.addresses[1]", "expected ADDRESS or ADDRESS/BITS" },
	{ "{" NETNS ", \"addresses\": [true]}", "$.addresses[0]",
	    "expected a string, found true" },
	{ "{" NETNS ", \"mac\": \"02-00-00-00-00-01\"}", "$.mac",
	    "expected six pairs of hex digits: 02:00:00:00:00:01" },
	{ "{" NETNS ", \"interface\": \"tap0\"}", "$.interface",
	    "this kind of capture has no use for it" },
	{ "{" NETNS ", \"secrets\": {\"a\\nb\": \"x\"}}", "$.secrets",
	    "expected a key of at most 64 letters, digits, `-`, `_` and `.`" },
};

static const struct {
	const char *text, *where, *detail;
} allows[] = {
	{ "{}", "$.url", "expected the URL that is to be allowed" },
	{ "{\"url\": \"https://x.test\"}", "$.seconds",
	    "expected 1 to 2592000 (30 days)" },
	{ "{\"url\": \"https://x.test\", \"seconds\": 2592001}", "$.seconds",
	    "expected 1 to 2592000 (30 days)" },
	{ "{\"url\": \"https://x.test\", \"credential\": \"c\"}",
	    "$.credential", "no such key" },
};
/* clang-format on */

static void
wants(const char *text, enum control_verb verb, const char *where,
    const char *detail)
{
	struct content c;
	struct problem why;

	print_message("# %s\n", text);
	assert_false(reads(text, verb, &c, &why));
	assert_int_equal(why.code, CONTROL_REQUEST_WRONG);
	assert_string_equal(why.where, where);
	assert_string_equal(why.detail, detail);
	assert_null(c.root);
}

static void
what_is_wrong_is_said_where_it_stands(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(attaches); i++)
		wants(attaches[i].text, CONTROL_ATTACH, attaches[i].where,
		    attaches[i].detail);
	for (size_t i = 0; i < COUNT_OF(allows); i++)
		wants(allows[i].text, CONTROL_ALLOW, allows[i].where,
		    allows[i].detail);
}

static void
malformed(const char *text, const char *detail)
{
	struct content c;
	struct problem why;

	print_message("# %.60s\n", text);
	assert_false(reads(text, CONTROL_ATTACH, &c, &why));
	assert_int_equal(why.code, CONTROL_REQUEST_MALFORMED);
	assert_string_equal(why.detail, detail);
}

static void
what_is_no_json_is_malformed(void **state)
{
	(void)state;
	malformed("{\"policy\": \"p\", \"policy\": \"q\"}",
	    "line 1, column 24: duplicate object key");
	malformed("", "line 1, column 0: '[' or '{' expected");
	malformed("{} {}", "line 1, column 4: end of file expected");
	malformed("[[[[[[[[[1]]]]]]]]]", "it is nested too deeply");
	malformed("{\"a\": \"\\u0000\"}",
	    "line 1, column 14: \\u0000 is not allowed without JSON_ALLOW_NUL");
}

/* What jansson quotes may be a secret, and answers come into logs. */
static void
a_secret_is_not_quoted(void **state)
{
	(void)state;
	struct content c;
	struct problem why;

	assert_false(reads("{\"secrets\": {\"a\": \"hunter2\" \"hunter2\"}}",
	    CONTROL_ATTACH, &c, &why));
	assert_null(strstr(why.detail, "hunter2"));
	assert_false(reads("{\"secrets\": {\"a\": \"hunter2\"}}",
	    CONTROL_ATTACH, &c, &why));
	assert_null(strstr(why.detail, "hunter2"));
}

static void
lists_have_an_end(void **state)
{
	(void)state;
	char text[4096] = "{\"labels\": {";
	struct content c;
	struct problem why;
	size_t n = strlen(text);

	for (int i = 0; i <= CONTROL_LABELS_MAX; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
		    "%s\"k%d\": \"v\"", i == 0 ? "" : ",", i);
	snprintf(text + n, sizeof(text) - n, "}}");
	assert_false(reads(text, CONTROL_ATTACH, &c, &why));
	assert_string_equal(why.where, "$.labels");
	assert_string_equal(why.detail, "expected at most 32");
}

static void
durations_are_read(void **state)
{
	(void)state;
	static const struct {
		const char *text;
		uint32_t s; /* 0: refused */
	} rows[] = { { "90", 90 }, { "90s", 90 }, { "15m", 900 },
		{ "2h", 7200 }, { "30d", 2592000 }, { "31d", 0 }, { "0", 0 },
		{ "0h", 0 }, { "", 0 }, { "h", 0 }, { "-1h", 0 }, { "+1", 0 },
		{ "1.5h", 0 }, { "2w", 0 }, { "2 h", 0 }, { "01h", 0 },
		{ "99999999999", 0 } };

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint32_t s = 0;
		print_message("# '%s'\n", rows[i].text);
		assert_int_equal(parts_seconds(slice_of_str(rows[i].text), &s),
		    rows[i].s != 0);
		assert_int_equal(s, rows[i].s);
	}
}

static void
addresses_and_macs_are_read(void **state)
{
	(void)state;
	static const char *const bad[] = { "", "/24", "192.0.2.1/",
		"192.0.2.1/33", "192.0.2.1/024", "192.0.2.1/2 ", "x", "::/129",
		"1.2.3", "192.0.2.1/24/24" };
	struct control_address a;
	uint8_t mac[6];

	for (size_t i = 0; i < COUNT_OF(bad); i++)
		assert_false(parts_address(slice_of_str(bad[i]), &a));
	assert_true(parts_address(SLICE("0.0.0.0/0"), &a));
	assert_int_equal(a.prefix, 0);
	assert_true(parts_address(SLICE("::1/128"), &a));
	assert_false(parts_mac(SLICE("02:00:00:00:00:0"), mac));
	assert_false(parts_mac(SLICE("02:00:00:00:00:0g"), mac));
	assert_false(parts_mac(SLICE("02:00:00:00:00.01"), mac));
	assert_true(parts_mac(SLICE("02:00:00:00:00:01"), mac));
}

static int
set_up(void **state)
{
	(void)state;
	content_setup(1);
	return 0;
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_attach_is_read),
		cmocka_unit_test(an_allow_is_read),
		cmocka_unit_test(what_is_wrong_is_said_where_it_stands),
		cmocka_unit_test(what_is_no_json_is_malformed),
		cmocka_unit_test(a_secret_is_not_quoted),
		cmocka_unit_test(lists_have_an_end),
		cmocka_unit_test(durations_are_read),
		cmocka_unit_test(addresses_and_macs_are_read),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
