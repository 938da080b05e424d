/* SPDX-License-Identifier: Apache-2.0 */
#include "base/limits.h"
#include "owner_bed.h"

/* Half of a credential, of an upstream, or of the file around them. */
#define CREDENTIAL(rest)                                           \
	"version: 1\ncredentials:\n  x:\n    secret: {env: KEY}\n" \
	"    only: https://a.test/**\n" rest
#define SECRET(secret)                                                         \
	"version: 1\ncredentials:\n  x:\n    kind: token\n    secret: " secret \
	"\n    only: https://a.test/**\n"
#define UPSTREAM(rest) "version: 1\nupstream:\n  - names: ['a.test']\n" rest

static const struct {
	const char *name, *config, *error;
} bad[] = {
	{ "audit, a word", "version: 1\naudit: {required: no}\n",
	    "owner.yaml:2:19: expected `true` or `false`, found `no`\n" },
	{ "audit, a key", "version: 1\naudit: {require: false}\n",
	    "owner.yaml:2:9: unknown key `require`; did you mean `required`?\n" },
	{ "dns, a word", "version: 1\ndns: {refused: servfail}\n",
	    "owner.yaml:2:16: expected `address` or `nxdomain`, found "
	    "`servfail`\n" },
	{ "dns, a list", "version: 1\ndns: {refused: [nxdomain]}\n",
	    "owner.yaml:2:16: expected `address` or `nxdomain`, found a "
	    "list\n" },
	{ "dns, a key", "version: 1\ndns: {refuse: nxdomain}\n",
	    "owner.yaml:2:7: unknown key `refuse`; did you mean `refused`?\n" },
	{ "a policy beside", "version: 1\npolicies: {}\nprivate: []\n",
	    "owner.yaml:2:1: `policies` belongs in a policy file (`--policy "
	    "FILE`)\n" },
	{ "no kind", CREDENTIAL(""),
	    "owner.yaml:4:5: `kind` is missing: `token`, `header`, "
	    "`basic` or `query`\n" },
	{ "later kind", CREDENTIAL("    kind: oauth2\n"),
	    "owner.yaml:6:11: kind `oauth2` is not in this version: expected "
	    "`token`, `header`, `basic` or `query`\n" },
	{ "no such kind", CREDENTIAL("    kind: certificate\n"),
	    "owner.yaml:6:11: unknown kind `certificate`; expected `token`, "
	    "`header`, `basic` or `query`\n" },
	{ "nearly a kind", CREDENTIAL("    kind: tokne\n"),
	    "owner.yaml:6:11: unknown kind `tokne`; did you mean `token`?\n" },
	{ "header without one", CREDENTIAL("    kind: header\n"),
	    "owner.yaml:4:5: `header` is missing: the field that carries it, "
	    "such as `X-Api-Key`\n" },
	{ "header of framing",
	    CREDENTIAL("    kind: header\n"
		       "    header: content-length\n"),
	    "owner.yaml:7:13: `content-length` cannot carry a credential\n" },
	{ "header with a colon",
	    CREDENTIAL("    kind: header\n"
		       "    header: 'X:'\n"),
	    "owner.yaml:7:13: `X:` is no name of a header\n" },
	{ "token with a header",
	    CREDENTIAL("    kind: token\n"
		       "    header: X-Key\n"),
	    "owner.yaml:7:5: `header` is of `kind: header`, this is `kind: "
	    "token`\n" },
	{ "header with a user",
	    CREDENTIAL("    kind: header\n"
		       "    header: X-Key\n"
		       "    user: bob\n"),
	    "owner.yaml:8:5: `user` is of `kind: basic`, this is `kind: "
	    "header`\n" },
	{ "basic of nobody", CREDENTIAL("    kind: basic\n"),
	    "owner.yaml:4:5: `user` is missing: who the secret is the "
	    "password of (`\"\"` for nobody)\n" },
	{ "basic, a colon",
	    CREDENTIAL("    kind: basic\n"
		       "    user: 'a:b'\n"),
	    "owner.yaml:7:11: a user's name has no colon, and at most 128 "
	    "bytes\n" },
	{ "basic, neither half",
	    CREDENTIAL("    kind: basic\n"
		       "    slot: both\n"),
	    "owner.yaml:7:11: expected `password` or `user`: which half the "
	    "secret is\n" },
	{ "basic, two users",
	    CREDENTIAL("    kind: basic\n"
		       "    slot: user\n"
		       "    user: bob\n"),
	    "owner.yaml:8:11: with `slot: user` the secret is the user, and "
	    "the password is empty\n" },
	{ "query of none", CREDENTIAL("    kind: query\n"),
	    "owner.yaml:4:5: `parameter` is missing: the key of the query "
	    "that carries it, such as `key`\n" },
	{ "query, no name",
	    CREDENTIAL("    kind: query\n"
		       "    parameter: 'a&b'\n"),
	    "owner.yaml:7:16: `a&b`: the name of a parameter has letters, "
	    "digits, `-._~`, at most 64 bytes\n" },
	/* CF-22; the token itself is not shown */
	{ "secret inline",
	    "version: 1\ncredentials:\n  x: {kind: token, secret: ghp_s3cr3t, "
	    "only: https://a.test/}\n",
	    "owner.yaml:3:28: a secret is never written here: expected "
	    "`{file: PATH}`, `{env: NAME}` or `{command: [PATH, …]}`\n" },
	{ "two sources",
	    "version: 1\ncredentials:\n  x: {kind: token, secret: {file: /x, "
	    "env: X}, only: https://a.test/}\n",
	    "owner.yaml:3:28: exactly one source is expected: `file`, `env` "
	    "or `command`\n" },
	{ "no source", SECRET("{pass: [A]}"),
	    "owner.yaml:5:13: exactly one source is expected: `file`, `env` "
	    "or `command`\n" },
	{ "a command for a shell", SECRET("{command: gh auth token}"),
	    "owner.yaml:5:23: expected a list such as `[/usr/bin/gh, auth, "
	    "token]`, found a single value\n" },
	{ "no command", SECRET("{command: []}"),
	    "owner.yaml:5:23: an empty list: expected the program's path "
	    "first\n" },
	{ "a command to be searched for", SECRET("{command: [gh]}"),
	    "owner.yaml:5:24: `gh`: expected an absolute path; no PATH is "
	    "searched\n" },
	{ "a command's path up", SECRET("{command: [/usr/../x]}"),
	    "owner.yaml:5:24: `/usr/../x`: expected an absolute path; no PATH "
	    "is searched\n" },
	{ "pass without a command", SECRET("{file: /x, pass: [A]}"),
	    "owner.yaml:5:30: `pass` is of a `command`: the variables that "
	    "it gets\n" },
	{ "pass of no name", SECRET("{command: [/x], pass: [A=b]}"),
	    "owner.yaml:5:36: `A=b` is no name of a variable\n" },
	{ "for of a variable", SECRET("{env: X, for: 5m}"),
	    "owner.yaml:5:27: a variable does not change: `for` is of "
	    "`command` and `file`\n" },
	{ "for without a unit", SECRET("{command: [/x], for: 5}"),
	    "owner.yaml:5:34: `5` is no time: expected such as `10s`, `15m`, "
	    "`1h`\n" },
	{ "for of nothing", SECRET("{command: [/x], for: 0s}"),
	    "owner.yaml:5:34: `0s` is no time: expected such as `10s`, `15m`, "
	    "`1h`\n" },
	{ "for of two units", SECRET("{command: [/x], for: 1m30s}"),
	    "owner.yaml:5:34: `1m30s` is no time: expected such as `10s`, "
	    "`15m`, `1h`\n" },
	{ "for of days", SECRET("{command: [/x], for: 25h}"),
	    "owner.yaml:5:34: `25h` is too long: at most 24 hours\n" },
	{ "no only",
	    "version: 1\ncredentials:\n  x: {kind: token, secret: {env: X}}\n",
	    "owner.yaml:3:6: `only` is missing: the URL patterns that it may "
	    "go to\n" },
	{ "only over http",
	    "version: 1\ncredentials:\n  x: {kind: token, secret: {env: X}, "
	    "only: http://a.test/}\n",
	    "owner.yaml:3:44: a token never goes over plain HTTP: expected "
	    "`https://` or `git+https://`\n" },
	{ "two of a name",
	    "version: 1\ncredentials:\n  x: {kind: token, secret: {env: X}, "
	    "only: https://a.test/}\n  x: {}\n",
	    "owner.yaml:4:3: duplicate key `x`, first on line 3\n" },
	{ "one variable twice",
	    "version: 1\ncredentials:\n"
	    "  x: {kind: token, secret: {env: X}, only: https://a.test/, "
	    "place: [{env: T}]}\n"
	    "  y: {kind: token, secret: {env: Y}, only: https://a.test/, "
	    "place: [{env: [U, T]}]}\n",
	    "owner.yaml:4:3: `place` names the variable `T`, which credential "
	    "`x` has already\n" },
	{ "no variable",
	    CREDENTIAL("    kind: token\n"
		       "    place: [{env: [1A]}]\n"),
	    "owner.yaml:7:20: `1A` is no name of a variable\n" },
	{ "a shape",
	    CREDENTIAL("    kind: token\n"
		       "    place: [{env: A, like: 'a b'}]\n"),
	    "owner.yaml:7:28: a shape has letters, digits, `-_.`, at most 32 "
	    "bytes\n" },
	{ "every address private", "version: 1\nprivate: [0.0.0.0/0]\n",
	    "owner.yaml:2:11: every address: name the prefixes that are "
	    "yours\n" },
	{ "no names", "version: 1\nupstream: [{resolvers: [10.0.0.1]}]\n",
	    "owner.yaml:2:12: `names` is missing: the hosts that it is for\n" },
	{ "a proxy's password", UPSTREAM("    proxy: http://u:p@a.test:3128\n"),
	    "owner.yaml:4:12: a user name or password for a proxy is not in "
	    "this version, and no secret is written here: expected "
	    "`http://HOST:PORT`\n" },
	{ "a proxy over TLS", UPSTREAM("    proxy: https://a.test:3128\n"),
	    "owner.yaml:4:12: expected `http://HOST:PORT`; proxies of other "
	    "schemes are not in this version\n" },
	{ "a proxy without a port", UPSTREAM("    proxy: http://a.test\n"),
	    "owner.yaml:4:12: `http://a.test` has no port: expected "
	    "`http://HOST:PORT`\n" },
	{ "a proxy with a path", UPSTREAM("    proxy: http://a.test:1/x\n"),
	    "owner.yaml:4:12: `http://a.test:1/x` has no port: expected "
	    "`http://HOST:PORT`\n" },
	{ "a proxy of half a name", UPSTREAM("    proxy: http://proxy:3128\n"),
	    "owner.yaml:4:12: `proxy` is no host (name of one label): expected a "
	    "whole name or an address, `http://proxy.corp.example:3128`\n" },
	{ "a proxy without a host", UPSTREAM("    proxy: http://:3128\n"),
	    "owner.yaml:4:12: `` is no host (empty name): expected a whole name or "
	    "an address, `http://proxy.corp.example:3128`\n" },
	{ "a list of proxies", UPSTREAM("    proxy: [http://a.test:3128]\n"),
	    "owner.yaml:4:12: expected a URL, `http://HOST:PORT`, found a "
	    "list\n" },
	{ "resolvers beside a proxy",
	    UPSTREAM("    proxy: http://a.test:3128\n"
		     "    resolvers: [10.0.0.1]\n"),
	    "owner.yaml:5:16: `resolvers` beside `proxy`: the proxy resolves "
	    "these names\n" },
	{ "addresses beside a proxy",
	    UPSTREAM("    proxy: http://a.test:3128\n"
		     "    addresses: [10.0.0.1]\n"),
	    "owner.yaml:5:16: `addresses` beside `proxy`: the proxy resolves "
	    "these names\n" },
	{ "resolver by name", UPSTREAM("    resolvers: [dns.test]\n"),
	    "owner.yaml:4:17: `dns.test` is no resolver: expected an address, "
	    "with a port if it is not 53, such as 10.0.0.53:5353\n" },
	{ "all of them in one go",
	    UPSTREAM("    resolvers: [one, two]\n"
		     "    addresses: [three, four]\n"),
	    "owner.yaml:4:17: `one` is no resolver: expected an address, with "
	    "a port if it is not 53, such as 10.0.0.53:5353\n"
	    "owner.yaml:4:22: `two` is no resolver: expected an address, with "
	    "a port if it is not 53, such as 10.0.0.53:5353\n"
	    "owner.yaml:5:17: `three` is no address: expected such as 10.0.0.1 "
	    "or fd00::1\n"
	    "owner.yaml:5:24: `four` is no address: expected such as 10.0.0.1 "
	    "or fd00::1\n" },
	{ "five resolvers",
	    UPSTREAM("    resolvers: [10.0.0.1, 10.0.0.2, 10.0.0.3, 10.0.0.4, "
		     "10.0.0.5]\n"),
	    "owner.yaml:4:16: expected 1 to 4 resolvers\n" },
	{ "a CA without its key", "version: 1\nca: {certificate: ca.pem}\n",
	    "owner.yaml:2:5: `key` is missing: `ca:` has a `certificate` and "
	    "its `key`, PEM files\n" },
	{ "a key without its CA", "version: 1\nca: {key: ca.key}\n",
	    "owner.yaml:2:5: `certificate` is missing: `ca:` has a "
	    "`certificate` and its `key`, PEM files\n" },
	{ "a CA that cannot be opened",
	    "version: 1\nca: {certificate: ca.pem, key: ca.key}\n",
	    "owner.yaml:2:19: `/etc/duenna/ca.pem`: not in this test\n" },
	{ "a CA's key by a wrong name",
	    "version: 1\nca: {certificate: ca.pem, keys: ca.key}\n",
	    "owner.yaml:2:27: unknown key `keys`; did you mean `key`?\n" },
	{ "roots that cannot be opened", UPSTREAM("    roots: [corp.pem]\n"),
	    "owner.yaml:4:13: `/etc/duenna/corp.pem`: not in this test\n" },
	{ "only_roots without roots", UPSTREAM("    only_roots: true\n"),
	    "owner.yaml:4:17: `only_roots: true` without `roots` trusts "
	    "nobody\n" },
	{ "a path up", "version: 1\nfiles: {read: [../x]}\n",
	    "owner.yaml:2:16: `../x`: a path without `.`, `..` and `//` is "
	    "expected\n" },
	{ "files of another kind", "version: 1\nfiles: {exec: [/x]}\n",
	    "owner.yaml:2:9: unknown key `exec`; expected one of `read`, "
	    "`write`\n" },
	{ "no variable's name", "version: 1\nenvironment: [A=B]\n",
	    "owner.yaml:2:15: `A=B` is no name of a variable\n" },
};

