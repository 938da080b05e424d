/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "priv/control.h"
#include "priv/control_answer.h"

static uint8_t room[65536];

static struct control_attach
gate(void)
{
	struct control_attach a = {
		.name = SLICE("build-7"),
		.tenant = SLICE("acme"),
		.policy = SLICE("team/coding-agent:strict"),
		.n_sets = 1,
		.sets = { { SLICE("repository"), SLICE("acme/app") } },
		.n_labels = 2,
		.labels = { { SLICE("job"), SLICE("17") },
		    { SLICE("who"), SLICE("Zo\xc3\xab") } },
		.n_secrets = 1,
		.secrets = { { SLICE("github"), SLICE("\0\xff token") } },
		.mode = CAPTURE_GATE,
		.netns = SLICE("/run/netns/build-7"),
		.interface = SLICE("tap0"),
		.n_addresses = 2,
		.mac = { 0x02, 1, 2, 3, 4, 5 },
		.has_mac = true,
	};
	a.addresses[0].prefix = 24;
	a.addresses[1].prefix = 64;
	assert_true(ip_parse(SLICE("192.0.2.1"), &a.addresses[0].ip));
	assert_true(ip_parse(SLICE("2001:db8::1"), &a.addresses[1].ip));
	return a;
}

static struct slice
written(const struct control_request *req)
{
	struct wr w = wr_of(room, sizeof(room));

	control_request_write(&w, req);
	assert_false(w.bad);
	return wr_slice(&w);
}

static void
assert_slice(struct slice a, struct slice b)
{
	assert_true(slice_eq(a, b));
}

static void
an_attach_comes_as_it_was_sent(void **state)
{
	(void)state;
	struct control_request in = { .verb = CONTROL_ATTACH,
		.uid = 1000,
		.rights = CONTROL_MAY_VIEW | CONTROL_MAY_ATTACH,
		.attach = gate() };
	struct control_request out;

	assert_true(control_request_read(written(&in), &out));
	assert_int_equal(out.verb, CONTROL_ATTACH);
	assert_int_equal(out.uid, 1000);
	assert_int_equal(out.rights, 3);
	assert_slice(out.name, SLICE("build-7"));
	assert_slice(out.attach.tenant, SLICE("acme"));
	assert_slice(out.attach.policy, SLICE("team/coding-agent:strict"));
	assert_int_equal(out.attach.n_sets, 1);
	assert_slice(out.attach.sets[0].value, SLICE("acme/app"));
	assert_int_equal(out.attach.n_labels, 2);
	assert_slice(out.attach.labels[1].key, SLICE("who"));
	assert_int_equal(out.attach.n_secrets, 1);
	assert_slice(out.attach.secrets[0].value, SLICE("\0\xff token"));
	assert_int_equal(out.attach.mode, CAPTURE_GATE);
	assert_slice(out.attach.netns, SLICE("/run/netns/build-7"));
	assert_slice(out.attach.interface, SLICE("tap0"));
	assert_int_equal(out.attach.n_addresses, 2);
	assert_int_equal(out.attach.addresses[1].prefix, 64);
	assert_true(
	    ip_eq(&out.attach.addresses[1].ip, &in.attach.addresses[1].ip));
	assert_true(out.attach.has_mac);
	assert_memory_equal(out.attach.mac, in.attach.mac, 6);
}

static void
the_other_verbs_come_with_what_belongs_to_them(void **state)
{
	(void)state;
	for (int v = CONTROL_DETACH; v < CONTROL_VERBS; v++) {
		struct control_request in = { .verb = (enum control_verb)v,
			.uid = 7,
			.rights = CONTROL_MAY_VIEW,
			.name = SLICE("a"),
			.url = SLICE("https://x.test"),
			.seconds = 7200 };
		struct control_request out;
		print_message("# %s\n", control_verb_name(in.verb));
		assert_true(control_request_read(written(&in), &out));
		assert_int_equal(out.verb, v);
		bool named = v == CONTROL_DETACH || v == CONTROL_SHOW ||
		    v == CONTROL_ALLOW;
		assert_slice(out.name, named ? in.name : SLICE(""));
		assert_int_equal(out.seconds, v == CONTROL_ALLOW ? 7200 : 0);
	}
}

/* Each shorter form, and each with a byte behind it. */
static void
what_is_cut_or_longer_is_refused(void **state)
{
	(void)state;
	static struct control_request out;
	struct control_request in = { .verb = CONTROL_ATTACH,
		.attach = gate() };
	struct slice whole = written(&in);

	for (size_t n = 0; n < whole.n; n++)
		assert_false(control_request_read(slice_first(whole, n), &out));
	room[whole.n] = 0;
	assert_false(control_request_read(slice_of(room, whole.n + 1), &out));
	assert_true(control_request_read(whole, &out));
	room[0] = CONTROL_VERBS;
	assert_false(control_request_read(whole, &out));
	room[0] = CONTROL_ATTACH;
	room[6] = 2; /* another form */
	assert_false(control_request_read(whole, &out));
}

