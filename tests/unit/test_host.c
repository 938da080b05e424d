/* SPDX-License-Identifier: Apache-2.0 */
#include "row.h"
#include "wire/host.h"

typedef enum parse (
    *constructor)(struct slice, struct host *, struct parse_fail *);

#define L63 "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffggg"
#define N253                              \
	L63 "." L63 "." L63 "." /* 192 */ \
	    "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeefffffffffgg" /* 253 */

/* Names that have a canonical form. */
static const struct {
	const char *name;
	constructor from;
	struct slice in, want;
	uint8_t n_labels;
	bool is_ip, has_underscore, has_alabel;
} good[] = {
	{ "plain", host_from_http, IN("ok.test"), IN("ok.test"), 2 },
	{ "NM-01 case", host_from_http, IN("OK.Test"), IN("ok.test"), 2 },
	{ "NM-01 case in SNI", host_from_sni, IN("oK.tEsT"), IN("ok.test"), 2 },
	{ "NM-02 trailing dot", host_from_http, IN("ok.test."), IN("ok.test"),
	    2 },
	{ "digits and hyphens", host_from_http, IN("a-1.0-b.3com"),
	    IN("a-1.0-b.3com"), 3 },
	{ "NM-07 label of 63", host_from_http, IN(L63 ".test"), IN(L63 ".test"),
	    2 },
	{ "NM-07 name of 253", host_from_http, IN(N253), IN(N253), 4 },
	{ "NM-07 name of 253 and a dot", host_from_http, IN(N253 "."), IN(N253),
	    4 },
	{ "NM-13 underscore", host_from_sni, IN("_x.ok.test"), IN("_x.ok.test"),
	    3, .has_underscore = true },
	{ "NM-18 A-label", host_from_http, IN("a.XN--bcher-kva.test"),
	    IN("a.xn--bcher-kva.test"), 3, .has_alabel = true },
	{ "xn-- inside a label", host_from_http, IN("axn--b.test"),
	    IN("axn--b.test"), 2 },
	{ "NM-15 dotted quad", host_from_http, IN("127.0.0.1"), IN("127.0.0.1"),
	    0, .is_ip = true },
	{ "NM-14 IPv6", host_from_http, IN("[::1]"), IN("::1"), 0,
	    .is_ip = true },
	{ "NM-14 IPv6 spelt out", host_from_http, IN("[2001:DB8:0:0::1]"),
	    IN("2001:db8::1"), 0, .is_ip = true },
	{ "NM-14 mapped", host_from_http, IN("[::ffff:127.0.0.1]"),
	    IN("::ffff:127.0.0.1"), 0, .is_ip = true },
	{ "policy", host_from_policy, IN("Ok.Test"), IN("ok.test"), 2 },
	{ "policy, IPv4", host_from_policy, IN("10.96.0.1"), IN("10.96.0.1"), 0,
	    .is_ip = true },
	{ "policy, IPv6", host_from_policy, IN("[2001:db8::5]"),
	    IN("2001:db8::5"), 0, .is_ip = true },
	{ "suffix of one label", host_from_suffix, IN("com"), IN("com"), 1 },
	{ "hex without digits before it", host_from_http, IN("a.x0"),
	    IN("a.x0"), 2 },
	{ "nearly hex", host_from_http, IN("a.0xg"), IN("a.0xg"), 2 },
	{ "dns", host_from_dns, IN("\2OK\4test\0"), IN("ok.test"), 2 },
	{ "dns, underscore", host_from_dns, IN("\2_x\2ok\4test\0"),
	    IN("_x.ok.test"), 3, .has_underscore = true },
};

static void
host_takes_each_good_name(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(good); i++) {
		struct slice in = exact(good[i].in);
		struct parse_fail fail = { .detail = "" };
		struct host h;

		print_message("# %s\n", good[i].name);
		assert_int_equal(good[i].from(in, &h, &fail), PARSE_DONE);
		assert_slice(host_slice(&h), good[i].want);
		assert_int_equal(h.text[h.n], '\0');
		assert_int_equal(h.n_labels, good[i].n_labels);
		assert_int_equal(h.is_ip, good[i].is_ip);
		assert_int_equal(h.ip.family != 0, good[i].is_ip);
		assert_int_equal(h.has_underscore, good[i].has_underscore);
		assert_int_equal(h.has_alabel, good[i].has_alabel);
		drop(in);
	}
}