static void
owner_says_what_is_wrong(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct bed b;
		print_message("# %s\n", bad[i].name);
		bed_load(&b, bad[i].config, nothing);
		assert_null(b.owner);
		const char *end = strstr(buf_text(&b.text), "policy.yaml");
		assert_non_null(end);
		size_t n = (size_t)(end - (const char *)b.text.p);
		assert_int_equal(n, strlen(bad[i].error));
		assert_memory_equal(b.text.p, bad[i].error, n);
		bed_release(&b);
	}
}

/* CF-16, CF-32, CF-35: what a policy asks for, held against it. */
static const struct {
	const char *name, *rule, *error; /* NULL: good */
} asked[] = {
	{ "within", "{allow: 'https://api.test/repos/x', credential: github}",
	    NULL },
	{ "the wildcard itself",
	    "{allow: 'https://*.wild.test:8443/**', credential: github}",
	    NULL },
	{ "a name under it",
	    "{allow: 'https://a.wild.test:8443/x', credential: github}", NULL },
	{ "path", "{allow: 'https://api.test/**', credential: github}",
	    "`https://api.test/**` is wider than `only:` of credential "
	    "`github`, which begins with `https://api.test/repos/**` "
	    "(owner.yaml:6)" },
	{ "port",
	    "{allow: 'https://api.test:8443/repos/x', credential: github}",
	    "(owner.yaml:6); their ports differ" },
	{ "another wildcard",
	    "{allow: 'https://**.wild.test:8443/**', credential: github}",
	    "a wildcard must stand there literally" },
	{ "one of a list",
	    "{allow: ['https://api.test/repos/x', 'https://api.test/y'], "
	    "credential: github}",
	    "`https://api.test/y` is wider than" },
	{ "plain", "{allow: 'http://api.test/repos/x', credential: github}",
	    "a token never goes over plain HTTP" },
	{ "two slots",
	    "{allow: 'https://api.test/repos/x', credential: [github, key]}",
	    NULL },
	{ "one slot twice",
	    "{allow: 'https://api.test/repos/x', credential: [github, "
	    "github]}",
	    "`github` and `github` have one slot, the header "
	    "`Authorization`" },
	{ "token and basic",
	    "{allow: 'https://api.test/repos/x', credential: [github, "
	    "pair]}",
	    "`github` and `pair` have one slot, the header "
	    "`Authorization`" },
	{ "one header in two spellings",
	    "{allow: 'https://api.test/x', credential: [key, same]}",
	    "`key` and `same` have one slot, the header `x_API_key`" },
	{ "one parameter in two cases",
	    "{allow: 'https://api.test/x', credential: [one, two]}",
	    "`one` and `two` have one slot, the parameter `Key`" },
	{ "a header and a parameter of one name",
	    "{allow: 'https://api.test/x', credential: [one, named]}", NULL },
	{ "undefined", "{allow: 'https://api.test/repos/x', credential: nix}",
	    "credential `nix` is not defined" },
	{ "addresses within",
	    "{allow: 'https://i.test/', addresses: [10.20.1.0/24]}", NULL },
	{ "addresses wider",
	    "{allow: 'https://i.test/', addresses: [10.0.0.0/8]}",
	    "`10.0.0.0/8` is outside of `private:`" },
	{ "literal within", "{allow: 'https://10.20.0.1/'}", NULL },
	{ "literal outside", "{allow: 'https://10.21.0.1/'}",
	    "`10.21.0.1` is not public and outside of `private:`" },
};

