/* SPDX-License-Identifier: Apache-2.0 */
/* Side doors: what writes to a repository past its rule of git+https. */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/attr.h"
#include "policy/git.h"
#include "policy_bed.h"

static const char policy[] =
    "version: 1\n"
    "policies:\n"
    "  p:\n"
    "    rules:\n"
    "      - allow: git+https://github.com/acme/App\n"
    "        api: refuse\n"
    "        push: {branches: ['agent/**']}\n"
    "      - allow: git+https://lab.test/acme/a+b\n"
    "        forge: gitlab\n"
    "        fetch: true\n"
    "      - allow: git+https://jo.test/acme/*\n"
    "        forge: forgejo\n"
    "        fetch: true\n"
    "      - allow: git+https://plain.test/acme/app\n"
    "        fetch: true\n"
    "      - allow: git+https://hub.test/acme/app\n"
    "        forge: github\n"
    "        fetch: true\n"
    "      - name: all\n"
    "        allow: ['https://*.github.com/**', 'https://lab.test/**', "
    "'https://jo.test/**', 'https://plain.test/**', 'https://hub.test/**']\n"
    "        methods: any\n"
    "        encoded_slash: true\n"
    "      - name: merges\n"
    "        allow: 'https://api.github.com/repos/acme/app/pulls/*/merge'\n"
    "        methods: any\n"
    "      - name: graph\n"
    "        allow: 'https://api.github.com/graphql'\n"
    "        methods: any\n"
    "      - name: whole\n"
    "        allow: 'https://api.github.com/repos/acme/app'\n"
    "        methods: any\n";

#define HUB "https://api.github.com/repos/acme/app/"
#define LAB "https://lab.test/api/v4/projects/"

