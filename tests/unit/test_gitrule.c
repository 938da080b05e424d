/* SPDX-License-Identifier: Apache-2.0 */
/* Rules of git+https: repositories, services, and spellings. */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/limits.h"
#include "policy/git.h"
#include "policy_bed.h"

#define UP "/info/refs?service=git-upload-pack"
#define RECEIVE "/info/refs?service=git-receive-pack"

static const char policy[] =
    "version: 1\n"
    "policies:\n"
    "  p:\n"
    "    rules:\n"
    "      - name: no-secret\n"
    "        deny: git+https://git.test/acme/secret\n"
    "      - name: app\n"
    "        allow: git+https://git.test/acme/App\n"
    "        forge: gitlab\n"
    "        fetch: true\n"
    "        push: {branches: ['agent/**']}\n"
    "      - name: lib\n"
    "        allow: git+https://git.test/acme/lib.git\n"
    "        fetch: true\n"
    "      - name: all\n"
    "        allow: git+https://git.test/acme/*\n"
    "        forge: forgejo\n"
    "        archive: true\n"
    "      - name: web\n"
    "        allow: https://git.test/**\n"
    "        methods: any\n"
    "      - name: exact\n"
    "        allow: git+https://plain.test/srv/a\n"
    "        fetch: true\n"
    "      - name: wild\n"
    "        allow: git+https://plain.test/pub/*\n"
    "        fetch: true\n"
    "      - name: page\n"
    "        allow: https://plain.test/page\n"
    "      - name: none\n"
    "        allow: https://web.test/**\n"
    "        methods: any\n";

