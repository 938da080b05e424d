/* SPDX-License-Identifier: Apache-2.0 */
/* `sandboxes:` and `control:` of a gateway's configuration. */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/attr.h"
#include "policy_bed.h"
#include "priv/control.h"

static const char gateway[] =
    "version: 1\n"
    "control: {view: [ops, 1000], attach: ci-runner, policy: [ops]}\n"
    "sandboxes:\n"
    "  build-1:\n"
    "    policy: team/coding-agent:strict\n"
    "    set: {repo: acme/app}\n"
    "    tenant: acme\n"
    "    labels: {job: 17, by: zoe}\n"
    "    capture: gate\n"
    "    netns: /run/netns/build-1\n"
    "    interface: tap0\n"
    "    addresses: [192.0.2.1/24, '2001:db8::1']\n"
    "    mac: 02:00:00:00:00:01\n"
    "  edge:\n"
    "    {policy: p, capture: proxy, listen: '127.0.0.1:3128', "
    "token_file: t}\n";

static const char nothing[] =
    "version: 1\npolicies: {p: {rules: [{allow: https://a.test/x}]}}\n";

static struct control_attach
sandbox(const struct bed *b, uint32_t i)
{
	struct control_attach a;
	struct rd r = rd_of(owner_sandbox(b->owner, i).body);

	assert_true(control_attach_read(&r, &a));
	assert_true(rd_is_done(&r));
	return a;
}

static void
owner_has_what_a_gateway_needs(void **state)
{
	struct bed b;

	(void)state;
	bed_load(&b, gateway, nothing);
	if (b.owner == NULL)
		print_message("# %s", buf_text(&b.text));
	assert_non_null(b.owner);
	assert_int_equal(owner_n_sandboxes(b.owner), 2);
	struct control_attach a = sandbox(&b, 0);
	assert_true(slice_eq_str(a.name, "build-1"));
	assert_true(slice_eq_str(a.policy, "team/coding-agent:strict"));
	assert_true(slice_eq_str(a.sets[0].value, "acme/app"));
	assert_true(slice_eq_str(a.tenant, "acme"));
	assert_int_equal(a.n_labels, 2);
	assert_true(slice_eq_str(a.labels[0].value, "17"));
	assert_int_equal(a.mode, CAPTURE_GATE);
	assert_true(slice_eq_str(a.netns, "/run/netns/build-1"));
	assert_true(slice_eq_str(a.interface, "tap0"));
	assert_int_equal(a.n_addresses, 2);
	assert_int_equal(a.addresses[1].prefix, 128);
	assert_memory_equal(a.mac, "\x02\0\0\0\0\x01", 6);
	assert_int_equal(owner_sandbox(b.owner, 0).token.n, 0);
	assert_int_equal(owner_sandbox(b.owner, 0).at.line, 4);
	a = sandbox(&b, 1);
	assert_int_equal(a.mode, CAPTURE_PROXY);
	assert_true(slice_eq_str(a.listen, "127.0.0.1:3128"));
	assert_int_equal(a.token.n, 0);
	assert_true(
	    slice_eq_str(owner_sandbox(b.owner, 1).token, "/etc/duenna/t"));
	bed_release(&b);
}

static void
owner_has_the_groups_of_each_right(void **state)
{
	static const struct {
		uint32_t right;
		const char *name;
	} rows[] = { { CONTROL_MAY_VIEW, "ops" }, { CONTROL_MAY_VIEW, "1000" },
		{ CONTROL_MAY_ATTACH, "ci-runner" },
		{ CONTROL_MAY_POLICY, "ops" } };
	struct bed b;

	(void)state;
	bed_load(&b, gateway, nothing);
	assert_non_null(b.owner);
	assert_int_equal(owner_n_groups(b.owner), COUNT_OF(rows));
	for (uint32_t i = 0; i < COUNT_OF(rows); i++) {
		struct owner_group g = owner_group(b.owner, i);
		assert_int_equal(g.right, rows[i].right);
		assert_true(slice_eq_str(g.name, rows[i].name));
		assert_int_equal(g.at.line, 2);
	}
	bed_release(&b);
}

#define BOX(rest) "version: 1\nsandboxes:\n  box:\n" rest
#define P "    policy: p\n"

