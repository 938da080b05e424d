/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is suggested loads, allows all that it was made of, and no more than it
 * says.
 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "audit/facts_event.h"
#include "audit/suggest.h"
#include "policy_bed.h"

static const char policy[] = "version: 1\n"
			     "policies:\n"
			     "  agent:\n"
			     "    rules:\n"
			     "      - deny: https://api.test/never/**\n"
			     "      - allow: https://api.test/read/**\n"
			     "      - allow: https://api.test/find\n"
			     "        query: {kind: [\"a\"], page: any}\n"
			     "      - allow: git+https://git.test/a/known\n"
			     "        fetch: true\n";

static struct bed before, after; /* the policy; what was suggested */
static struct suggest *suggest;
static struct buf yaml;
static struct suggest_sum sum;

static int
set_up(void **state UNUSED)
{
	enum err err = ERR_NONE;

	bed_load(&before, NULL, policy);
	assert_non_null(before.program);
	suggest = suggest_new(&err);
	assert_non_null(suggest);
	buf_init(&yaml, 1 << 20);
	after = (struct bed){ 0 };
	return 0;
}

static int
tear_down(void **state UNUSED)
{
	if (after.program != NULL)
		bed_release(&after);
	bed_release(&before);
	suggest_free(suggest);
	buf_release(&yaml);
	return 0;
}

/* What the log says of this request, which is refused. */
static void
refuse(const char *method, const char *url)
{
	struct facts f = bed_request(before.program, method, url);
	struct verdict v = policy_decide(before.program, &f);
	struct facts_text text;
	struct event e;

	assert_false(v.allow);
	event_init(&e, EVENT_REQUEST_END);
	event_str(&e, FIELD_SANDBOX, "s");
	event_str(&e, FIELD_FLOW, "f");
	facts_to_event(before.program, &f, &v, &text, &e);
	suggest_put(suggest, &e);
}

static void
question(const char *host)
{
	struct event e;

	event_init(&e, EVENT_DNS);
	event_str(&e, FIELD_VERDICT, "deny");
	event_reason(&e, REASON_DNS_DENIED);
	event_str(&e, FIELD_HOST, host);
	suggest_put(suggest, &e);
}

static void
make(void)
{
	sum = suggest_end(suggest, &yaml);
	assert_false(yaml.failed);
	bed_load(&after, NULL, buf_text(&yaml));
	if (after.program == NULL)
		fail_msg("%s\n%s", buf_text(&yaml), buf_text(&after.text));
}

static bool
allows(const char *method, const char *url)
{
	struct facts f = bed_request(after.program, method, url);

	return policy_decide(after.program, &f).allow;
}

static bool
says(const char *text)
{
	return strstr(buf_text(&yaml), text) != NULL;
}

static const char *const asked[][2] = {
	{ "POST", "https://api.test/read/x" },
	{ "GET", "https://api.test/other" },
	{ "GET", "https://api.test/find?kind=b&page=3" },
	{ "GET", "https://evil.test/" },
	{ "GET", "https://evil.test:8443/port?a=1&b" },
	{ "PUT", "http://plain.test/x/y/" },
	{ "GET", "https://odd.test/a*b" },
	{ "GET", "https://odd.test/%2Fa" },
	{ "GET", "https://odd.test/'q'!$&(),;=:@~._-" },
	{ "GET", "https://odd.test/s/s?x=1&x=2" },
	{ "GET", "https://odd.test/t/t?a%20b=1" },
	{ "GET", "https://odd.test/u/u?others=1" },
	{ "GET", "https://odd.test/v/v?k=1;2" },
	{ "GET", "wss://api.test/read/live?v=1" },
	{ "GET", "wss://evil.test:8443/s" },
	{ "GET", "ws://plain.test/w" },
	{ "CONNECT", "wss://plain.test/h2" },
};

static const char *const others[][2] = {
	{ "PUT", "https://api.test/read/x" },
	{ "GET", "https://api.test/read/x" },
	{ "POST", "https://api.test/read/y" },
	{ "GET", "https://api.test/other/x" },
	{ "GET", "https://api.test/other?x" },
	{ "GET", "https://api.test/find?kind=c&page=3" },
	{ "GET", "https://api.test/find?kind=b&page=3&more=1" },
	{ "GET", "https://evil.test/x" },
	{ "HEAD", "https://evil.test/" },
	{ "GET", "https://sub.evil.test/" },
	{ "GET", "http://evil.test/" },
	{ "GET", "https://evil.test/port?a=1&b" },
	{ "GET", "https://evil.test:8443/port?a=1" },
	{ "PUT", "http://plain.test/x/y/z" },
	{ "GET", "https://odd.test/axb" },
	{ "GET", "https://odd.test/a" },
	{ "GET", "https://api.test/read/live?v=1" },
	{ "GET", "wss://api.test/read/live" },
	{ "GET", "wss://evil.test/s" },
	{ "GET", "https://evil.test:8443/s" },
	{ "GET", "http://plain.test/w" },
	{ "GET", "wss://evil.test/" },
};