static void
owner_holds_policies_within_it(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(asked); i++) {
		char text[512];
		struct bed b;
		snprintf(text, sizeof(text),
		    "version: 1\npolicies: {p: {rules: [%s]}}\n",
		    asked[i].rule);
		print_message("# %s\n", asked[i].name);
		bed_load(&b, config, text);
		assert_non_null(b.owner);
		if (asked[i].error == NULL) {
			assert_non_null(b.program);
		} else {
			assert_null(b.program);
			assert_non_null(
			    strstr(buf_text(&b.text), asked[i].error));
		}
		bed_release(&b);
	}
}

/* What it defines is not known then: that is said, once, and nothing else. */
static void
owner_with_errors_makes_no_false_ones(void **state)
{
	static const char policy[] =
	    "version: 1\n"
	    "policies:\n"
	    "  p:\n"
	    "    rules:\n"
	    "      - {allow: 'https://api.test/x', credential: github}\n"
	    "      - {allow: 'https://i.test/', addresses: [10.20.1.0/24]}\n"
	    "      - {allow: 'https://10.20.0.1/'}\n"
	    "      - {include: preset/npm, credentials: {token: github}}\n"
	    "      - {allow: 'https://b.test/', methods: [GTE]}\n";
	char good[sizeof(policy)];
	struct bed b;

	(void)state;
	bed_load(&b, "version: 1\nprivte: []\n", policy);
	assert_null(b.owner);
	assert_null(b.program);
	assert_string_equal(buf_text(&b.text),
	    "owner.yaml:2:1: unknown key `privte`; did you mean `private`?\n"
	    "policy.yaml:9:46: unknown method `GTE`; did you mean `GET`?\n"
	    "policy.yaml:5:51: warning: the configuration has errors: this, "
	    "and what else the policy takes from it (credentials, `private:`), "
	    "was not checked\n"
	    "policy.yaml:8:45: warning: no rule in `preset/npm` names a "
	    "credential `token`\n");
	bed_release(&b);

	/* Without that error too there is no program: its credentials are not
	 * known. */
	memcpy(good, policy, sizeof(good));
	memcpy(strstr(good, "GTE"), "GET", 3);
	bed_load(&b, "version: 1\nprivte: []\n", good);
	assert_null(b.program);
	bed_release(&b);
}

