/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The presets: each loads without a warning, lets through what it is for, and
 * nothing that creates, publishes or uploads (EX-07).
 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "load/preset.h"
#include "policy_bed.h"

static const char owner[] =
    "version: 1\n"
    "credentials:\n"
    "  anthropic:\n"
    "    kind: header\n"
    "    header: X-Api-Key\n"
    "    secret: {env: A}\n"
    "    only: https://api.anthropic.com/v1/**\n"
    "    place: [{env: ANTHROPIC_API_KEY, like: sk-ant-}]\n"
    "  openai:\n"
    "    kind: token\n"
    "    secret: {env: O}\n"
    "    only: https://api.openai.com/v1/**\n"
    "    place: [{env: OPENAI_API_KEY, like: sk-}]\n";

static const struct {
	const char *preset, *method, *url;
	bool allow;
} rows[] = {
	{ "npm", "GET", "https://registry.npmjs.org/left-pad", true },
	{ "npm", "GET", "https://registry.npmjs.org/@types%2Fnode", true },
	{ "npm", "GET", "https://registry.npmjs.org/@types/node", true },
	{ "npm", "GET",
	    "https://registry.npmjs.org/@types/node/-/node-20.1.0.tgz", true },
	{ "npm", "HEAD", "https://registry.npmjs.org/x/-/x-1.0.0.tgz", true },
	{ "npm", "GET", "https://registry.yarnpkg.com/x/-/x-1.0.0.tgz", true },
	{ "npm", "POST",
	    "https://registry.npmjs.org/-/npm/v1/security/advisories/bulk",
	    true },
	{ "npm", "POST",
	    "https://registry.npmjs.org/-/npm/v1/security/audits/quick", true },
	{ "npm", "POST", "https://registry.npmjs.org/-/npm/v1/security/audits",
	    true },
	{ "npm", "PUT", "https://registry.npmjs.org/x", false },
	{ "npm", "PUT", "https://registry.npmjs.org/@me%2Fx", false },
	{ "npm", "PUT", "https://registry.npmjs.org/-/user/org.couchdb.user:me",
	    false },
	{ "npm", "POST", "https://registry.npmjs.org/-/v1/login", false },
	{ "npm", "POST", "https://registry.npmjs.org/-/npm/v1/tokens", false },
	{ "npm", "DELETE", "https://registry.npmjs.org/x/-rev/1", false },
	{ "npm", "PUT",
	    "https://registry.npmjs.org/-/package/x/dist-tags/latest", false },
	{ "npm", "GET", "https://www.npmjs.com/", false },
	{ "npm", "GET", "http://registry.npmjs.org/x", false },

	{ "pypi", "GET", "https://pypi.org/simple/requests/", true },
	{ "pypi", "GET", "https://pypi.org/pypi/requests/json", true },
	{ "pypi", "GET",
	    "https://files.pythonhosted.org/packages/ab/cd/x-1-py3-none-any.whl",
	    true },
	{ "pypi", "HEAD", "https://files.pythonhosted.org/packages/ab/x.whl",
	    true },
	{ "pypi", "POST", "https://pypi.org/pypi", false },
	{ "pypi", "POST", "https://pypi.org/simple/requests/", false },
	{ "pypi", "POST", "https://upload.pypi.org/legacy/", false },
	{ "pypi", "GET", "https://pypi.org/manage/account/", false },
	{ "pypi", "GET", "https://test.pypi.org/simple/requests/", false },

	{ "debian", "GET",
	    "http://deb.debian.org/debian/dists/bookworm/InRelease", true },
	{ "debian", "GET",
	    "https://deb.debian.org/debian/pool/main/h/hello/hello_2.deb",
	    true },
	{ "debian", "GET",
	    "http://deb.debian.org/debian-security/dists/"
	    "bookworm-security/InRelease",
	    true },
	{ "debian", "GET",
	    "http://security.debian.org/debian-security/dists/"
	    "bookworm-security/InRelease",
	    true },
	{ "debian", "PUT", "http://deb.debian.org/debian/x", false },
	{ "debian", "GET", "http://deb.debian.org/debian-ports/x", false },
	{ "debian", "GET", "https://bugs.debian.org/1", false },
	{ "debian", "POST", "https://security.debian.org/debian-security/x",
	    false },

	{ "anthropic", "POST", "https://api.anthropic.com/v1/messages", true },
	{ "anthropic", "POST",
	    "https://api.anthropic.com/v1/messages?beta=true", true },
	{ "anthropic", "POST",
	    "https://api.anthropic.com/v1/messages/count_tokens", true },
	{ "anthropic", "GET", "https://api.anthropic.com/v1/models", true },
	{ "anthropic", "GET", "https://api.anthropic.com/v1/models/x", true },
	{ "anthropic", "POST", "https://api.anthropic.com/v1/messages/batches",
	    false },
	{ "anthropic", "POST", "https://api.anthropic.com/v1/files", false },
	{ "anthropic", "GET", "https://api.anthropic.com/v1/files", false },
	{ "anthropic", "POST",
	    "https://api.anthropic.com/v1/organizations/api_keys", false },
	{ "anthropic", "DELETE", "https://api.anthropic.com/v1/models/x",
	    false },

	{ "openai", "POST", "https://api.openai.com/v1/responses", true },
	{ "openai", "POST", "https://api.openai.com/v1/chat/completions",
	    true },
	{ "openai", "POST", "https://api.openai.com/v1/embeddings", true },
	{ "openai", "GET", "https://api.openai.com/v1/models", true },
	{ "openai", "POST", "https://api.openai.com/v1/files", false },
	{ "openai", "GET", "https://api.openai.com/v1/files/x/content", false },
	{ "openai", "GET", "https://api.openai.com/v1/responses/x", false },
	{ "openai", "POST", "https://api.openai.com/v1/assistants", false },
	{ "openai", "POST",
	    "https://api.openai.com/v1/organization/admin_api_keys", false },
	{ "openai", "POST", "https://api.openai.com/v1/fine_tuning/jobs",
	    false },
};