static void
what_was_refused_is_allowed_and_nothing_beside_it(void **state UNUSED)
{
	for (size_t i = 0; i < COUNT_OF(asked); i++)
		refuse(asked[i][0], asked[i][1]);
	make();
	for (size_t i = 0; i < COUNT_OF(asked); i++) {
		print_message("# %s\n", asked[i][1]);
		assert_true(allows(asked[i][0], asked[i][1]));
	}
	for (size_t i = 0; i < COUNT_OF(others); i++) {
		print_message("# %s\n", others[i][1]);
		assert_false(allows(others[i][0], others[i][1]));
	}
	assert_true(says("plain HTTP"));
	assert_true(says("a WebSocket: what is said there is not looked at"));
	assert_true(says("not only reads"));
	assert_true(says("opens a host without a rule"));
	assert_true(says("any query"));
	assert_int_equal(sum.n_others, 0);
}

#define REFS_OF(service) "/info/refs?service=git-" service "-pack"

/* One rule a repository, whatever git asked for first; a push is none. */
static void
a_fetch_becomes_a_rule_of_git(void **state UNUSED)
{
	refuse("GET", "https://git.test/a/other.git" REFS_OF("upload"));
	refuse("POST", "https://new.test:8443/x/y/git-upload-pack");
	refuse("GET", "https://new.test:8443/x/y.git" REFS_OF("upload"));
	refuse("GET", "https://git.test/a/known" REFS_OF("receive"));
	refuse("GET", "https://new.test/x/y" REFS_OF("receive"));
	refuse("GET", "https://git.test/a/known.git/HEAD");
	refuse("POST", "https://git.test/a/b*c/git-upload-pack");
	make();
	assert_int_equal(sum.n_rules, 2);
	assert_int_equal(sum.n_others, 4);
	assert_true(says("- \"git+https://git.test/a/other.git\"\n"
			 "        fetch: true\n"));
	assert_true(says("- \"git+https://new.test:8443/x/y.git\"\n"));
	assert_true(says("which branches"));
	assert_true(says("git, but no fetch and no push"));
	assert_true(says("not a repository that a rule can have"));
	assert_true(
	    allows("GET", "https://git.test/a/other" REFS_OF("upload")));
	assert_true(allows("POST", "https://git.test/a/other/git-upload-pack"));
	assert_false(
	    allows("GET", "https://git.test/a/other" REFS_OF("receive")));
	assert_false(
	    allows("GET", "https://git.test/a/third" REFS_OF("upload")));
	assert_false(allows("GET", "https://new.test/x/y" REFS_OF("upload")));
}

static void
three_siblings_become_a_star_and_two_do_not(void **state UNUSED)
{
	refuse("GET", "https://a.test/two/1");
	refuse("GET", "https://a.test/two/2");
	refuse("GET", "https://a.test/three/1");
	refuse("GET", "https://a.test/three/2");
	refuse("GET", "https://a.test/three/2/deeper");
	refuse("GET", "https://a.test/three/3");
	/* Other methods and other queries are other siblings. */
	refuse("POST", "https://a.test/mixed/1");
	refuse("GET", "https://a.test/mixed/2");
	refuse("GET", "https://a.test/mixed/3?x=1");
	make();
	assert_true(allows("GET", "https://a.test/three/any"));
	assert_true(allows("GET", "https://a.test/three/2/deeper"));
	assert_false(allows("GET", "https://a.test/three/2/other"));
	assert_false(allows("GET", "https://a.test/two/3"));
	assert_false(allows("GET", "https://a.test/mixed/1"));
	assert_true(says("three/*\" # 3 paths were seen"));
	assert_true(says("wider than what was seen"));
	assert_int_equal(sum.n_rules, 3);
}

static void
too_many_patterns_become_their_folder(void **state UNUSED)
{
	char url[64];

	for (int i = 0; i <= SUGGEST_PATTERNS_MAX; i++) {
		snprintf(url, sizeof(url), "https://a.test/v1/d%d/x", i);
		refuse("GET", url);
	}
	make();
	assert_true(allows("GET", "https://a.test/v1/other/z"));
	assert_false(allows("GET", "https://a.test/v2/d1/x"));
	assert_true(says("/v1/**\" # 17 paths were seen"));
}

