/* SPDX-License-Identifier: Apache-2.0 */
/* The owner's configuration: read, compiled, asked. */
#include "owner_bed.h"

static void
owner_tells_what_was_written(void **state)
{
	struct bed b;
	bool write = false;

	(void)state;
	bed_load(&b, config, nothing);
	if (b.owner == NULL)
		print_message("# %s", buf_text(&b.text));
	assert_non_null(b.owner);
	const struct owner *o = b.owner;
	assert_int_equal(owner_n_credentials(o), 10);
	struct owner_credential c = owner_credential(o, 0);
	assert_true(slice_eq_str(c.public.name, "github"));
	assert_true(slice_eq_str(c.public.slot, "Authorization"));
	assert_true(slice_eq_str(c.public.prefix, "Bearer "));
	assert_true(c.public.response_filter);
	assert_int_equal(c.from, SECRET_FILE);
	assert_true(slice_eq_str(c.source, "/etc/duenna/github.token"));
	assert_int_equal(c.n_places, 3);
	assert_true(slice_eq_str(c.places[1].env, "GITHUB_TOKEN"));
	assert_true(slice_eq_str(c.places[1].like, "ghp_"));
	assert_int_equal(c.places[2].like.n, 0);
	c = owner_credential(o, 1);
	assert_int_equal(c.from, SECRET_ENV);
	assert_true(slice_eq_str(c.source, "KEY"));
	assert_int_equal(c.public.prefix.n, 0);
	assert_int_equal(c.for_ms, 0);
	c = owner_credential(o, 2);
	assert_int_equal(c.from, SECRET_COMMAND);
	assert_true(slice_eq_str(c.source, "/usr/bin/gh"));
	assert_int_equal(c.for_ms, 300000);
	assert_int_equal(c.n_args, 3);
	assert_true(slice_eq_str(owner_credential_arg(o, 2, 0), "/usr/bin/gh"));
	assert_true(slice_eq_str(owner_credential_arg(o, 2, 2), "token"));
	assert_int_equal(c.n_pass, 1);
	assert_true(slice_eq_str(owner_credential_pass(o, 2, 0), "DBUS_X"));
	c = owner_credential(o, 3);
	assert_int_equal(c.for_ms, 90000);
	assert_int_equal(c.n_args, 0);
	struct program_credential k = owner_credential(o, 4).public;
	assert_int_equal(k.kind, CREDENTIAL_BASIC);
	assert_true(slice_eq_str(k.slot, "Authorization"));
	assert_true(slice_eq_str(k.user, "bob"));
	assert_false(k.secret_is_user);
	k = owner_credential(o, 6).public;
	assert_int_equal(k.kind, CREDENTIAL_QUERY);
	assert_true(slice_eq_str(k.slot, "key"));
	k = owner_credential(o, 9).public;
	assert_true(k.secret_is_user);
	assert_int_equal(k.user.n, 0);

	assert_int_equal(owner_n_files(o), 4);
	assert_true(slice_eq_str(owner_file(o, 0, &write), "/home/user/notes"));
	assert_true(slice_eq_str(owner_file(o, 1, &write), "/etc/duenna/data"));
	assert_false(write);
	assert_true(slice_eq_str(owner_file(o, 3, &write), "/home/user"));
	assert_true(write);
	assert_int_equal(owner_n_environment(o), 2);
	assert_true(slice_eq_str(owner_environment(o, 1), "FOO_1"));
	bed_release(&b);
}

static void
owner_knows_where_a_source_is_written(void **state)
{
	struct bed b;

	(void)state;
	bed_load(&b, config, nothing);
	assert_non_null(b.owner);
	struct owner_credential c = owner_credential(b.owner, 0);
	assert_true(slice_eq_str(c.at.file, "owner.yaml"));
	assert_int_equal(c.at.line, 5);
	assert_int_equal(c.at.column, 20);
	assert_int_equal(owner_ca_place(b.owner, OWNER_CA_NOW).line, 0);
	bed_release(&b);
}