static void
load(struct bed *b, const char *preset)
{
	char policy[256];

	snprintf(policy, sizeof(policy), "preset/%s", preset);
	bed_load_want(b,
	    &(struct bed_want){ .config = owner,
		.policy = policy,
		.preset = true });
}

static void
presets_load_without_a_warning(void **state)
{
	size_t n = 0;

	(void)state;
	for (; preset_name(n) != NULL; n++) {
		struct bed b;
		load(&b, preset_name(n));
		print_message("# %s\n", preset_name(n));
		assert_string_equal(buf_text(&b.text), "");
		assert_non_null(b.program);
		assert_true(slice_eq_str(program_policy_name(b.program),
		    preset_name(n)));
		bed_release(&b);
	}
	assert_int_equal(n, 5);
}

static void
presets_allow_what_they_are_for(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct bed b;
		load(&b, rows[i].preset);
		struct facts f =
		    bed_request(b.program, rows[i].method, rows[i].url);
		struct verdict v = policy_decide(b.program, &f);
		print_message("# %s %s %s\n", rows[i].preset, rows[i].method,
		    rows[i].url);
		assert_int_equal(v.allow, rows[i].allow);
		bool api = strstr(rows[i].url, "://api.") != NULL;
		assert_int_equal(v.n_credentials, v.allow && api ? 1 : 0);
		bed_release(&b);
	}
}

/* The client's own account would be a way to publish, or a drop box. */
static void
no_preset_lets_the_clients_own_credential_out(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct bed b;
		if (!rows[i].allow)
			continue;
		load(&b, rows[i].preset);
		struct facts f =
		    bed_request(b.program, rows[i].method, rows[i].url);
		f.foreign = 1U << FOREIGN_AUTHORIZATION;
		print_message("# %s\n", rows[i].url);
		struct verdict v = policy_decide(b.program, &f);
		if (strcmp(rows[i].preset, "npm") == 0)
			assert_true(v.allow && (v.strip & f.foreign) != 0);
		else
			assert_int_equal(v.reason, REASON_CRED_CLIENT_AUTH);
		bed_release(&b);
	}
}

static void
a_preset_can_be_included_with_a_credential_of_another_name(void **state)
{
	static const char config[] =
	    "version: 1\n"
	    "credentials:\n"
	    "  mine:\n"
	    "    kind: header\n"
	    "    header: X-Api-Key\n"
	    "    secret: {env: A}\n"
	    "    only: https://api.anthropic.com/v1/**\n";
	struct bed b;

	(void)state;
	bed_load(&b, config,
	    "version: 1\n"
	    "policies:\n"
	    "  p:\n"
	    "    rules:\n"
	    "      - include: preset/anthropic\n"
	    "        credentials: {anthropic: mine}\n");
	assert_string_equal(buf_text(&b.text), "");
	struct facts f = bed_request(b.program, "POST",
	    "https://api.anthropic.com/v1/messages");
	struct verdict v = policy_decide(b.program, &f);
	assert_true(v.allow);
	assert_int_equal(v.n_credentials, 1);
	assert_true(slice_eq_str(program_rule(b.program, v.rule).name,
	    "anthropic/messages"));
	bed_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(presets_load_without_a_warning),
		cmocka_unit_test(presets_allow_what_they_are_for),
		cmocka_unit_test(no_preset_lets_the_clients_own_credential_out),
		cmocka_unit_test(
		    a_preset_can_be_included_with_a_credential_of_another_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
