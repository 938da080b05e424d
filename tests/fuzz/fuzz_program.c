/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as an image, of a program and of an owner: refused, or everything
 * that can be asked of it is answered without a step outside.
 *
 * What it begins with is compiled here, so it has always the form that images
 * have now: seeds in files were once of a form before, and nothing behind the
 * head was looked at.
 */
#include "../unit/no_index.h"
#include "base/buf.h"
#include "fuzz_bed.h"
#include "policy/address.h"
#include "policy/git.h"
#include "policy/image.h"
#include "policy/owner.h"
#include "policy/owner_image.h"
#include "policy/policy.h"

static const char *const names[] = { "a.test", "x.a.test", "y.x.a.test",
	"xn--a.a.test", "10.0.0.1", "fd00::1", "" };

static uint32_t sum; /* of what was read, so that it is read */

static void
touch(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		sum += s.p[i];
}

static void
ask(const struct program *p, struct slice name)
{
	struct facts f = { .port = 443,
		.scheme = SCHEME_HTTPS,
		.host = name,
		.has_sni = true,
		.sni = name,
		.qtype = 1,
		.method = SLICE("GET"),
		.path = SLICE("/repos/%2F/x/issues"),
		.has_query = true,
		.query = SLICE("type=2&prefix=runs%2F1"),
		.foreign = 1,
		.range = true,
		.signed_url = true };
	struct ip ip = ip_v4(10, 1, 2, 3);
	struct slice said;
	struct buf text;

	for (unsigned kind = 0; kind < 4 * SCHEME_COUNT; kind++) {
		f.kind = (enum facts_kind)(kind % 4);
		f.scheme = (enum scheme)(kind / 4);
		for (f.rule = 0; f.rule < 3; f.rule++) {
			struct verdict v = policy_decide(p, &f);
			buf_init(&text, 65536);
			policy_explain(p, &f, &v, &text);
			buf_release(&text);
		}
		(void)program_address(p, name, &f.dst);
		sum += policy_kind(p, &f.dst, f.port, &said);
		touch(said);
	}
	const struct address_of of = { name, 443, 1 };
	sum += address_judge(p, &of, &ip, &ip, 1);
}

/* Pushes, to a repository that a seed names. */
static void
ask_git(const struct program *p, struct slice name)
{
	static const struct git_command commands[] = {
		{ .kind = GIT_COMMAND_CREATE, .ref = SLICE("refs/heads/x") },
		{ .kind = GIT_COMMAND_UPDATE, .ref = SLICE("refs/tags/v1") },
		{ .kind = GIT_COMMAND_DELETE, .ref = SLICE("refs/heads/%2e") },
	};
	static const struct slice option = SLICE("ci.skip");
	struct facts_push push = { commands, COUNT_OF(commands), true, &option,
		1 };
	struct facts f = { .port = 443,
		.scheme = SCHEME_HTTPS,
		.host = name,
		.has_sni = true,
		.sni = name,
		.method = SLICE("POST"),
		.path = SLICE("/acme/App.git/git-receive-pack"),
		.push = &push };
	struct buf text;

	(void)program_address(p, name, &f.dst);
	for (unsigned i = 0; i < 4; i++) {
		f.kind = i < 3 ? FACTS_COMMAND : FACTS_PUSH;
		f.command = commands[i % 3];
		struct verdict v = policy_decide(p, &f);
		buf_init(&text, 65536);
		policy_explain(p, &f, &v, &text);
		const char *why = policy_stumble(p, &f, 0);
		sum += why == NULL ? 0 : (uint32_t)why[0];
		buf_release(&text);
	}
}

static void
ask_git_rule(const struct program *p, uint32_t rule)
{
	uint8_t path[256];
	struct wr w = wr_of(path, sizeof(path));
	struct git_rule git;

	if (!git_rule(p, rule, &git))
		return;
	sum += (uint32_t)git_forge_user(git.forge)[0];
	for (unsigned list = 0; list < GIT_LISTS; list++) {
		uint32_t n = git_rule_n(p, rule, (enum git_list)list);
		for (uint32_t i = 0; i < n && i < 64; i++) {
			touch(git_rule_glob(p, rule, (enum git_list)list, i));
			touch(git_rule_text(p, rule, (enum git_list)list, i));
		}
	}
	sum += git_rule_has_ref(p, rule, SLICE("refs/heads/agent/x"));
	if (git_rule_path(p, rule, SLICE("a.test"), SLICE("/acme/App.git"), &w))
		touch(wr_slice(&w));
}