static void
what_makes_no_sense_is_not_read(void **state)
{
	(void)state;
	static struct control_request out;
	struct control_request bad = { .verb = CONTROL_ATTACH,
		.attach = gate() };

	bad.attach.name = SLICE("../x");
	assert_false(control_request_read(written(&bad), &out));
	bad.attach = gate();
	bad.attach.interface = SLICE("");
	assert_false(control_request_read(written(&bad), &out));
	bad = (struct control_request){ .verb = CONTROL_DETACH,
		.name = SLICE("A") };
	assert_false(control_request_read(written(&bad), &out));
	bad = (struct control_request){ .verb = CONTROL_ALLOW,
		.name = SLICE("a"),
		.url = SLICE("https://x.test") };
	assert_false(control_request_read(written(&bad), &out));
	bad.seconds = CONTROL_ALLOW_S_MAX + 1;
	assert_false(control_request_read(written(&bad), &out));
	bad.seconds = CONTROL_ALLOW_S_MAX;
	assert_true(control_request_read(written(&bad), &out));
}

static void
who_writes_a_policy_needs_the_right_to(void **state)
{
	(void)state;
	struct control_request req = { .verb = CONTROL_ATTACH,
		.attach = gate() };

	assert_int_equal(control_needs(&req), CONTROL_MAY_ATTACH);
	req.attach.policy = SLICE("");
	req.attach.policy_text = SLICE("version: 1\n");
	assert_int_equal(control_needs(&req),
	    CONTROL_MAY_ATTACH | CONTROL_MAY_POLICY);
	req.verb = CONTROL_ALLOW;
	assert_int_equal(control_needs(&req), CONTROL_MAY_POLICY);
	req.verb = CONTROL_RELOAD;
	assert_int_equal(control_needs(&req), CONTROL_MAY_POLICY);
	req.verb = CONTROL_LIST;
	assert_int_equal(control_needs(&req), CONTROL_MAY_VIEW);
	req.verb = CONTROL_VERBS;
	assert_int_equal(control_needs(&req), UINT8_MAX);
}

static void
modes_have_names(void **state)
{
	(void)state;
	for (int m = 0; m < CAPTURE_MODES; m++) {
		const char *name = capture_mode_name((enum capture_mode)m);
		assert_int_equal(capture_mode_find(slice_of_str(name)), m);
	}
	assert_int_equal(capture_mode_find(SLICE("bridge")), CAPTURE_MODES);
	assert_string_equal(capture_mode_name(CAPTURE_MODES), "unknown");
	assert_string_equal(control_verb_name(CONTROL_VERBS), "unknown");
}

static void
an_answer_comes_as_it_was_sent(void **state)
{
	(void)state;
	struct control_answer in = { CONTROL_NAME_TAKEN, SLICE("another") };
	struct control_answer out;
	struct wr w = wr_of(room, sizeof(room));

	control_answer_write(&w, &in);
	assert_true(control_answer_read(wr_slice(&w), &out));
	assert_int_equal(out.code, CONTROL_NAME_TAKEN);
	assert_slice(out.detail, SLICE("another"));
	assert_int_equal(control_code_status(out.code), 409);
	assert_string_equal(control_code_name(out.code), "name.taken");
	for (size_t n = 0; n < w.n; n++)
		assert_false(control_answer_read(slice_of(room, n), &out));
	room[0] = CONTROL_CODES;
	assert_false(control_answer_read(wr_slice(&w), &out));
	assert_int_equal(out.code, CONTROL_FAULT);
}

static void
a_long_detail_is_cut(void **state)
{
	(void)state;
	static uint8_t text[CONTROL_DETAIL_MAX + 1];
	struct control_answer in = { CONTROL_POLICY_WRONG,
		slice_of(text, sizeof(text)) };
	struct control_answer out;
	struct wr w = wr_of(room, sizeof(room));

	control_answer_write(&w, &in);
	assert_true(control_answer_read(wr_slice(&w), &out));
	assert_int_equal(out.detail.n, CONTROL_DETAIL_MAX);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_attach_comes_as_it_was_sent),
		cmocka_unit_test(
		    the_other_verbs_come_with_what_belongs_to_them),
		cmocka_unit_test(what_is_cut_or_longer_is_refused),
		cmocka_unit_test(what_makes_no_sense_is_not_read),
		cmocka_unit_test(who_writes_a_policy_needs_the_right_to),
		cmocka_unit_test(modes_have_names),
		cmocka_unit_test(an_answer_comes_as_it_was_sent),
		cmocka_unit_test(a_long_detail_is_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