static const char *
open_one(void *ctx, struct slice path, struct buf *out)
{
	(void)path;
	++*(unsigned *)ctx;
	buf_put_str(out,
	    "-----BEGIN CERTIFICATE-----\nMAMCAQE=\n"
	    "-----END CERTIFICATE-----\n");
	return NULL;
}

/* The monitor opens each. */
static void
owner_names_so_many_files_and_no_more(void **state)
{
	unsigned opened = 0;
	struct load_file file = { SLICE("o"), SLICE("/etc"), { 0 } };
	struct load_owner_in in = { .files = &file,
		.n_files = 1,
		.open = open_one,
		.ctx = &opened };
	struct load_report report = { 0 };
	struct buf text, image, said;

	(void)state;
	buf_init(&text, 65536);
	buf_init(&image, IMAGE_SIZE_MAX);
	buf_init(&said, 65536);
	buf_put_str(&text,
	    "version: 1\nupstream:\n- names: [a.test]\n"
	    "  roots:\n");
	for (unsigned i = 0; i < LIMIT_CERTIFICATE_FILES + 2; i++)
		buf_put_str(&text, "  - /x\n");
	file.bytes = buf_slice(&text);
	assert_false(load_owner(&in, &image, &report));
	load_report_text(&report, &said);
	assert_string_equal(buf_text(&said),
	    "o:261:5: more than 256 files of certificates\n"
	    "o:262:5: more than 256 files of certificates\n");
	assert_int_equal(opened, LIMIT_CERTIFICATE_FILES);
	load_report_release(&report);
	buf_release(&text);
	buf_release(&image);
	buf_release(&said);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(owner_says_what_is_wrong),
		cmocka_unit_test(owner_holds_policies_within_it),
		cmocka_unit_test(owner_with_errors_makes_no_false_ones),
		cmocka_unit_test(owner_names_so_many_files_and_no_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