static const struct {
	const char *name, *method, *url, *reason, *rule;
} rows[] = {
	{ "discover a fetch", "GET", "https://git.test/acme/App" UP, "allow",
	    "app" },
	{ "GT-22 with .git", "GET", "https://git.test/acme/App.git" UP, "allow",
	    "app" },
	{ "a fetch", "POST", "https://git.test/acme/App/git-upload-pack",
	    "allow", "app" },
	{ "discover a push", "GET", "https://git.test/acme/App" RECEIVE,
	    "allow", "app" },
	{ "GT-27 a push without its discovery", "POST",
	    "https://git.test/acme/App.git/git-receive-pack", "allow", "app" },
	{ "GT-93 letters of either case", "POST",
	    "https://git.test/ACME/aPP.GIT/git-receive-pack", "allow", "app" },
	{ "GT-26 a push where a fetch is granted", "GET",
	    "https://git.test/acme/lib" RECEIVE, "git.service", NULL },
	{ "GT-27 likewise without its discovery", "POST",
	    "https://git.test/acme/lib.git/git-receive-pack", "git.service",
	    NULL },
	{ "its case counts, and the next rule has it folded", "GET",
	    "https://git.test/acme/LIB" UP, "git.service", NULL },
	{ "GT-93 wiki, by the pattern", "POST",
	    "https://git.test/acme/app.wiki.git/git-upload-archive", "allow",
	    "all" },
	{ "GT-20 archive, not granted there", "POST",
	    "https://git.test/acme/App/git-upload-archive", "allow", "all" },
	{ "denied", "GET", "https://git.test/acme/secret" UP, "deny.rule",
	    "no-secret" },
	{ "denied in another spelling", "POST",
	    "https://git.test/acme/SECRET.git/git-receive-pack", "deny.rule",
	    "no-secret" },
	{ "denied, whatever it is", "GET",
	    "https://git.test/acme/secret.git/HEAD", "deny.rule", "no-secret" },
	/* What `web` would allow is not its to allow. */
	{ "GT-29 dumb", "GET", "https://git.test/acme/lib/info/refs",
	    "git.service", NULL },
	{ "GT-28 service twice", "GET",
	    "https://git.test/acme/App" UP "&service=git-receive-pack",
	    "git.service", NULL },
	{ "GT-28 a query behind a POST", "POST",
	    "https://git.test/acme/App/git-receive-pack?x=1", "git.service",
	    NULL },
	{ "GT-29 WebDAV", "PUT", "https://git.test/acme/lib.git/refs/heads/x",
	    "git.service", NULL },
	{ "GT-30 GET of a service", "GET",
	    "https://git.test/acme/App/git-receive-pack", "git.service", NULL },
	{ "GT-30 POST of the discovery", "POST",
	    "https://git.test/acme/App" RECEIVE, "git.service", NULL },
	{ "LFS", "POST", "https://git.test/acme/App.git/info/lfs/objects/batch",
	    "git.service", NULL },
	{ "GT-23 an escape", "POST",
	    "https://git.test/acme%2FApp/git-receive-pack", "http.path_invalid",
	    NULL },
	{ "another repository is what `web` says", "POST",
	    "https://git.test/other/x.git/git-receive-pack", "allow", "web" },
	{ "what is none of git's", "POST", "https://git.test/acme/App/issues",
	    "allow", "web" },
	{ "an escape elsewhere", "GET", "https://git.test/acme/App/a%2Fb",
	    "http.path_denied", NULL },
	/* A plain server. */
	{ "its spelling", "GET", "https://plain.test/srv/a" UP, "allow",
	    "exact" },
	{ "both", "GET", "https://plain.test/srv/a.git" UP, "allow", "exact" },
	{ "no folding", "GET", "https://plain.test/srv/A" UP, "git.repo",
	    NULL },
	{ "GT-21 another", "GET", "https://plain.test/srv/b" UP, "git.repo",
	    NULL },
	{ "GT-21 its wiki", "GET", "https://plain.test/srv/a.wiki.git" UP,
	    "git.repo", NULL },
	{ "GT-93 a star is one segment", "GET", "https://plain.test/pub/x/y" UP,
	    "git.repo", NULL },
	{ "a star", "POST", "https://plain.test/pub/x.git/git-upload-pack",
	    "allow", "wild" },
	{ "no request of git's, no other rule", "GET",
	    "https://plain.test/srv/a", "http.path_denied", NULL },
	{ "an escape of none of git's", "GET", "https://plain.test/%C3%84",
	    "http.path_denied", NULL },
	{ "the rule beside", "GET", "https://plain.test/page", "allow",
	    "page" },
	{ "an upgrade of git's", "GET", "wss://plain.test/srv/a" UP, "git.repo",
	    NULL },
	{ "another port", "GET", "https://plain.test:8443/srv/a" UP, "dst.port",
	    NULL },
	{ "plain HTTP", "GET", "http://plain.test:443/srv/a" UP, "http.upgrade",
	    NULL },
	/* Where no rule speaks of git, it is a path like others. */
	{ "no rule of git's", "POST", "https://web.test/x%2Fy/git-receive-pack",
	    "http.path_denied", NULL },
	{ "likewise", "POST", "https://web.test/x/git-receive-pack", "allow",
	    "none" },
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
git_requests_are_judged_by_repository_and_service(void **state)
{
	struct bed *bed = *state;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct facts f =
		    bed_request(bed->program, rows[i].method, rows[i].url);
		struct verdict v = policy_decide(bed->program, &f);

		print_message("# %s\n", rows[i].name);
		assert_string_equal(reason_name(v.reason), rows[i].reason);
		if (rows[i].rule == NULL) {
			assert_int_equal(v.rule, VERDICT_NONE);
			continue;
		}
		struct slice name = program_rule(bed->program, v.rule).name;
		assert_true(slice_eq_str(name, rows[i].rule));
	}
}

static void
git_names_and_connections_are_those_of_https(void **state)
{
	struct bed *bed = *state;
	struct facts f = { .kind = FACTS_NAME,
		.host = SLICE("plain.test"),
		.qtype = 1 };

	assert_true(policy_decide(bed->program, &f).allow);
	f = bed_request(bed->program, "", "https://plain.test/");
	f.kind = FACTS_CONNECT;
	assert_true(policy_decide(bed->program, &f).allow);
	f.kind = FACTS_DIAL;
	f.rule = 5; /* `exact` */
	struct verdict v = policy_decide(bed->program, &f);
	assert_string_equal(reason_name(v.reason), "allow");
	f.port = 22;
	assert_false(policy_decide(bed->program, &f).allow);
}