/* `all` if nothing is said. */
static const struct {
	const char *method, *url, *rule;
} rows[] = {
	/* GT-90 */
	{ "PUT", "https://api.github.com/repos/acme/app/contents/x", "-" },
	{ "PATCH", "https://api.github.com/repos/acme/app/git/refs/heads/main",
	    "-" },
	{ "POST", "https://api.github.com/repos/acme/app/merges", "-" },
	{ "POST", "https://api.github.com/repos/acme/app/branches/x/rename",
	    "-" },
	{ "POST", "https://uploads.github.com/repos/acme/app/releases/1/assets",
	    "-" },
	{ "DELETE", "https://api.github.com/repos/acme/app/", "-" },
	/* What reads, and what moves nothing. */
	{ "GET", "https://api.github.com/repos/acme/app/contents/x", NULL },
	{ "POST", "https://api.github.com/repos/acme/app/issues/1/comments",
	    NULL },
	{ "POST", "https://api.github.com/repos/acme/app/pulls", NULL },
	/* Another repository. */
	{ "PUT", "https://api.github.com/repos/acme/other/contents/x", NULL },
	{ "PUT", "https://api.github.com/repos/other/app/contents/x", NULL },
	/* GT-97: other spellings. */
	{ "PUT", "https://api.github.com/repos/ACME/App/contents/x", "-" },
	{ "PUT", "https://api.github.com/repos/acme/app.git/contents/x", "-" },
	{ "PUT", "https://api.github.com/repositories/17/contents/x", "-" },
	{ "PUT", "https://api.github.com/repos/acme/a%C3%84/contents/x", "-" },
	{ "PUT", "https://hub.test/api/v3/repos/acme/app/contents/x", "-" },
	{ "PUT", "https://hub.test/api/v3/repositories/1/contents/x", "-" },
	{ "PUT", "https://hub.test/repos/acme/app/contents/x", NULL },
	{ "PUT",
	    "https://lab.test/api/v4/projects/acme%2Fa%2Bb/repository/"
	    "files/x",
	    "-" },
	{ "PUT",
	    "https://lab.test/api/v4/projects/ACME%2FA+B/repository/"
	    "branches/x",
	    "-" },
	{ "POST", "https://lab.test/api/v4/projects/17/repository/commits",
	    "-" },
	{ "PUT", "https://lab.test/api/v4/projects/17", "-" },
	{ "POST",
	    "https://lab.test/api/v4/projects/acme%2Fx/repository/"
	    "commits",
	    NULL },
	{ "POST", "https://lab.test/api/v4/projects/17/issues", NULL },
	{ "POST", "https://jo.test/api/v1/repos/acme/any/contents/x", "-" },
	{ "POST", "https://jo.test/api/v1/repos/other/any/contents/x", NULL },
	/* A suffix for the format, and a parameter. */
	{ "POST", "https://lab.test/api/v4/projects/17/repository/commits.json",
	    "-" },
	{ "PUT",
	    "https://lab.test/api/v4/projects/acme%2Fa%2Bb/merge_requests/1/"
	    "merge.json",
	    "-" },
	{ "PUT", "https://api.github.com/repos/acme/app/contents;a/x", "-" },
	/* Slashes that a server in front may decode. */
	{ "POST", "https://jo.test/api/v1/repos/acme/any%2Fcontents/x", "-" },
	{ "POST", "https://jo.test/api/v1/repos/acme%2Fany/contents/x", "-" },
	{ "PATCH", "https://jo.test/api/v1/repos/acme/any%2F", "-" },
	{ "PUT", LAB "17/merge_requests%2F1%2Fmerge", "-" },
	{ "POST", LAB "17%2Frepository%2Fcommits", "-" },
	{ "POST", LAB "other%2F17/issues", NULL },
	{ "PUT", LAB "other%2F17", NULL },
	/* Less known ways to move a branch: a fix that is committed, a merge
	 * that a deployment makes, a changelog, a command in a note. */
	{ "POST",
	    "https://api.github.com/repos/acme/app/code-scanning/alerts/1/"
	    "autofix/commits",
	    "-" },
	{ "POST", "https://api.github.com/repos/acme/app/deployments", "-" },
	{ "POST",
	    "https://lab.test/api/v4/projects/acme%2Fa%2Bb/repository/"
	    "changelog",
	    "-" },
	{ "POST",
	    "https://lab.test/api/v4/projects/acme%2Fa%2Bb/merge_requests/1/"
	    "notes",
	    "-" },
	{ "POST",
	    "https://lab.test/api/v4/projects/17/merge_trains/"
	    "merge_requests/1",
	    "-" },
	{ "PUT", "https://lab.test/api/v4/suggestions/5/apply", "-" },
	{ "PUT", "https://lab.test/api/v4/suggestions/batch_apply", "-" },
	{ "POST", "https://jo.test/api/v1/repos/acme/any/merge-upstream", "-" },
	{ "POST", "https://jo.test/api/v1/repos/acme/any/sync_fork/main", "-" },
	/* GT-96 */
	{ "POST", "https://hub.test/api/graphql", "-" },
	{ "POST", "https://lab.test/api/graphql", "-" },
	{ "POST", "https://jo.test/api/graphql", NULL },
	/* A server without an API. */
	{ "PUT", "https://plain.test/repos/acme/app/contents/x", NULL },
	/* GT-98: a rule with the route's own segment, or without a star. */
	{ "PUT", "https://api.github.com/repos/acme/app/pulls/1/merge",
	    "merges" },
	{ "POST", "https://api.github.com/graphql", "graph" },
	{ "PATCH", "https://api.github.com/repos/acme/app", "whole" },
};

static int
setup(void **state)
{
	static struct bed bed;

	bed_load(&bed, NULL, policy);
	if (bed.program == NULL)
		print_error("%s", buf_text(&bed.text));
	*state = &bed;
	return bed.program == NULL ? -1 : 0;
}

static int
teardown(void **state)
{
	bed_release(*state);
	return 0;
}

static void
api_routes_that_write_want_a_rule_of_their_own(void **state)
{
	struct bed *bed = *state;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct facts f =
		    bed_request(bed->program, rows[i].method, rows[i].url);
		struct verdict v = policy_decide(bed->program, &f);
		const char *rule = rows[i].rule == NULL ? "all" : rows[i].rule;

		print_message("# %s %s\n", rows[i].method, rows[i].url);
		if (strcmp(rule, "-") == 0) {
			assert_string_equal(reason_name(v.reason), "git.api");
			assert_int_equal(v.rule, VERDICT_NONE);
			continue;
		}
		assert_string_equal(reason_name(v.reason), "allow");
		assert_true(
		    slice_eq_str(program_rule(bed->program, v.rule).name,
			rule));
	}
}

