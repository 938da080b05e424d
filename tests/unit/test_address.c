/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "policy/address.h"
#include "policy_bed.h"

/*
 * SR-01 to SR-04: each block with its first and last address and the
 * neighbours outside.
 */
static const struct {
	const char *text;
	bool global;
} rows[] = {
	{ "0.0.0.0", false },
	{ "0.255.255.255", false },
	{ "1.0.0.0", true },
	{ "9.255.255.255", true },
	{ "10.0.0.0", false },
	{ "10.255.255.255", false },
	{ "11.0.0.0", true },
	{ "100.63.255.255", true },
	{ "100.64.0.0", false },
	{ "100.127.255.255", false },
	{ "100.128.0.0", true },
	{ "126.255.255.255", true },
	{ "127.0.0.0", false },
	{ "127.255.255.255", false },
	{ "128.0.0.0", true },
	{ "169.253.255.255", true },
	{ "169.254.0.0", false },
	{ "169.254.255.255", false },
	{ "169.255.0.0", true },
	{ "172.15.255.255", true },
	{ "172.16.0.0", false },
	{ "172.31.255.255", false },
	{ "172.32.0.0", true },
	{ "191.255.255.255", true },
	{ "192.0.0.0", false },
	{ "192.0.0.8", false },
	{ "192.0.0.9", true },
	{ "192.0.0.10", true },
	{ "192.0.0.11", false },
	{ "192.0.0.255", false },
	{ "192.0.1.0", true },
	{ "192.0.1.255", true },
	{ "192.0.2.0", false },
	{ "192.0.2.255", false },
	{ "192.0.3.0", true },
	{ "192.31.196.1", true },
	{ "192.52.193.1", true },
	{ "192.88.98.255", true },
	{ "192.88.99.0", false },
	{ "192.88.99.255", false },
	{ "192.88.100.0", true },
	{ "192.167.255.255", true },
	{ "192.168.0.0", false },
	{ "192.168.255.255", false },
	{ "192.169.0.0", true },
	{ "192.175.48.1", true },
	{ "198.17.255.255", true },
	{ "198.18.0.0", false },
	{ "198.19.255.255", false },
	{ "198.20.0.0", true },
	{ "198.51.99.255", true },
	{ "198.51.100.0", false },
	{ "198.51.100.255", false },
	{ "198.51.101.0", true },
	{ "203.0.112.255", true },
	{ "203.0.113.0", false },
	{ "203.0.113.255", false },
	{ "203.0.114.0", true },
	{ "223.255.255.255", true },
	{ "224.0.0.0", false },
	{ "239.255.255.255", false },
	{ "240.0.0.0", false },
	{ "255.255.255.255", false },
	{ "168.63.129.16", false }, /* public, but Azure's own */

	{ "::", false },
	{ "::1", false },
	{ "::2", false },
	{ "100::", false },
	{ "100::1", false },
	{ "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", false },
	{ "2000::", true },
	{ "2000:ffff:ffff:ffff:ffff:ffff:ffff:ffff", true },
	{ "2001::", false }, /* Teredo */
	{ "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", false },
	{ "2001:1::", false },
	{ "2001:1::1", true },
	{ "2001:1::2", true },
	{ "2001:1::3", true },
	{ "2001:1::4", false },
	{ "2001:2::", false },
	{ "2001:3::", true },
	{ "2001:4:111:ffff:ffff:ffff:ffff:ffff", false },
	{ "2001:4:112::", true },
	{ "2001:4:113::", false },
	{ "2001:10::", false },
	{ "2001:1f:ffff:ffff:ffff:ffff:ffff:ffff", false },
	{ "2001:20::", true },
	{ "2001:2f:ffff:ffff:ffff:ffff:ffff:ffff", true },
	{ "2001:30::", true },
	{ "2001:3f:ffff:ffff:ffff:ffff:ffff:ffff", true },
	{ "2001:40::", false },
	{ "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff", false },
	{ "2001:200::", true },
	{ "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", true },
	{ "2001:db8::", false },
	{ "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", false },
	{ "2001:db9::", true },
	{ "2001:ffff:ffff:ffff:ffff:ffff:ffff:ffff", true },
	{ "2002::", false },
	{ "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff", false },
	{ "2003::", true },
	{ "2606:4700:4700::1111", true },
	{ "3ffd:ffff:ffff:ffff:ffff:ffff:ffff:ffff", true },
	{ "3ffe::", false },
	{ "3fff::", false },
	{ "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", false },
	{ "3fff:1000::", true },
	{ "4000::", false },
	{ "5f00::1", false },
	{ "fc00::", false },
	{ "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", false },
	{ "fe80::1", false },
	{ "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff", false },
	{ "fec0::1", false },
	{ "ff00::", false },
	{ "ff02::1", false },
	{ "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", false },

	/* an IPv4 address inside: mapped, compatible, NAT64, 6to4, ISATAP */
	{ "::ffff:127.0.0.1", false },
	{ "::ffff:8.8.8.8", false },
	{ "::127.0.0.1", false },
	{ "64:ff9b::8.8.8.8", true },
	{ "64:ff9b::10.0.0.1", false },
	{ "64:ff9b::169.254.169.254", false },
	{ "64:ff9b:1::8.8.8.8", false },
	{ "2002:808:808::1", false },
	{ "2606:4700::5efe:10.0.0.1", false },
	{ "2606:4700::5efe:8.8.8.8", true },
	{ "2606:4700::200:5efe:10.0.0.1", false },
};