static const struct {
	const char *name;
	constructor from;
	struct slice in;
	enum reason reason;
	const char *detail;
	size_t at;
} bad[] = {
	{ "empty", host_from_http, IN(""), REASON_HTTP_MALFORMED, "empty name",
	    0 },
	{ "empty SNI", host_from_sni, IN(""), REASON_TLS_SNI_INVALID,
	    "empty name", 0 },
	{ "NM-03 two dots", host_from_http, IN("ok.test.."),
	    REASON_HTTP_MALFORMED, "empty label", 8 },
	{ "NM-03 leading dot", host_from_http, IN(".ok.test"),
	    REASON_HTTP_MALFORMED, "empty label", 0 },
	{ "NM-03 doubled dot", host_from_http, IN("ok..test"),
	    REASON_HTTP_MALFORMED, "empty label", 3 },
	{ "NM-03 a dot", host_from_http, IN("."), REASON_HTTP_MALFORMED,
	    "empty label", 0 },
	{ "NM-04 trailing dot in SNI", host_from_sni, IN("ok.test."),
	    REASON_TLS_SNI_INVALID, "empty label", 8 },
	{ "trailing dot in policy", host_from_policy, IN("ok.test."),
	    REASON_HTTP_MALFORMED, "empty label", 8 },
	{ "NM-07 label of 64", host_from_http, IN(L63 "a.test"),
	    REASON_HTTP_MALFORMED, "label over 63 bytes", 0 },
	{ "NM-07 name of 254", host_from_http, IN("a" N253),
	    REASON_HTTP_MALFORMED, "label over 63 bytes", 0 },
	{ "NM-07 name of 255", host_from_http, IN("a." N253),
	    REASON_HTTP_MALFORMED, "name over 253 bytes", 253 },
	{ "NM-08 NUL", host_from_http, IN("evil.test\0.ok.test"),
	    REASON_HTTP_MALFORMED, "byte that no name has", 9 },
	{ "NM-08 NUL in SNI", host_from_sni, IN("evil.test\0.ok.test"),
	    REASON_TLS_SNI_INVALID, "byte that no name has", 9 },
	{ "NM-08 NUL in policy", host_from_policy, IN("evil.test\0.ok.test"),
	    REASON_HTTP_MALFORMED, "byte that no name has", 9 },
	{ "NM-08 NUL in DNS", host_from_dns, IN("\3a\0b\4test\0"),
	    REASON_DNS_MALFORMED, "byte that no name has", 2 },
	{ "NM-09 escape", host_from_http, IN("ok.test%00.evil.test"),
	    REASON_HTTP_MALFORMED, "byte that no name has", 7 },
	{ "NM-09 escaped letter", host_from_http, IN("%6fk.test"),
	    REASON_HTTP_MALFORMED, "byte that no name has", 0 },
	{ "NM-10 userinfo", host_from_http, IN("ok.test@evil.test"),
	    REASON_HTTP_MALFORMED, "byte that no name has", 7 },
	{ "NM-12 leading hyphen", host_from_http, IN("-x.ok.test"),
	    REASON_HTTP_MALFORMED, "label begins with a hyphen", 0 },
	{ "trailing hyphen", host_from_http, IN("x-.ok.test"),
	    REASON_HTTP_MALFORMED, "label ends with a hyphen", 1 },
	{ "NM-14 name in brackets", host_from_http, IN("[ok.test]"),
	    REASON_HTTP_MALFORMED, "no IPv6 address in brackets", 1 },
	{ "NM-14 IPv4 in brackets", host_from_http, IN("[127.0.0.1]"),
	    REASON_HTTP_MALFORMED, "no IPv6 address in brackets", 1 },
	{ "NM-14 zone", host_from_http, IN("[::1%eth0]"), REASON_HTTP_MALFORMED,
	    "no IPv6 address in brackets", 1 },
	{ "NM-14 no closing bracket", host_from_http, IN("[::1"),
	    REASON_HTTP_MALFORMED, "no closing bracket", 4 },
	{ "one bracket", host_from_http, IN("["), REASON_HTTP_MALFORMED,
	    "byte that no name has", 0 },
	{ "IPv6 without brackets", host_from_http, IN("::1"),
	    REASON_HTTP_MALFORMED, "byte that no name has", 0 },
	{ "NM-15 short IPv4", host_from_http, IN("127.1"),
	    REASON_HTTP_MALFORMED, "last label is a number", 0 },
	{ "NM-15 hex IPv4", host_from_http, IN("0x7f.0X1"),
	    REASON_HTTP_MALFORMED, "last label is a number", 0 },
	{ "NM-15 bare 0x", host_from_http, IN("a.0x"), REASON_HTTP_MALFORMED,
	    "last label is a number", 0 },
	{ "NM-15 octal", host_from_http, IN("0177.0.0.01"),
	    REASON_HTTP_MALFORMED, "last label is a number", 0 },
	{ "NM-15 dotted quad and a dot", host_from_http, IN("127.0.0.1."),
	    REASON_HTTP_MALFORMED, "last label is a number", 0 },
	{ "NM-15 one number", host_from_http, IN("2130706433"),
	    REASON_HTTP_MALFORMED, "name of one label", 0 },
	{ "TL-09 dotted quad in SNI", host_from_sni, IN("127.0.0.1"),
	    REASON_TLS_SNI_INVALID, "last label is a number", 0 },
	{ "TL-09 CR and LF in SNI", host_from_sni, IN("a_b ok\r\nX: y.test"),
	    REASON_TLS_SNI_INVALID, "byte that no name has", 3 },
	{ "NM-17 homograph", host_from_http, IN("\xd0\xbek.test"),
	    REASON_HTTP_MALFORMED, "not ASCII: write A-labels", 0 },
	{ "NM-23 one label", host_from_http, IN("localhost"),
	    REASON_HTTP_MALFORMED, "name of one label", 0 },
	{ "NM-23 one label in DNS", host_from_dns, IN("\11localhost\0"),
	    REASON_DNS_DENIED, "name of one label", 0 },
	{ "the root in DNS", host_from_dns, IN("\0"), REASON_DNS_DENIED,
	    "name of one label", 0 },
	{ "DN-13 dot in a label", host_from_dns, IN("\7ok.test\2xy\0"),
	    REASON_DNS_MALFORMED, "byte that no name has", 3 },
	{ "dns, label past the name", host_from_dns, IN("\2ok\5test\0"),
	    REASON_DNS_MALFORMED, "byte that no name has", 8 },
	{ "dns, label far past the name", host_from_dns, IN("\2ok\77test\0"),
	    REASON_DNS_MALFORMED, "label runs past the name", 3 },
	{ "dns, label of 64", host_from_dns, IN("\100" L63 "a\0"),
	    REASON_DNS_MALFORMED, "label runs past the name", 0 },
	{ "dns, no root", host_from_dns, IN("\2ok\4test"), REASON_DNS_MALFORMED,
	    "name without its root", 8 },
	{ "dns, bytes behind the root", host_from_dns, IN("\2ok\4test\0\0"),
	    REASON_DNS_MALFORMED, "name without its root", 8 },
	{ "dns, too long", host_from_dns,
	    IN("\77" L63 "\77" L63 "\77" L63 "\77" L63 "\0"),
	    REASON_DNS_MALFORMED, "name over 253 bytes", 193 },
	{ "policy, IPv6 spelt out", host_from_policy, IN("[2001:db8::0:5]"),
	    REASON_HTTP_MALFORMED, "address not as it is printed", 1 },
	{ "policy, no IPv6", host_from_policy, IN("[ok.test]"),
	    REASON_HTTP_MALFORMED, "no IPv6 address in brackets", 1 },
	{ "policy, wildcard", host_from_policy, IN("*.ok.test"),
	    REASON_HTTP_MALFORMED, "byte that no name has", 0 },
	{ "suffix, address", host_from_suffix, IN("0.0.1"),
	    REASON_HTTP_MALFORMED, "last label is a number", 0 },
};