/* What was taken is decided by its index as by each route in turn. */
static void
compare(const struct program *p)
{
	static const char *const paths[] = { "/1", "/2/x", "/x/3", "/x/y/4",
		"/x/5/y", "/66", "/77", "/8/x/9", "/repos/b/c", "/none",
		"/secret/x" };
	struct slice whole = program_image(p);
	uint8_t *copy = malloc(whole.n);
	struct facts f = { .kind = FACTS_REQUEST,
		.now_s = 1800000000,
		.port = 443,
		.scheme = SCHEME_HTTPS,
		.host = SLICE("a.test"),
		.has_sni = true,
		.sni = SLICE("a.test"),
		.method = SLICE("GET") };
	enum err err;

	CHECK(copy != NULL);
	memcpy(copy, whole.p, whole.n);
	no_index(copy);
	struct program *plain = program_open(slice_of(copy, whole.n), &err);
	for (size_t i = 0; i < COUNT_OF(paths) && plain != NULL; i++) {
		f.path = slice_of_str(paths[i]);
		struct verdict v = policy_decide(p, &f);
		struct verdict w = policy_decide(plain, &f);
		CHECK(v.reason == w.reason && v.rule == w.rule &&
		    v.nearest == w.nearest);
	}
	program_free(plain);
	free(copy);
}

static void
ask_program(struct slice image)
{
	enum err err;
	struct program *p = program_open(image, &err);
	struct slice host;

	if (p == NULL)
		return;
	compare(p);
	for (size_t i = 0; i < COUNT_OF(names); i++)
		ask(p, slice_of_str(names[i]));
	for (size_t i = 0; i < COUNT_OF(names); i++)
		ask_git(p, slice_of_str(names[i]));
	touch(program_policy_name(p));
	sum += program_shows_code_alone(p);
	sum += program_denies_names(p);
	for (uint32_t i = 0; i < program_n_rules(p) && i < 64; i++) {
		struct program_rule r = program_rule(p, i);
		touch(r.name);
		touch(r.text);
		touch(r.file);
		sum += program_limits(p, i).connections;
		ask_git_rule(p, i);
		if (program_rule_host(p, i, &host))
			touch(host);
		for (uint32_t c = 0; c < r.n_credentials; c++)
			touch(program_credential(p, r.credentials[c]).slot);
	}
	program_free(p);
}

static void
ask_ca(const struct owner *o)
{
	struct slice certs[OWNER_CA_MAX];

	touch(owner_ca_key(o));
	for (unsigned which = 0; which < OWNER_CA_KINDS; which++) {
		uint32_t n = owner_ca(o, which, certs);
		CHECK(n <= OWNER_CA_MAX);
		for (uint32_t i = 0; i < n; i++)
			touch(certs[i]);
	}
	sum += owner_allows_gaps(o);
}

static void
ask_owner(struct slice image)
{
	enum err err;
	struct owner *o = owner_open(image, &err);
	bool write;

	if (o == NULL)
		return;
	for (uint32_t i = 0; i < owner_n_credentials(o) && i < 64; i++) {
		struct owner_credential c = owner_credential(o, i);
		touch(c.source);
		for (uint32_t k = 0; k < c.n_places; k++)
			touch(c.places[k].env);
		sum += owner_only_allows(o, i, SLICE("x.a.test"), 443);
	}
	sum += owner_denies_names(o);
	for (size_t i = 0; i < COUNT_OF(names); i++)
		sum += owner_upstream(o, slice_of_str(names[i])).index;
	for (uint32_t i = 0; i < owner_n_roots(o) && i < 64; i++)
		touch(owner_root(o, i).der);
	for (uint32_t i = 0; i < owner_n_files(o) && i < 64; i++)
		touch(owner_file(o, i, &write));
	for (uint32_t i = 0; i < owner_n_environment(o) && i < 64; i++)
		touch(owner_environment(o, i));
	ask_ca(o);
	owner_free(o);
}

static void
put_word(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 24);
	p[1] = (uint8_t)(v >> 16);
	p[2] = (uint8_t)(v >> 8);
	p[3] = (uint8_t)v;
}