static void
what_no_rule_would_change_is_only_told(void **state UNUSED)
{
	struct event e;

	refuse("GET", "https://api.test/never/x");
	refuse("GET", "https://192.0.2.9/x");
	refuse("BREW", "https://pot.test/");
	refuse("POST", "wss://pot.test/");
	question("only.asked.test");
	question("evil.test");
	refuse("GET", "https://evil.test/");
	/* Neither a limit nor what the client gave up. */
	event_init(&e, EVENT_REQUEST_END);
	event_str(&e, FIELD_VERDICT, "deny");
	event_reason(&e, REASON_LIMIT_RATE);
	suggest_put(suggest, &e);
	event_reason(&e, REASON_CLIENT_ABORT);
	suggest_put(suggest, &e);
	event_init(&e, EVENT_FLOW_END);
	event_str(&e, FIELD_VERDICT, "deny");
	event_reason(&e, REASON_TLS_SNI_DENIED);
	event_str(&e, FIELD_SNI, "no.ca.test");
	suggest_put(suggest, &e);
	event_init(&e, EVENT_FLOW_END);
	event_str(&e, FIELD_VERDICT, "deny");
	event_reason(&e, REASON_HTTP_HOST_DENIED);
	event_str(&e, FIELD_SCHEME, "https");
	event_str(&e, FIELD_HOST, "tunnel.test");
	suggest_put(suggest, &e);
	event_init(&e, EVENT_REQUEST_END);
	event_str(&e, FIELD_VERDICT, "deny");
	event_reason(&e, REASON_UP_PRIVATE);
	event_str(&e, FIELD_METHOD, "GET");
	event_str(&e, FIELD_HOST, "corp.test");
	event_number(&e, FIELD_PORT, 443);
	event_str(&e, FIELD_PATH, "/x");
	suggest_put(suggest, &e);
	event_reason(&e, REASON_CRED_MISPLACED);
	suggest_put(suggest, &e);
	make();
	assert_int_equal(sum.n_rules, 1);
	assert_int_equal(sum.n_others, 9);
	assert_true(says("http.host_denied tunnel.test (a proxy was asked"));
	assert_true(says("POST pot.test:443/ (a method"));
	assert_true(says("#   1 x deny.rule GET api.test:443/never/x (a rule"));
	assert_true(says("dns.denied only.asked.test (only asked for"));
	assert_false(says("dns.denied evil.test"));
	assert_true(says("#     - allow: \"https://only.asked.test/**\"\n"));
	assert_false(says("https://evil.test/**"));
	assert_true(says("GET 192.0.2.9:443/x (an address"));
	assert_true(says("BREW pot.test:443/ (a method"));
	assert_true(says("up.private GET corp.test:443/x (its address"));
	assert_true(says("GET corp.test:443/x (a placeholder in a wrong"));
	assert_true(says("or for a rule that lacks its `credential`)"));
	assert_true(says("tls.sni_denied no.ca.test (connected"));
}

/* A log is a file: whoever wrote it chose every text. */
static void
whatever_the_texts_are_it_is_a_policy(void **state UNUSED)
{
	static const char *const texts[] = { "\n  - deny: \"**\"", "a.test\"",
		"a'.test", "a.test/**", "*.test", "**", "a.test:1#", "\xff\xfe",
		"\xef\xbf\xbe.test", "", "a.test\\", "good.test", "-", ".",
		"..", "a..b" };
	struct event e;

	for (size_t i = 0; i < COUNT_OF(texts); i++)
		for (int where = 0; where < 4; where++) {
			event_init(&e, EVENT_REQUEST_END);
			event_str(&e, FIELD_VERDICT, "deny");
			event_reason(&e, REASON_HTTP_HOST_DENIED);
			event_str(&e, FIELD_METHOD,
			    where == 0 ? texts[i] : "GET");
			event_str(&e, FIELD_HOST,
			    where == 1 ? texts[i] : "h.test");
			event_str(&e, FIELD_PATH, where == 2 ? texts[i] : "/p");
			event_str(&e, FIELD_SCHEME,
			    where == 3 ? texts[i] : "https");
			event_number(&e, FIELD_PORT, 443);
			suggest_put(suggest, &e);
		}
	make();
	assert_int_equal(sum.n_rules, 1);
	assert_true(allows("GET", "https://good.test/p"));
}

static void
another_run_forgets_those_before(void **state UNUSED)
{
	struct event e;

	refuse("GET", "https://old.test/");
	event_init(&e, EVENT_START);
	suggest_put(suggest, &e);
	refuse("GET", "https://new.test/");
	/* The same run, its scribe started anew. */
	event_bool(&e, FIELD_REPEATED, true);
	suggest_put(suggest, &e);
	make();
	assert_false(says("old.test"));
	assert_true(says("new.test"));
}

static void
nothing_refused_is_no_rule(void **state UNUSED)
{
	make();
	assert_int_equal(sum.n_rules, 0);
	assert_true(says("rules: []\n"));
}

static void
what_there_is_no_room_for_is_counted(void **state UNUSED)
{
	char url[64];

	for (int i = 0; i < SUGGEST_WISHES_MAX + 3; i++) {
		snprintf(url, sizeof(url), "https://a.test/%d/x", i);
		refuse("GET", url);
	}
	refuse("GET", "https://a.test/1/x");
	make();
	assert_true(says("# 3 refusals more are not in this file."));
}

int
main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(what_was_refused_is_allowed_and_nothing_beside_it),
		T(a_fetch_becomes_a_rule_of_git),
		T(three_siblings_become_a_star_and_two_do_not),
		T(too_many_patterns_become_their_folder),
		T(what_no_rule_would_change_is_only_told),
		T(whatever_the_texts_are_it_is_a_policy),
		T(another_run_forgets_those_before),
		T(nothing_refused_is_no_rule),
		T(what_there_is_no_room_for_is_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