/* The spelling that goes upstream. */
static void
git_path_is_the_policys(void **state)
{
	static const struct {
		uint32_t rule;
		const char *host, *sent, *path; /* NULL: not of the rule */
	} spellings[] = {
		{ 1, "git.test", "/ACME/app", "/acme/App.git" },
		{ 1, "git.test", "/acme/App.git", "/acme/App.git" },
		{ 1, "git.test", "/acme/other", NULL },
		{ 2, "git.test", "/acme/lib", "/acme/lib.git" },
		{ 3, "git.test", "/Acme/X.git", "/acme/x.git" },
		{ 5, "plain.test", "/srv/a.git", "/srv/a" },
		{ 5, "plain.test", "/srv/a", "/srv/a" },
		{ 6, "plain.test", "/pub/X.git", "/pub/X.git" },
		{ 6, "plain.test", "/pub/X", "/pub/X" },
		{ 6, "git.test", "/pub/X", NULL },
		{ 4, "git.test", "/acme/app", NULL },
	};
	struct bed *bed = *state;

	for (size_t i = 0; i < COUNT_OF(spellings); i++) {
		uint8_t out[64];
		struct wr w = wr_of(out, sizeof(out));
		bool good = git_rule_path(bed->program, spellings[i].rule,
		    slice_of_str(spellings[i].host),
		    slice_of_str(spellings[i].sent), &w);

		print_message("# %s\n", spellings[i].sent);
		assert_int_equal(good, spellings[i].path != NULL);
		if (good)
			assert_true(
			    slice_eq_str(wr_slice(&w), spellings[i].path));
	}
	uint8_t small[8];
	struct wr w = wr_of(small, sizeof(small));
	assert_false(git_rule_path(bed->program, 1, SLICE("git.test"),
	    SLICE("/acme/app"), &w));
}

static void
git_rule_says_what_is_written(void **state)
{
	struct bed *bed = *state;
	struct git_rule g;

	assert_false(git_rule(bed->program, 0, &g)); /* it denies */
	assert_false(git_rule(bed->program, 4, &g)); /* of https */
	assert_int_equal(git_rule_n(bed->program, 4, GIT_REFS), 0);
	assert_true(git_rule(bed->program, 1, &g));
	assert_true(g.fetch && g.push && !g.archive && !g.hide_refs);
	assert_true(g.create && g.update && !g.delete &&!g.force);
	assert_int_equal(g.forge, FORGE_GITLAB);
	assert_int_equal(g.max_commands, LIMIT_PUSH_COMMANDS);
	assert_int_equal(git_rule_n(bed->program, 1, GIT_REFS), 1);
	assert_true(slice_eq_str(git_rule_text(bed->program, 1, GIT_REFS, 0),
	    "refs/heads/agent/**"));
	assert_true(
	    git_rule_has_ref(bed->program, 1, SLICE("refs/heads/agent/x/y")));
	assert_false(
	    git_rule_has_ref(bed->program, 1, SLICE("refs/heads/agent")));
	assert_false(
	    git_rule_has_ref(bed->program, 2, SLICE("refs/heads/agent/x")));
	assert_string_equal(git_forge_user(FORGE_GITHUB), "x-access-token");
	assert_string_equal(git_forge_user(FORGE_GITLAB), "oauth2");
	assert_string_equal(git_forge_name(FORGE_NONE), "none");
	assert_int_equal(git_forge_of_host(SLICE("codeberg.org")),
	    FORGE_FORGEJO);
}