static void
host_refuses_each_bad_name(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct slice in = exact(bad[i].in);
		struct parse_fail fail = { .detail = "" };
		struct host h;

		print_message("# %s\n", bad[i].name);
		assert_int_equal(bad[i].from(in, &h, &fail), PARSE_BAD);
		assert_string_equal(fail.detail, bad[i].detail);
		assert_int_equal(fail.at, bad[i].at);
		assert_int_equal(fail.reason, bad[i].reason);
		drop(in);
	}
}

static bool
may_stand(uint8_t c, bool inner)
{
	if ((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
	    (c >= '0' && c <= '9') || c == '_')
		return true;
	return inner && (c == '-' || c == '.');
}

/* NM-11: all 256 bytes at the beginning, inside and at the end. */
static void
host_takes_no_other_byte(void **state)
{
	static const size_t places[] = { 0, 2, 8 };

	(void)state;
	for (unsigned c = 0; c < 256; c++) {
		for (size_t i = 0; i < COUNT_OF(places); i++) {
			uint8_t text[] = "xoyk.test";
			struct parse_fail fail;
			struct host h;
			struct slice in = { text, 9 };
			bool want = may_stand((uint8_t)c, i == 1);

			text[places[i]] = (uint8_t)c;
			if (i == 2 && c == '.')
				want = true; /* one trailing dot */
			assert_int_equal(host_from_http(in, &h, &fail),
			    want ? PARSE_DONE : PARSE_BAD);
		}
	}
}

static void
host_canonical_form_is_its_own(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(good); i++) {
		uint8_t text[HOST_PUT_MAX];
		struct host h, again;
		struct parse_fail fail;

		assert_int_equal(good[i].from(good[i].in, &h, &fail),
		    PARSE_DONE);
		struct slice in = { text, host_put(&h, text) };
		if (h.n_labels == 1)
			continue;
		assert_int_equal(host_from_http(in, &again, &fail), PARSE_DONE);
		assert_true(host_eq(&h, &again));
	}
}