static const char policy[] =
    "version: 1\n"
    "policies:\n"
    "  p:\n"
    "    refusals: code\n"
    "    rules:\n"
    "      - deny: https://a.test/secret/**\n"
    "      - deny: git+https://a.test/acme/secret\n"
    "      - allow: git+https://a.test/Acme/App\n"
    "        forge: gitlab\n"
    "        fetch: true\n"
    "        push: {branches: ['agent/**'], tags: ['v*'], keep: ['.x/**'],\n"
    "               options: ['ci.*'], author: ['*@a.test'], max_pack: 1MiB}\n"
    "      - allow: git+https://a.test/pub/*\n"
    "        archive: true\n"
    "      - allow: ['https://a.test/**', 'https://*.a.test:8443/v1/*/x']\n"
    "        methods: [GET, HEAD, POST]\n"
    "        foreign_credentials: strip\n"
    "        limits: {body: 10MiB, requests_per_minute: 60, idle: 30s}\n"
    "      - allow: https://x.a.test/repos/*/x/issues\n"
    "        query: {type: ['2', ''], prefix: ['runs/*'], others: allow}\n"
    "        encoded_slash: true\n"
    "        expires: 2031-01-01T00:00:00Z\n"
    "      - allow: http://**.a.test\n"
    "        methods: any\n"
    "      - allow: wss://a.test/events\n"
    "      - allow: tls://pinned.test\n"
    "      - allow: tcp://db.test:5432\n"
    "        addresses: [10.1.2.0/24]\n"
    "      - allow: https://10.0.0.1/**\n"
    "      - allow: [https://a.test/1, https://a.test/2/**, "
    "https://a.test/*/3,\n"
    "          https://a.test/**/4, https://a.test/**/5/**, "
    "https://a.test/6*,\n"
    "          https://a.test/*7, https://a.test/8/*/9, "
    "https://a.test:8443/**,\n"
    "          https://a.test/repos/a, https://a.test/repos/b/**]\n"
    "      - allow: https://**\n"
    "        report: true\n";

static const char owner[] =
    "version: 1\n"
    "credentials:\n"
    "  c:\n"
    "    kind: basic\n"
    "    user: bob\n"
    "    secret: {command: [/bin/x, -y], pass: [Z], for: 5m}\n"
    "    only: ['https://x.a.test/**', 'https://*.wild.test:8443/**']\n"
    "    place: [{env: [GH, T], like: ghp_}]\n"
    "private: [10.0.0.0/8, 'fd00::/8']\n"
    "upstream:\n"
    "  - names: ['**.a.test']\n"
    "    resolvers: ['[fd00::53]:5353']\n"
    "    roots: [/r]\n"
    "    only_roots: true\n"
    "  - names: [b.test]\n"
    "    addresses: [10.20.0.7]\n"
    "  - names: ['**']\n"
    "    proxy: http://p.test:3128\n"
    "files: {read: [/n], write: [/w]}\n"
    "environment: [E]\n"
    "dns: {refused: nxdomain}\n"
    "audit: {required: false}\n"
    "ca: {certificate: /c, key: /k, next: /n}\n";

/* The form of a certificate is enough here. */
static const char *
open_root(void *ctx, struct slice path, struct buf *out)
{
	(void)ctx;
	(void)path;
	return buf_put_str(out,
		   "-----BEGIN CERTIFICATE-----\nMAMCAQE=\n"
		   "-----END CERTIFICATE-----\n") ?
	    NULL :
	    "no memory";
}

/* Two images that open, or this fuzzer finds nothing. */
static struct slice
seed_image(bool of_owner)
{
	static struct buf images[2];
	struct load_report report = { 0 };
	struct load_file file = { SLICE("o"), SLICE("/"), slice_of_str(owner) };
	struct load_owner_in in = { .files = &file,
		.n_files = 1,
		.open = open_root };
	struct buf *b = &images[of_owner];
	enum err err;

	if (b->n != 0)
		return buf_slice(b);
	buf_init(b, IMAGE_SIZE_MAX);
	if (of_owner) {
		CHECK(load_owner(&in, b, &report));
		struct owner *o = owner_open(buf_slice(b), &err);
		CHECK(o != NULL);
		owner_free(o);
		load_report_release(&report);
	} else {
		struct program *p = fuzz_bed_program(policy);
		CHECK(buf_put(b, program_image(p)));
		program_free(p);
	}
	return buf_slice(b);
}

size_t
LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max, unsigned seed)
{
	struct slice whole = seed_image(seed % 2 == 0);

	CHECK(max < 4096 || whole.n <= max);
	if (size < HEAD_WORDS * 4)
		return fuzz_begin_with(whole, data, max);
	return LLVMFuzzerMutate(data, size, max);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t *copy = malloc(size + 1);

	CHECK(copy != NULL);
	memcpy(copy, data, size);
	ask_program(slice_of(data, size));
	ask_owner(slice_of(data, size));
	/* A head that fits, so that what lies behind it is looked at. */
	if (size >= HEAD_WORDS * 4) {
		put_word(copy + HEAD_VERSION * 4, IMAGE_VERSION);
		put_word(copy + HEAD_SIZE * 4, (uint32_t)size);
		put_word(copy + HEAD_FLAG_BITS * 4,
		    data[HEAD_FLAG_BITS * 4] & PROGRAM_FLAGS);
		put_word(copy + HEAD_MAGIC * 4, IMAGE_PROGRAM);
		ask_program(slice_of(copy, size));
		put_word(copy + HEAD_FLAG_BITS * 4,
		    data[HEAD_FLAG_BITS * 4] & OWNER_FLAGS);
		put_word(copy + HEAD_MAGIC * 4, IMAGE_OWNER);
		ask_owner(slice_of(copy, size));
	}
	free(copy);
	return 0;
}