static void
git_explains_what_is_missing(void **state)
{
	static const struct {
		const char *method, *url, *line;
	} lines[] = {
		{ "GET", "https://plain.test/srv/b.git" UP,
		    "no rule names git+https://plain.test/srv/b; nearest: rule "
		    "`exact` (policy.yaml:22) allows "
		    "git+https://plain.test/srv/a; the missing rule: `- allow: "
		    "git+https://plain.test/srv/b` with `fetch: true`, `push:` "
		    "or both" },
		{ "POST", "https://git.test:8443/acme/lib/git-receive-pack",
		    "no rule names git+https://git.test:8443/acme/lib; "
		    "nearest: rule `app` (policy.yaml:7) allows "
		    "git+https://git.test/acme/App; the missing rule: "
		    "`- allow: git+https://git.test:8443/acme/lib` with "
		    "`fetch: true`, `push:` or both" },
		{ "POST", "https://git.test/acme/lib.git/git-receive-pack",
		    "rule `lib` (policy.yaml:12) does not allow a push of "
		    "git+https://git.test/acme/lib" },
		{ "GET", "https://git.test/acme/lib/info/refs",
		    "rule `lib` (policy.yaml:12) does not allow anything but "
		    "git's smart HTTP of git+https://git.test/acme/lib" },
	};
	struct bed *bed = *state;
	struct buf out;

	buf_init(&out, 4096);
	for (size_t i = 0; i < COUNT_OF(lines); i++) {
		struct facts f =
		    bed_request(bed->program, lines[i].method, lines[i].url);
		struct verdict v = policy_decide(bed->program, &f);
		buf_clear(&out);
		policy_explain(bed->program, &f, &v, &out);
		assert_string_equal(buf_text(&out), lines[i].line);
	}
	struct facts f = bed_request(bed->program, "POST",
	    "https://git.test/acme/lib/git-receive-pack");
	assert_string_equal(policy_stumble(bed->program, &f, 1), "repository");
	assert_string_equal(policy_stumble(bed->program, &f, 2), "service");
	assert_string_equal(policy_stumble(bed->program, &f, 4), "path");
	/* A page of the repository, and the wrong method for what is git's. */
	f = bed_request(bed->program, "GET", "https://git.test/acme/lib");
	assert_string_equal(policy_stumble(bed->program, &f, 2), "service");
	f = bed_request(bed->program, "GET",
	    "https://git.test/acme/lib/git-upload-pack");
	assert_string_equal(policy_stumble(bed->program, &f, 2), "method");
	assert_string_equal(policy_stumble(bed->program, &f, 1), "repository");
	f = bed_request(bed->program, "GET",
	    "https://git.test/acme/lib/info/refs");
	assert_string_equal(policy_stumble(bed->program, &f, 2), "service");
	buf_release(&out);
}

static const char config[] = "version: 1\n"
			     "credentials:\n"
			     "  g:\n"
			     "    kind: token\n"
			     "    secret: {env: T}\n"
			     "    only: ['git+https://github.com/acme/**', "
			     "'git+https://plain.test/a/*']\n"
			     "  h:\n"
			     "    kind: token\n"
			     "    secret: {env: T}\n"
			     "    only: 'https://github.com/**'\n"
			     "  k:\n"
			     "    kind: header\n"
			     "    header: Private-Token\n"
			     "    secret: {env: T}\n"
			     "    only: 'git+https://github.com/**'\n";

/* A token of git's rules is one whose `only:` says so. */
static void
git_credentials_lie_inside_their_ceiling(void **state)
{
	static const struct {
		const char *rule;
		const char *why; /* none: it is good */
	} tried[] = {
		{ "github.com/acme/app', credential: g", NULL },
		{ "github.com/ACME/App.git', credential: g", NULL },
		{ "github.com/other/app', credential: g", ")\n" },
		{ "github.com/acme/app', credential: h",
		    "; for a rule of git it wants `git+https://` there\n" },
		{ "github.com:8443/acme/app', credential: g",
		    "; their ports differ\n" },
		{ "plain.test/a/x', credential: g", NULL },
		{ "plain.test/A/x', credential: g", ")\n" },
		{ "plain.test/A/x', forge: gitlab, credential: g", NULL },
	};
	char text[512];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(tried); i++) {
		struct bed b;
		snprintf(text, sizeof(text),
		    "version: 1\npolicies: {p: {rules: [{fetch: true, allow: "
		    "'git+https://%s}]}}\n",
		    tried[i].rule);
		bed_load(&b, config, text);
		print_message("# %s\n", tried[i].rule);
		assert_int_equal(b.program != NULL, tried[i].why == NULL);
		if (tried[i].why != NULL) {
			const char *said = strstr(buf_text(&b.text),
			    "is wider than `only:` of credential");
			assert_non_null(said);
			assert_non_null(strstr(said, tried[i].why));
		}
		bed_release(&b);
	}
}