static struct ip
ip_of(const char *text)
{
	struct ip ip;

	assert_true(ip_parse(slice_of_str(text), &ip));
	return ip;
}

static void
address_knows_each_block(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct ip ip = ip_of(rows[i].text);
		print_message("# %s\n", rows[i].text);
		assert_int_equal(address_is_global(&ip), rows[i].global);
	}
}

static void
address_knows_metadata_in_every_spelling(void **state)
{
	static const char *const all[] = { "169.254.169.254", "169.254.170.2",
		"100.100.100.200", "168.63.129.16", "192.0.0.192",
		"fd00:ec2::254", "fd20:ce::254", "fd00:c1::a9fe:a9fe",
		"::ffff:169.254.169.254", "::169.254.169.254",
		"64:ff9b::169.254.169.254", "64:ff9b::a83f:8110",
		"2002:a9fe:a9fe::1", "::ffff:0:a9fe:a9fe",
		"2001:0:a9fe:a9fe::", "2001::5601:5601" };
	static const char *const none[] = { "169.254.169.252", "8.8.8.8",
		"fd00:ec2::253:0", "::1" };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(all); i++) {
		struct ip ip = ip_of(all[i]);
		print_message("# %s\n", all[i]);
		assert_true(address_is_metadata(&ip));
		assert_false(address_is_global(&ip));
	}
	for (size_t i = 0; i < COUNT_OF(none); i++) {
		struct ip ip = ip_of(none[i]);
		assert_false(address_is_metadata(&ip));
	}
}

static const char policy[] =
    "version: 1\n"
    "policies:\n"
    "  p:\n"
    "    rules:\n"
    "      - allow: https://pub.test/**\n"
    "      - allow: https://one.test/a\n"
    "        addresses: [10.1.2.3, 192.168.0.0/16, 169.254.0.0/16]\n"
    "      - allow: https://one.test/b\n"
    "      - allow: https://other.test:8443/**\n"
    "        addresses: [10.1.2.3, 127.0.0.1, 127.0.0.0/8]\n"
    "      - allow: http://127.0.0.1:3000/**\n"
    "      - allow: https://10.96.0.1/**\n"
    "      - deny: https://pub.test/x\n";

static void
address_judges_each_dial(void **state)
{
	/* SR-05, SR-06, SR-10 */
	static const struct {
		const char *host;
		uint16_t port;
		const char *ip, *reason;
	} dials[] = {
		{ "pub.test", 443, "8.8.8.8", "allow" },
		{ "pub.test", 443, "10.1.2.3", "up.private" },
		{ "pub.test", 443, "::ffff:8.8.8.8", "up.private" },
		{ "one.test", 443, "10.1.2.3", "allow" },
		{ "one.test", 443, "10.1.2.4", "up.private" },
		{ "one.test", 80, "10.1.2.3", "up.private" },
		{ "one.test", 443, "192.168.255.1", "allow" },
		{ "one.test", 443, "::ffff:10.1.2.3", "up.private" },
		{ "one.test", 443, "169.254.1.1", "allow" },
		{ "one.test", 443, "169.254.169.254", "up.private" },
		{ "other.test", 8443, "10.1.2.3", "allow" },
		{ "other.test", 443, "10.1.2.3", "up.private" },
		{ "other.test", 8443, "127.0.0.1", "allow" },
		{ "other.test", 8443, "127.0.0.2", "dst.self" },
		{ "one.test", 443, "198.51.100.7", "up.private" },
		{ "pub.test", 443, "203.0.114.9", "dst.self" },
		{ "127.0.0.1", 3000, "127.0.0.1", "allow" },
		{ "127.0.0.1", 3001, "127.0.0.1", "dst.private" },
		{ "127.0.0.3", 3000, "127.0.0.3", "dst.private" },
		{ "10.96.0.1", 443, "10.96.0.1", "allow" },
		{ "10.96.0.1", 443, "10.96.0.2", "dst.private" },
		{ "evil.test", 443, "10.1.2.3", "up.private" },
	};
	struct ip own[] = { ip_of("198.51.100.7"), ip_of("203.0.114.9"),
		ip_of("127.0.0.1"), ip_of("127.0.0.2") };
	struct bed b;

	(void)state;
	bed_load_trusted(&b, NULL, policy);
	assert_non_null(b.program);
	for (size_t i = 0; i < COUNT_OF(dials); i++) {
		struct ip ip = ip_of(dials[i].ip);
		struct slice host = slice_of_str(dials[i].host);
		print_message("# %s:%u %s\n", dials[i].host, dials[i].port,
		    dials[i].ip);
		assert_string_equal(reason_name(address_judge(b.program, host,
					dials[i].port, &ip, own,
					COUNT_OF(own))),
		    dials[i].reason);
	}
	bed_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(address_knows_each_block),
		cmocka_unit_test(address_knows_metadata_in_every_spelling),
		cmocka_unit_test(address_judges_each_dial),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