/* CR-29, CF-32: the keeper's own check. */
static void
owner_only_is_a_ceiling(void **state)
{
	static const struct {
		uint32_t credential;
		const char *host;
		uint16_t port;
		bool allows;
	} rows[] = {
		{ 0, "api.test", 443, true },
		{ 0, "api.test", 80, false },
		{ 0, "x.api.test", 443, false },
		{ 0, "a.wild.test", 8443, true },
		{ 0, "a.wild.test", 443, false },
		{ 0, "a.b.wild.test", 8443, false },
		{ 0, "wild.test", 8443, false },
		{ 0, "xn--a.wild.test", 8443, false },
		{ 0, "10.0.0.1", 443, false },
		{ 1, "api.test", 443, true },
		{ 1, "a.wild.test", 8443, false },
		{ 2, "api.test", 443, false },
		{ 3, "gh.test", 443, true },
		{ 99, "gh.test", 443, false },
	};
	struct bed b;

	(void)state;
	bed_load(&b, config, nothing);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		print_message("# %s:%u\n", rows[i].host, rows[i].port);
		assert_int_equal(owner_only_allows(b.owner, rows[i].credential,
				     slice_of_str(rows[i].host), rows[i].port),
		    rows[i].allows);
	}
	bed_release(&b);
}

static void
owner_upstream_is_the_first_that_matches(void **state)
{
	struct bed b;
	char text[IP_TEXT_SIZE];

	(void)state;
	bed_load(&b, config, nothing);
	assert_false(owner_upstream(b.owner, SLICE("ok.test")).found);
	assert_false(owner_upstream(b.owner, SLICE("corp.test")).found);
	struct owner_upstream u =
	    owner_upstream(b.owner, SLICE("a.b.corp.test"));
	assert_true(u.found);
	assert_int_equal(u.index, 0);
	assert_int_equal(u.n_resolvers, 3);
	ip_text(&u.resolvers[1], text);
	assert_string_equal(text, "fd00::53");
	assert_int_equal(u.resolver_ports[0], 53);
	assert_int_equal(u.resolver_ports[1], 5353);
	assert_int_equal(u.resolver_ports[2], 53);
	assert_int_equal(u.n_addresses, 0);
	u = owner_upstream(b.owner, SLICE("git.test"));
	assert_int_equal(u.n_addresses, 1);
	ip_text(&u.addresses[0], text);
	assert_string_equal(text, "10.20.0.7");
	assert_true(owner_upstream(b.owner, SLICE("10.0.0.9")).found);
	assert_int_equal(u.proxy.n, 0);
	u = owner_upstream(b.owner, SLICE("a.far.test"));
	assert_true(slice_eq_str(u.proxy, "proxy.corp.test"));
	assert_int_equal(u.proxy_port, 3128);
	u = owner_upstream(b.owner, SLICE("a.six.test"));
	assert_true(slice_eq_str(u.proxy, "fd00::9"));
	assert_int_equal(u.proxy_port, 8080);
	assert_true(owner_has_proxy(b.owner));
	bed_release(&b);
	bed_load(&b, "version: 1\n", nothing);
	assert_false(owner_has_proxy(b.owner));
	assert_false(owner_allows_gaps(b.owner));
	bed_release(&b);
}

/* DO-12 */
static void
owner_may_let_records_be_missing_and_is_warned(void **state)
{
	struct bed b;

	(void)state;
	bed_load(&b, "version: 1\naudit: {required: false}\n", nothing);
	assert_true(owner_allows_gaps(b.owner));
	assert_false(owner_denies_names(b.owner));
	assert_non_null(strstr(buf_text(&b.text),
	    "owner.yaml:2:9: warning: `audit: {required: false}`: "));
	bed_release(&b);
	bed_load(&b, "version: 1\naudit: {required: true}\n", nothing);
	assert_false(owner_allows_gaps(b.owner));
	assert_null(strstr(buf_text(&b.text), "required"));
	bed_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(owner_tells_what_was_written),
		cmocka_unit_test(owner_knows_where_a_source_is_written),
		cmocka_unit_test(owner_only_is_a_ceiling),
		cmocka_unit_test(owner_upstream_is_the_first_that_matches),
		cmocka_unit_test(
		    owner_may_let_records_be_missing_and_is_warned),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