static void
git_credentials_become_basic(void **state)
{
	struct bed b;

	(void)state;
	bed_load(&b, config,
	    "version: 1\npolicies: {p: {rules: [{allow: "
	    "'https://github.com/acme/x', credential: g}]}}\n");
	assert_null(b.program);
	bed_release(&b);
	bed_load(&b, config,
	    "version: 1\npolicies: {p: {rules: [{allow: "
	    "'git+https://github.com/acme/x', fetch: true, credential: k}]}}\n");
	assert_null(b.program);
	assert_non_null(
	    strstr(buf_text(&b.text), "`k` is of no kind that git takes"));
	bed_release(&b);
	/* A token is the password of Basic, beside the forge's name. */
	bed_load(&b, config,
	    "version: 1\npolicies: {p: {rules: [{allow: "
	    "'git+https://github.com/acme/x', fetch: true, credential: g}, "
	    "{allow: 'https://github.com/acme/x', credential: h}]}}\n");
	assert_non_null(b.program);
	struct program_credential c = git_credential(b.program, 0, 0);
	assert_int_equal(c.kind, CREDENTIAL_BASIC);
	assert_true(slice_eq_str(c.slot, "Authorization"));
	assert_true(slice_eq_str(c.prefix, "Basic "));
	assert_true(slice_eq_str(c.user, "x-access-token"));
	c = git_credential(b.program, 1, 1);
	assert_int_equal(c.kind, CREDENTIAL_TOKEN);
	bed_release(&b);
}

/* The first rule that grants a service decides about it: a later one is hidden. */
static void
git_rules_hide_what_they_grant(void **state)
{
	static const struct {
		const char *first, *second;
		bool hidden;
	} tried[] = {
		{ "acme/**', fetch: true", "acme/app', fetch: true", true },
		{ "acme/app', fetch: true",
		    "acme/app', fetch: true, archive: true", false },
		{ "acme/app', fetch: true, push: {branches: [x]}",
		    "acme/App', push: {branches: [y]}", true },
		{ "acme/*', fetch: true", "acme/a/b', fetch: true", false },
	};
	char text[512];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(tried); i++) {
		struct bed b;
		snprintf(text, sizeof(text),
		    "version: 1\npolicies: {p: {rules: [{allow: "
		    "'git+https://a.test/%s, forge: gitlab}, {allow: "
		    "'git+https://a.test/%s, forge: gitlab}]}}\n",
		    tried[i].first, tried[i].second);
		bed_load(&b, NULL, text);
		print_message("# %s\n", tried[i].second);
		assert_non_null(b.program);
		assert_int_equal(strstr(buf_text(&b.text), "is hidden by") !=
			NULL,
		    tried[i].hidden);
		bed_release(&b);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    git_requests_are_judged_by_repository_and_service),
		cmocka_unit_test(git_names_and_connections_are_those_of_https),
		cmocka_unit_test(git_path_is_the_policys),
		cmocka_unit_test(git_rule_says_what_is_written),
		cmocka_unit_test(git_explains_what_is_missing),
		cmocka_unit_test(git_credentials_lie_inside_their_ceiling),
		cmocka_unit_test(git_credentials_become_basic),
		cmocka_unit_test(git_rules_hide_what_they_grant),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