/* `api: follow`: what a push may delete, and what stands in the path. */
static const char followed[] =
    "version: 1\n"
    "policies: {p: {rules: ["
    "{allow: 'git+https://github.com/acme/*', fetch: true}, "
    "{deny: 'git+https://github.com/acme/shut'}, "
    "{allow: ['git+https://github.com/acme/app', "
    "'git+https://github.com/acme/shut'], api: follow, "
    "push: {branches: ['agent/**'], tags: ['v*'], delete: true}}, "
    "{allow: 'git+https://github.com/acme/**', push: {branches: "
    "['**'], delete: true}}, "
    "{allow: 'git+https://lab.test/acme/app', forge: gitlab, "
    "api: follow, push: {branches: ['agent/**'], delete: true}}, "
    "{allow: 'git+https://jo.test/acme/app', forge: forgejo, "
    "api: follow, push: {branches: ['agent/**'], tags: ['v*'], "
    "delete: true}}, "
    "{allow: 'git+https://bitbucket.org/acme/app', api: follow, "
    "push: {branches: ['agent/**'], tags: ['v*'], delete: true}}, "
    "{allow: ['https://api.github.com/**', 'https://lab.test/**', "
    "'https://jo.test/**', 'https://api.bitbucket.org/**'], methods: "
    "any, encoded_slash: true}]}}\n";
static const struct {
	const char *method, *url;
	bool allow;
} deleted[] = {
	{ "DELETE", HUB "git/refs/heads/agent/x", true },
	{ "DELETE", HUB "git/refs/heads/agent/x%2Fy", true },
	{ "DELETE", HUB "git/refs/tags/v1", true },
	{ "DELETE", HUB "git/refs/heads/main", false },
	{ "DELETE", HUB "git/refs/heads/agent/x/", false },
	{ "DELETE", HUB "git/refs/heads/agent/x%40", false },
	{ "DELETE", HUB "git/refs/heads/agent/x?branch=main", false },
	{ "DELETE", HUB "git/refs/heads/agent/x?", false },
	{ "DELETE", HUB "git/refs/heads/agent", false },
	{ "DELETE", HUB "git/refs/tags/x", false },
	{ "DELETE", HUB "git/refs", false },
	{ "DELETE", HUB "Git/refs/heads/agent/x", false },
	{ "DELETE", HUB "x/git/refs/heads/agent/x", false },
	{ "PATCH", HUB "git/refs/heads/agent/x", false },
	{ "POST", HUB "git/refs", false },
	{ "PUT", HUB "contents/agent/x", false },
	{ "DELETE",
	    "https://api.github.com/repos/ACME/App/git/refs/heads/"
	    "agent/x",
	    true },
	/* A rule that denies; one that pushes without; a number. */
	{ "DELETE",
	    "https://api.github.com/repos/acme/shut/git/refs/heads/"
	    "agent/x",
	    false },
	{ "DELETE",
	    "https://api.github.com/repos/acme/b/git/refs/heads/"
	    "agent/x",
	    false },
	{ "DELETE",
	    "https://api.github.com/repositories/1/git/refs/heads/"
	    "agent/x",
	    false },
	{ "DELETE", LAB "acme%2Fapp/repository/branches/agent%2Fx", true },
	{ "DELETE", LAB "acme%2Fapp/repository/branches/main", false },
	{ "DELETE", LAB "acme%2Fapp/repository/tags/v1", false },
	{ "DELETE", LAB "acme%2Fapp/repository/merged_branches", false },
	{ "DELETE", LAB "17/repository/branches/agent%2Fx", false },
	{ "DELETE",
	    "https://jo.test/api/v1/repos/acme/app/branches/"
	    "agent/x",
	    true },
	{ "DELETE", "https://jo.test/api/v1/repos/acme/app/tags/v1", true },
	{ "DELETE",
	    "https://jo.test/api/v1/repos/acme/app/releases/"
	    "tags/v1",
	    false },
	{ "DELETE",
	    "https://api.bitbucket.org/2.0/repositories/acme/"
	    "app/refs/branches/agent/x",
	    true },
	{ "DELETE",
	    "https://api.bitbucket.org/2.0/repositories/acme/"
	    "app/refs/branches/main",
	    false },
};

