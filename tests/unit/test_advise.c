/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `check` says of rules that mean what they say, and may mean more than
 * was thought.  Only `check` asks for advice: `run` is silent about it.
 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "policy_bed.h"

static const char owner[] = "version: 1\n"
			    "credentials:\n"
			    "  t:\n"
			    "    kind: token\n"
			    "    secret: {env: T}\n"
			    "    only: https://a.test/**\n";

static const struct {
	const char *name, *rule, *advice; /* NULL: none */
} rows[] = {
	{ "an exact host, GET", "{allow: 'https://a.test/**'}", NULL },
	{ "an exact host, POST", "{allow: 'https://a.test/x', methods: [POST]}",
	    NULL },
	{ "every name", "{allow: 'https://**/**'}", "`**` is every name" },
	{ "names below", "{allow: 'https://**.a.test/**'}",
	    "`**.a.test`: names are data; 60 of them an hour can be asked for" },
	{ "names right below", "{allow: 'https://*.a.test/**'}",
	    "`*.a.test`: names are data" },
	{ "POST below", "{allow: 'https://*.a.test/x', methods: [POST]}",
	    "methods that write, to every host of `*.a.test`: whoever has one "
	    "can be sent data" },
	{ "any method", "{allow: 'https://a.test/x', methods: any}",
	    "`methods: any`: all that creates, changes and deletes, too" },
	{ "a public suffix",
	    "{allow: 'https://*.github.io/**', public_suffix: true}",
	    "`public_suffix: true`: anybody may have a name under `github.io`" },
	{ "a public suffix that is none",
	    "{name: x, allow: 'https://*.a.test/**', public_suffix: true}",
	    "`public_suffix: true` says nothing here" },
	{ "no public suffix",
	    "{allow: 'https://a.test/', public_suffix: false}", NULL },
	{ "plain HTTP", "{allow: 'http://a.test/x'}",
	    "plain HTTP: anybody on the way can read and change it" },
	{ "a credential for everything",
	    "{allow: 'https://a.test/**', methods: [POST], credential: t}",
	    "methods that write, on every path, with a credential" },
	{ "a credential to read everything",
	    "{allow: 'https://a.test/**', credential: t}", NULL },
	{ "a credential for one path",
	    "{allow: 'https://a.test/x', methods: [POST], credential: t}",
	    NULL },
	{ "the client's own credential",
	    "{allow: 'https://a.test/', foreign_credentials: pass}",
	    "`foreign_credentials: pass`: the command may use an account of "
	    "its own" },
	{ "encoded slashes", "{allow: 'https://a.test/', encoded_slash: true}",
	    "`encoded_slash: true`: the origin may read `%2F`" },
	{ "a push without keep",
	    "{allow: 'git+https://github.com/a/b', push: {branches: [x]}}",
	    "`push` without `keep`: what CI runs with rights of its own can be "
	    "changed on an allowed branch; write such as `keep: "
	    "[\".github/**\"]`" },
	{ "a push with keep",
	    "{allow: 'git+https://gitlab.com/a/b', push: {branches: [x], keep: "
	    "[.gitlab-ci.yml]}}",
	    NULL },
	{ "a push to no forge",
	    "{allow: 'git+https://a.test/b', forge: none, push: {branches: "
	    "[x]}}",
	    NULL },
	{ "a forced push",
	    "{allow: 'git+https://a.test/b', forge: none, push: {branches: "
	    "[x], force: true}}",
	    "`force: true`: what is on these refs can be lost" },
	{ "every branch",
	    "{allow: 'git+https://a.test/b', forge: none, push: {branches: "
	    "['**']}}",
	    "every branch, the default one too" },
	{ "every repository",
	    "{allow: 'git+https://github.com/**', fetch: true}",
	    "every repository of `github.com`: one of an attacker's, too" },
	{ "a WebSocket", "{allow: 'wss://a.test/x'}",
	    "`wss://a.test/x`: what goes either way behind the upgrade is "
	    "counted and limited, not looked at" },
	{ "WebSockets below", "{allow: 'wss://*.a.test/x'}",
	    "WebSockets, to every host of `*.a.test`: whoever has one can be "
	    "sent data" },
	{ "a plain WebSocket", "{allow: 'ws://a.test/x'}",
	    "plain HTTP: anybody on the way can read and change it" },
	{ "a WebSocket with a credential",
	    "{allow: 'wss://a.test/x', credential: t}",
	    "`wss://a.test/x` with a credential: what comes behind the "
	    "upgrade is not searched for it" },
	{ "addresses", "{allow: 'https://a.test/', addresses: [10.1.2.3]}",
	    "`addresses:` opens `10.1.2.3`, which is not public" },
};

