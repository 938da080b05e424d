/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/attr.h"
#include "dial/servers.h"

/* clang-format off */
static const struct {
	const char *name, *text;
	size_t n;
	const char *ips[SERVERS_MAX];
} cases[] = {
	{ "one", "nameserver 192.0.2.1\n", 1, { "192.0.2.1" } },
	{ "no newline at the end", "nameserver 192.0.2.1", 1, { "192.0.2.1" } },
	{ "IPv6", "nameserver 2001:db8::1\n", 1, { "2001:db8::1" } },
	{ "tabs, and words behind", "\tnameserver\t192.0.2.1 # ours\n", 1, { "192.0.2.1" } },
	{ "CR LF", "nameserver 192.0.2.1\r\n", 1, { "192.0.2.1" } },
	{ "other lines do not count", "search evil.test\noptions ndots:9 rotate\nnameserver 192.0.2.1\nsortlist 0.0.0.0\n", 1, { "192.0.2.1" } },
	{ "comments", "# nameserver 192.0.2.9\n;nameserver 192.0.2.8\nnameserver 192.0.2.1\n", 1, { "192.0.2.1" } },
	{ "a scope is passed over", "nameserver fe80::1%eth0\nnameserver 192.0.2.1\n", 1, { "192.0.2.1" } },
	{ "no address", "nameserver resolver.test\nnameserver 127.1\nnameserver\n", 1, { "127.0.0.1" } },
	{ "empty", "", 1, { "127.0.0.1" } },
	{ "too many", "nameserver 192.0.2.1\nnameserver 192.0.2.2\nnameserver 192.0.2.3\nnameserver 192.0.2.4\nnameserver 192.0.2.5\n", 4, { "192.0.2.1", "192.0.2.2", "192.0.2.3", "192.0.2.4" } },
};
/* clang-format on */

static void
servers_reads_each_case(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct servers s = servers_read(slice_of_str(cases[i].text));

		print_message("# %s\n", cases[i].name);
		assert_int_equal(s.n, cases[i].n);
		for (size_t j = 0; j < s.n; j++) {
			char text[IP_TEXT_SIZE];
			ip_text(&s.ips[j], text);
			assert_string_equal(text, cases[i].ips[j]);
			assert_int_equal(s.ports[j], SERVERS_PORT);
		}
	}
}

static void
servers_eq_compares_all(void **state)
{
	struct servers a = servers_read(SLICE("nameserver 192.0.2.1\n"));
	struct servers b = a;
	(void)state;

	assert_true(servers_eq(&a, &b));
	b.ports[0] = 54;
	assert_false(servers_eq(&a, &b));
	b = servers_read(SLICE("nameserver 192.0.2.2\n"));
	assert_false(servers_eq(&a, &b));
	b = servers_read(SLICE("nameserver 192.0.2.1\nnameserver ::1\n"));
	assert_false(servers_eq(&a, &b));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(servers_reads_each_case),
		cmocka_unit_test(servers_eq_compares_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