static void
api_deletes_what_a_push_may(void **state)
{
	struct bed b;

	(void)state;
	bed_load(&b, NULL, followed);
	if (b.program == NULL)
		print_error("%s", buf_text(&b.text));
	assert_non_null(b.program);
	for (size_t i = 0; i < COUNT_OF(deleted); i++) {
		struct facts f =
		    bed_request(b.program, deleted[i].method, deleted[i].url);
		struct verdict v = policy_decide(b.program, &f);
		print_message("# %s %s\n", deleted[i].method, deleted[i].url);
		assert_int_equal(v.reason,
		    deleted[i].allow ? REASON_ALLOW : REASON_GIT_API);
	}
	bed_release(&b);
}

/* A rule of every host guards the APIs of the forges among them. */
static void
api_routes_are_shut_under_a_wildcard(void **state)
{
	static const struct {
		const char *method, *url;
		bool allow;
	} tried[] = {
		{ "PUT", "https://api.github.com/repos/acme/app/contents/x",
		    false },
		{ "PUT", "https://api.github.com/repos/ACME/App/contents/x",
		    false },
		{ "PATCH", "https://api.github.com/repositories/1/git/refs/x",
		    false },
		{ "POST",
		    "https://gitlab.com/api/v4/projects/1/repository/"
		    "commits",
		    false },
		{ "POST", "https://codeberg.org/api/v1/repos/acme/app/contents",
		    false },
		{ "PUT", "https://api.github.com/repos/acme/b/contents/x",
		    true },
		{ "GET", "https://api.github.com/repos/acme/app/contents/x",
		    true },
		{ "PUT", "https://hub.test/api/v3/repos/acme/app/contents/x",
		    true },
		{ "POST", "https://github.com/ACME/App/git-upload-pack", true },
		{ "POST", "https://hub.test/acme/app/git-upload-pack", true },
		{ "POST", "https://hub.test/ACME/App/git-upload-pack", false },
	};
	struct bed b;

	(void)state;
	bed_load(&b, NULL,
	    "version: 1\n"
	    "policies: {p: {rules: [{allow: 'git+https://**/acme/app', "
	    "fetch: true}, {allow: ['https://*.github.com/**', "
	    "'https://gitlab.com/**', 'https://codeberg.org/**', "
	    "'https://hub.test/api/**'], methods: any}]}}\n");
	assert_non_null(b.program);
	for (size_t i = 0; i < COUNT_OF(tried); i++) {
		struct facts f =
		    bed_request(b.program, tried[i].method, tried[i].url);
		struct verdict v = policy_decide(b.program, &f);
		print_message("# %s %s\n", tried[i].method, tried[i].url);
		assert_int_equal(v.allow, tried[i].allow);
		if (!v.allow && strstr(tried[i].url, "/api") != NULL)
			assert_int_equal(v.reason, REASON_GIT_API);
	}
	bed_release(&b);
}

static void
api_refusal_says_what_would_open_it(void **state)
{
	struct bed *bed = *state;
	struct facts f = bed_request(bed->program, "PUT",
	    "https://api.github.com/repos/acme/app/contents/x");
	struct verdict v = policy_decide(bed->program, &f);
	struct buf out;

	buf_init(&out, 4096);
	policy_explain(bed->program, &f, &v, &out);
	assert_string_equal(buf_text(&out),
	    "PUT on /repos/acme/app/contents/x could change a repository past "
	    "its rule of git+https; rule `all` (policy.yaml:19) would have to "
	    "name this route itself");
	assert_string_equal(policy_stumble(bed->program, &f, 5),
	    "rule of the repository");
	buf_release(&out);
}