static void
load(struct bed *b, const char *rule, bool advice)
{
	char text[1024];

	snprintf(text, sizeof(text),
	    "version: 1\npolicies: {p: {rules: [%s]}}\n", rule);
	if (advice)
		bed_load_trusted(b, owner, text);
	else
		bed_load(b, owner, text);
}

static void
advise_says_what_a_rule_gives_up(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct bed b;
		print_message("# %s\n", rows[i].name);
		load(&b, rows[i].rule, true);
		assert_non_null(b.program);
		if (rows[i].advice == NULL)
			assert_string_equal(buf_text(&b.text), "");
		else
			assert_non_null(
			    strstr(buf_text(&b.text), rows[i].advice));
		bed_release(&b);
	}
}

/* What is more than advice is a warning to everybody. */
static void
advise_is_silent_in_run_but_for_every_name(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct bed b;
		bool warned = strstr(rows[i].name, "every name") != NULL ||
		    strstr(rows[i].name, "that is none") != NULL;
		if (strstr(rows[i].rule, "addresses") != NULL)
			continue; /* an error there */
		print_message("# %s\n", rows[i].name);
		load(&b, rows[i].rule, false);
		assert_non_null(b.program);
		assert_int_equal(buf_slice(&b.text).n != 0, warned);
		bed_release(&b);
	}
}

static const struct {
	const char *text, *advice;
} owners[] = {
	{ "upstream: [{names: [a.test], addresses: [10.1.2.3]}]\n",
	    "warning: `10.1.2.3` is not public, and outside "
	    "of `private:`: no policy but your own can open it\n" },
	{ "upstream: [{names: [a.test], addresses: [10.1.2.3]}]\n"
	  "private: [10.1.2.0/24]\n",
	    "" },
	{ "upstream: [{names: [a.test], addresses: [10.1.3.3]}]\n"
	  "private: [10.1.2.0/24, fd00::/8]\n",
	    "`10.1.3.3` is not public" },
	{ "upstream: [{names: [a.test], addresses: ['fd12::1']}]\n"
	  "private: [10.1.2.0/24, 'fd00::/8']\n",
	    "" },
	{ "upstream: [{names: [a.test], addresses: [8.8.8.8]}]\n", "" },
};

static void
advise_says_what_no_policy_can_open(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(owners); i++) {
		char text[512];
		struct bed b;
		snprintf(text, sizeof(text), "version: 1\n%s", owners[i].text);
		print_message("# %zu\n", i);
		bed_load_trusted(&b, text,
		    "version: 1\n"
		    "policies: {p: {rules: [{allow: 'https://a.test/'}]}}\n");
		assert_non_null(b.owner);
		if (owners[i].advice[0] == '\0')
			assert_null(strstr(buf_text(&b.text), "is not public"));
		else
			assert_non_null(
			    strstr(buf_text(&b.text), owners[i].advice));
		bed_release(&b);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(advise_says_what_a_rule_gives_up),
		cmocka_unit_test(advise_is_silent_in_run_but_for_every_name),
		cmocka_unit_test(advise_says_what_no_policy_can_open),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
