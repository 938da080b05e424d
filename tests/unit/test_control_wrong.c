/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/attr.h"
#include "priv/control.h"

static struct control_attach
good(void)
{
	return (struct control_attach){ .name = SLICE("a"),
		.policy = SLICE("p"),
		.mode = CAPTURE_NETNS,
		.netns = SLICE("/run/netns/a") };
}

static struct control_attach
proxy(const char *listen)
{
	return (struct control_attach){ .name = SLICE("a"),
		.policy = SLICE("p"),
		.mode = CAPTURE_PROXY,
		.listen = slice_of_str(listen) };
}

static void
want(const struct control_attach *a, const char *field)
{
	struct control_fault f = control_attach_wrong(a);

	print_message("# %s: %s\n", field == NULL ? "good" : field,
	    f.what == NULL ? "good" : f.what);
	if (field == NULL) {
		assert_null(f.what);
		return;
	}
	assert_non_null(f.what);
	assert_string_equal(f.field, field);
}

static void
names_and_tenants(void **state)
{
	(void)state;
	static const char *const bad[] = { "", "A", "a_b", "a/b", "..", "a b",
		"\xc3\xa9", "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddx" };
	struct control_attach a = good();

	want(&a, NULL);
	a.name = SLICE("aaaaaaaaaabbbbbbbbbbccccccccccdddddddd-9");
	want(&a, NULL);
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		a.name = slice_of_str(bad[i]);
		want(&a, "name");
	}
	a = good();
	for (size_t i = 1; i < COUNT_OF(bad); i++) {
		a.tenant = slice_of_str(bad[i]);
		want(&a, "tenant");
	}
}

static void
policies(void **state)
{
	(void)state;
	static const char *const bad[] = { "", "/etc/p", "../p", "a/../p",
		"a//p", ".hidden", "a/.hidden", "p:", ":p", "p:a:b", "p/",
		"p q", "p:a/b", "-p" };
	static const char *const fine[] = { "p", "team/p", "p:strict",
		"a.b_c-d", "_x" };
	struct control_attach a = good();

	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		a.policy = slice_of_str(bad[i]);
		want(&a, "policy");
	}
	for (size_t i = 0; i < COUNT_OF(fine); i++) {
		a.policy = slice_of_str(fine[i]);
		want(&a, NULL);
	}
	a.policy_text = SLICE("version: 1");
	want(&a, "policy");
	a.policy = SLICE("");
	want(&a, NULL);
}

static void
keys_and_values(void **state)
{
	(void)state;
	struct control_attach a = good();

	a.n_labels = 2;
	a.labels[0] = (struct control_pair){ SLICE("k"), SLICE("v") };
	a.labels[1] = (struct control_pair){ SLICE("k"), SLICE("w") };
	want(&a, "labels");
	a.labels[1].key = SLICE("a b");
	want(&a, "labels");
	a.labels[1] = (struct control_pair){ SLICE("l"), SLICE("1\n2") };
	want(&a, "labels");
	a.labels[1].value = SLICE("\xe2\x80\xae");
	want(&a, "labels");
	a.labels[1].value = SLICE("");
	want(&a, NULL);
	a.n_sets = 1;
	a.sets[0] = (struct control_pair){ SLICE(""), SLICE("v") };
	want(&a, "set");
	a.sets[0] = (struct control_pair){ SLICE("k"), SLICE("\xff") };
	want(&a, "set");
	a.n_sets = 0;
	a.n_secrets = 1;
	a.secrets[0] = (struct control_pair){ SLICE("github"), SLICE("") };
	want(&a, "secrets");
	a.secrets[0].value = SLICE("\xff\n");
	want(&a, NULL);
}

static void
labels_have_a_size_together(void **state)
{
	(void)state;
	static const char key[] = "0123456789abcdefghijklmnopqrstuv";
	static uint8_t long_value[256];
	struct control_attach a = good();

	memset(long_value, 'x', sizeof(long_value));
	a.n_labels = 2;
	for (size_t i = 0; i < 2; i++)
		a.labels[i] = (struct control_pair){ slice_of(key + i, 1),
			slice_of(long_value, 255) };
	want(&a, NULL);
	a.labels[1].value.n = 256;
	want(&a, "labels");
}

static void
modes_have_what_they_need(void **state)
{
	(void)state;
	struct control_attach a = good();

	a.pid = 5;
	want(&a, "netns");
	a.netns = SLICE("");
	want(&a, NULL);
	a.pid = 0;
	want(&a, "netns");
	a.netns = SLICE("run/netns/a");
	want(&a, "netns");
	a = good();
	a.interface = SLICE("tap0");
	want(&a, "interface");
	a.mode = CAPTURE_GATE;
	want(&a, NULL);
	a.interface = SLICE("much-too-long-a-name");
	want(&a, "interface");
	a.interface = SLICE("a/b");
	want(&a, "interface");
	a.interface = SLICE("");
	want(&a, "interface");
	a.mode = CAPTURE_MODES;
	want(&a, "capture");
}

static void
an_interface_has_addresses(void **state)
{
	(void)state;
	struct control_attach a = good();

	a.mode = CAPTURE_INTERFACE;
	a.interface = SLICE("tap0");
	want(&a, "netns");
	a.netns = SLICE("");
	want(&a, "addresses");
	a.n_addresses = 2;
	a.addresses[0] = (struct control_address){ ip_v4(192, 0, 2, 1), 33 };
	a.addresses[1] = (struct control_address){ ip_v4(192, 0, 2, 1), 32 };
	want(&a, "addresses");
	a.addresses[0].prefix = 32;
	want(&a, "addresses");
	a.n_addresses = 1;
	want(&a, NULL);
	a.has_mac = true;
	a.mac[0] = 1;
	want(&a, "mac");
	a.mac[0] = 2;
	want(&a, NULL);
}

static void
where_a_proxy_listens(void **state)
{
	(void)state;
	static const char *const bad[] = { "3128", ":3128", "127.0.0.1",
		"127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536",
		"127.0.0.1:03128", "127.0.0.1:+1", "localhost:3128", "::1:3128",
		"[::1]", "[::1:3128", "[127.0.0.1]:3128", "unix:", "unix:x",
		"unix:/", "[:1", "]:1" };
	static const char *const fine[] = { "127.0.0.1:3128", "[::1]:65535",
		"unix:/run/x.sock" };
	struct control_attach a = proxy("");

	want(&a, "listen");
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		a = proxy(bad[i]);
		want(&a, "listen");
	}
	for (size_t i = 0; i < COUNT_OF(fine); i++) {
		a = proxy(fine[i]);
		want(&a, NULL);
	}
	a.token = SLICE("a\nb");
	want(&a, "token");
	a.token = SLICE("secret");
	want(&a, NULL);
	a = good();
	a.token = SLICE("secret");
	want(&a, "token");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_and_tenants),
		cmocka_unit_test(policies),
		cmocka_unit_test(keys_and_values),
		cmocka_unit_test(labels_have_a_size_together),
		cmocka_unit_test(modes_have_what_they_need),
		cmocka_unit_test(an_interface_has_addresses),
		cmocka_unit_test(where_a_proxy_listens),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