/* GT-98: allowed as written, and said; a rule with a star does not hide it. */
static void
api_rule_that_opens_a_door_is_said(void **state)
{
	static const struct {
		const char *rule;
		bool said;
	} tried[] = {
		{ "https://api.github.com/repos/acme/app/contents/**", true },
		{ "https://api.github.com/graphql", true },
		{ "https://api.github.com/repos/acme/app", true },
		{ "https://api.github.com/repos/acme/*/issues", false },
		{ "https://api.other.test/repos/acme/app/contents/**", false },
	};
	char text[1024];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(tried); i++) {
		struct bed b;
		snprintf(text, sizeof(text),
		    "version: 1\npolicies: {p: {rules: [{name: git, allow: "
		    "'git+https://github.com/acme/app', fetch: true}, {allow: "
		    "['https://api.github.com/**', "
		    "'https://api.other.test/**'], methods: any}, {allow: "
		    "'%s', methods: [PUT]}]}}\n",
		    tried[i].rule);
		bed_load_trusted(&b, NULL, text);
		print_message("# %s\n", tried[i].rule);
		assert_non_null(b.program);
		assert_int_equal(strstr(buf_text(&b.text),
				     "can change refs past the rule `git`") !=
			NULL,
		    tried[i].said);
		bool hidden = strstr(buf_text(&b.text), "is hidden by") != NULL;
		assert_int_equal(hidden,
		    strstr(tried[i].rule, "issues") != NULL);
		bed_release(&b);
	}
}

/* Those that allow something, by exact names: for the URLs of SSH. */
static void
git_hosts_are_found(void **state)
{
	static const struct {
		const char *host;
		uint16_t port;
	} wanted[] = { { "github.com", 443 }, { "a.test", 8443 },
		{ "github.com", 443 } };
	uint32_t next = 0, n = 0;
	struct slice host;
	uint16_t port;
	struct bed b;

	(void)state;
	bed_load(&b, NULL,
	    "version: 1\n"
	    "policies: {p: {rules: [{deny: 'git+https://no.test/acme/app'}, "
	    "{allow: ['git+https://github.com/acme/app', "
	    "'git+https://github.com/acme/lib'], fetch: true}, {allow: "
	    "['git+https://a.test:8443/x', 'git+https://*.b.test/x'], "
	    "fetch: true}, {allow: 'https://c.test/**'}]}}\n");
	assert_non_null(b.program);
	while (git_next_host(b.program, &next, &host, &port)) {
		bool known = false;
		for (size_t i = 0; i < COUNT_OF(wanted); i++)
			known = known ||
			    (slice_eq_str(host, wanted[i].host) &&
				port == wanted[i].port);
		assert_true(known);
		n++;
	}
	assert_int_equal(n, COUNT_OF(wanted));
	bed_release(&b);
}

/* GT-31: where nothing is read, nobody sees a branch. */
static void
api_rule_that_passes_unread_is_said(void **state)
{
	static const struct {
		const char *rule;
		bool said;
	} tried[] = {
		{ "tcp://github.com:22", true },
		{ "tls://github.com:8443", true },
		{ "tcp://other.test:22", false },
	};
	char text[1024];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(tried); i++) {
		struct bed b;
		snprintf(text, sizeof(text),
		    "version: 1\npolicies: {p: {rules: [{allow: "
		    "'git+https://github.com/acme/app', push: {branches: "
		    "[x]}}, {allow: '%s'}]}}\n",
		    tried[i].rule);
		bed_load_trusted(&b, NULL, text);
		print_message("# %s\n", tried[i].rule);
		assert_non_null(b.program);
		assert_int_equal(strstr(buf_text(&b.text),
				     "is under no rule for branches") != NULL,
		    tried[i].said);
		bed_release(&b);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    api_routes_that_write_want_a_rule_of_their_own),
		cmocka_unit_test(api_deletes_what_a_push_may),
		cmocka_unit_test(api_routes_are_shut_under_a_wildcard),
		cmocka_unit_test(api_refusal_says_what_would_open_it),
		cmocka_unit_test(api_rule_that_opens_a_door_is_said),
		cmocka_unit_test(git_hosts_are_found),
		cmocka_unit_test(api_rule_that_passes_unread_is_said),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