static void
host_puts_brackets_round_ipv6_alone(void **state)
{
	uint8_t text[HOST_PUT_MAX];
	struct ip v4 = ip_v4(10, 96, 0, 1), v6;
	struct host h;

	(void)state;
	host_from_ip(&v4, &h);
	assert_slice(slice_of(text, host_put(&h, text)), SLICE("10.96.0.1"));
	assert_true(ip_parse(SLICE("2001:db8::5"), &v6));
	host_from_ip(&v6, &h);
	assert_slice(slice_of(text, host_put(&h, text)),
	    SLICE("[2001:db8::5]"));
	assert_true(h.is_ip && ip_eq(&h.ip, &v6));
}

static void
host_eq_tells_names_apart(void **state)
{
	struct parse_fail fail;
	struct host a, b;

	(void)state;
	assert_int_equal(host_from_http(SLICE("OK.test."), &a, &fail),
	    PARSE_DONE);
	assert_int_equal(host_from_sni(SLICE("ok.TEST"), &b, &fail),
	    PARSE_DONE);
	assert_true(host_eq(&a, &b));
	assert_int_equal(host_from_sni(SLICE("xok.test"), &b, &fail),
	    PARSE_DONE);
	assert_false(host_eq(&a, &b));
	assert_false(host_ends_in_number(SLICE("")));
	assert_false(host_ends_in_number(SLICE("1.")));
	assert_true(host_ends_in_number(SLICE("0xFF")));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(host_takes_each_good_name),
		cmocka_unit_test(host_refuses_each_bad_name),
		cmocka_unit_test(host_takes_no_other_byte),
		cmocka_unit_test(host_canonical_form_is_its_own),
		cmocka_unit_test(host_puts_brackets_round_ipv6_alone),
		cmocka_unit_test(host_eq_tells_names_apart),
	};

	return cmocka_run_group_tests_name("host", tests, NULL, NULL);
}