/* clang-format off */
static const struct {
	const char *config, *error;
} bad[] = {
	{ "version: 1\nsandboxes: [box]\n",
	    "owner.yaml:2:12: expected NAME: {policy, capture, ...}\n" },
	{ BOX("    capture: netns\n    netns: /n\n"),
	    "owner.yaml:3:3: `policy` is missing: FILE or FILE:NAME below "
	    "the policies of the configuration\n" },
	{ BOX(P "    netns: /n\n"),
	    "owner.yaml:3:3: `capture`: expected netns, gate, interface, "
	    "shared or proxy\n" },
	{ BOX(P "    capture: bridge\n"),
	    "owner.yaml:5:14: expected `netns`, `gate`, `interface`, `shared` "
	    "or `proxy`, found `bridge`\n" },
	{ BOX(P "    capture: netns\n"),
	    "owner.yaml:3:3: `netns`: this kind of capture needs it\n" },
	{ BOX(P "    capture: netns\n    netns: n\n"),
	    "owner.yaml:6:12: expected an absolute path\n" },
	{ BOX(P "    capture: netns\n    netns: ''\n"),
	    "owner.yaml:6:12: it is empty\n" },
	{ BOX(P "    capture: netns\n    netns: /n\n    mac: x\n"),
	    "owner.yaml:7:10: expected six pairs of hex digits, "
	    "`02:00:00:00:00:01`, found `x`\n" },
	{ BOX(P "    capture: netns\n    netns: /n\n    addresses: [x]\n"),
	    "owner.yaml:7:17: expected ADDRESS or ADDRESS/BITS, found `x`\n" },
	{ BOX(P "    capture: netns\n    netns: /n\n    interface: tap0\n"),
	    "owner.yaml:7:16: this kind of capture has no use for it\n" },
	{ BOX(P "    capture: netns\n    netns: /n\n    token_file: /t\n"),
	    "owner.yaml:7:17: this kind of capture has no use for it\n" },
	{ BOX(P "    capture: netns\n    netns: /n\n    set: [a]\n"),
	    "owner.yaml:7:10: expected KEY: VALUE\n" },
	{ BOX(P "    capture: netns\n    netns: /n\n    labels: {a: [b]}\n"),
	    "owner.yaml:7:17: expected a word, found a list\n" },
	{ BOX(P "    capture: netns\n    netns: /n\n    pid: 7\n"),
	    "owner.yaml:7:5: unknown key `pid`; expected one of `policy`, "
	    "`set`, `tenant`, `labels`, `capture`, `netns`, `interface`, "
	    "`addresses`, `mac`, `listen`, `token_file`\n" },
	{ BOX("    policy: ../p\n    capture: netns\n    netns: /n\n"),
	    "owner.yaml:4:13: expected FILE or FILE:NAME below the policies "
	    "of the configuration, without `.yaml`\n" },
	{ "version: 1\nsandboxes:\n  Box: {policy: p, capture: netns, netns: "
	    "/n}\n",
	    "owner.yaml:3:3: `name`: expected 1 to 40 of a-z, 0-9 and `-`\n" },
	{ "version: 1\ncontrol: {viw: ops}\n",
	    "owner.yaml:2:11: unknown key `viw`; did you mean `view`?\n" },
	{ "version: 1\ncontrol: {view: 'a b'}\n",
	    "owner.yaml:2:17: `a b` is no name of a group\n" },
	{ "version: 1\ncontrol: {view: ['']}\n",
	    "owner.yaml:2:18: `` is no name of a group\n" },
	{ "version: 1\ncontrol: {view: -x}\n",
	    "owner.yaml:2:17: `-x` is no name of a group\n" },
	{ "version: 1\ncontrol: {view: {a: b}}\n",
	    "owner.yaml:2:17: expected the name of a group, found a mapping\n" },
};
/* clang-format on */

static void
owner_says_what_is_wrong_of_a_gateway(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct bed b;
		print_message("# %s", bad[i].error);
		bed_load(&b, bad[i].config, nothing);
		assert_null(b.owner);
		assert_string_equal(buf_text(&b.text), bad[i].error);
		bed_release(&b);
	}
}

static void
owner_has_a_name_once_in_all_files(void **state)
{
	static const char text[] =
	    "version: 1\n"
	    "sandboxes: {box: {policy: p, capture: netns, netns: /n}}\n";
	const struct load_file files[] = {
		{ SLICE("a"), SLICE("/etc/duenna"),
		    { (const uint8_t *)text, sizeof(text) - 1 } },
		{ SLICE("b"), SLICE("/etc/duenna"),
		    { (const uint8_t *)text, sizeof(text) - 1 } },
	};
	struct load_owner_in in = { .files = files, .n_files = 2 };
	struct load_report report = { 0 };
	struct buf image, said;

	(void)state;
	buf_init(&image, 1 << 20);
	buf_init(&said, 4096);
	assert_false(load_owner(&in, &image, &report));
	load_report_text(&report, &said);
	assert_string_equal(buf_text(&said),
	    "b:2:13: a second `box`, the first is at a:2\n");
	load_report_release(&report);
	buf_release(&image);
	buf_release(&said);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(owner_has_what_a_gateway_needs),
		cmocka_unit_test(owner_has_the_groups_of_each_right),
		cmocka_unit_test(owner_says_what_is_wrong_of_a_gateway),
		cmocka_unit_test(owner_has_a_name_once_in_all_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
