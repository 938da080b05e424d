/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts with many routes: decided by the index as by looking at each route in
 * turn, and a damaged index is none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/attr.h"
#include "no_index.h"
#include "policy/inside.h"
#include "policy/seek.h"
#include "policy/walk.h"
#include "policy_bed.h"

#define POLICIES 30
#define QUESTIONS 400

static uint64_t state_of_random;

static uint32_t
random_below(uint32_t n)
{
	state_of_random =
	    state_of_random * 6364136223846793005U + 1442695040888963407U;
	return (uint32_t)(state_of_random >> 33) % n;
}

#define ONE_OF(list) (list)[random_below(COUNT_OF(list))]

static const char *const hosts[] = { "a.test", "*.a.test", "**.a.test", "**",
	"b.a.test" };
static const char *const names[] = { "a.test", "b.a.test", "c.b.a.test",
	"_x.a.test" };
static const char *const globs[] = { "p%u", "p%u", "p%u", "p%u", "*", "**",
	"p%u-*", "*-p%u", "v*", "a%%2Fp%u" };
static const char *const parts[] = { "p%u", "p%u", "p%u", "p%u-1", "1-p%u",
	"v1", "x", "a%%2Fp%u", "" };

/* A path of segments with numbers in them, few enough to meet again. */
static void
put_path(struct buf *out, const char *const *list, uint32_t n)
{
	for (uint32_t i = random_below(3) + 1; i != 0; i--) {
		const char *s = list[random_below(n)], *mark = strchr(s, '%');
		uint32_t number = random_below(12);
		buf_put_byte(out, '/');
		while (mark != NULL) {
			buf_put(out, slice_of(s, (size_t)(mark - s)));
			if (mark[1] == 'u')
				buf_putf(out, "%u", number);
			else
				buf_put_byte(out, '%');
			s = mark + 2;
			mark = strchr(s, '%');
		}
		buf_put_str(out, s);
	}
}

static void
put_options(struct buf *out, bool deny)
{
	static const char *const some[] = { "", "", "", "",
		"        methods: [POST]\n", "        methods: any\n",
		"        query: {k: ['1', 'x*']}\n",
		"        query: {q: any, others: allow}\n" };
	static const char *const denied[] = { "", "",
		"        methods: [POST]\n", "        query: {k: ['2']}\n" };
	static const char *const allow[] = { "", "", "",
		"        encoded_slash: true\n", "        report: all\n",
		"        expires: 2026-01-01T00:00:00Z\n",
		"        expires: 2030-01-01T00:00:00Z\n" };

	buf_put_str(out, deny ? ONE_OF(denied) : ONE_OF(allow));
	buf_put_str(out, deny ? "" : ONE_OF(some));
}

static void
put_policy(struct buf *out)
{
	static const char *const schemes[] = { "https", "https", "https",
		"https", "http", "wss" };
	static const char *const ports[] = { "", "", "", "", ":8443", ":80" };
	uint32_t n = 20 + random_below(150), n_hosts = 1 + random_below(5);

	buf_put_str(out, "version: 1\npolicies:\n  p:\n    rules:\n");
	for (uint32_t i = 0; i < n; i++) {
		bool deny = random_below(8) == 0;
		const char *scheme = ONE_OF(schemes);
		/* A few deny or allow the whole of a host. */
		bool whole = random_below(60) == 0;
		const char *host = hosts[random_below(n_hosts)];
		buf_putf(out, "      - %s: '%s://%s%s", deny ? "deny" : "allow",
		    scheme, host, ONE_OF(ports));
		if (!whole)
			put_path(out, globs, COUNT_OF(globs));
		buf_put_str(out, "'\n");
		if (*scheme != 'w')
			put_options(out, deny);
	}
}

/* The bed's program without its index. */
struct plain {
	uint8_t *image;
	struct program *program;
};

static struct plain
plain_of(const struct bed *b)
{
	struct slice whole = buf_slice(&b->image);
	struct plain p = { malloc(whole.n), NULL };
	enum err err;

	assert_non_null(p.image);
	memcpy(p.image, whole.p, whole.n);
	no_index(p.image);
	p.program = program_open(slice_of(p.image, whole.n), &err);
	assert_non_null(p.program);
	return p;
}

static void
plain_release(struct plain *p)
{
	program_free(p->program);
	free(p->image);
}

static bool
is_same(const struct verdict *a, const struct verdict *b)
{
	return a->allow == b->allow && a->report == b->report &&
	    a->reason == b->reason && a->rule == b->rule &&
	    a->nearest == b->nearest && a->dial == b->dial;
}

static void
random_facts(const struct program *p, struct facts *f, struct buf *path)
{
	static const char *const methods[] = { "GET", "GET", "GET", "POST",
		"TRACE" };
	static const char *const queries[] = { "", "", "k=1", "k=2", "q=7",
		"k=xy&q=1", "z=1" };
	static const uint16_t ports[] = { 443, 443, 443, 443, 8443, 80, 81, 0 };
	static const uint64_t times[] = { 1800000000, 1800000000, 0 };

	buf_clear(path);
	put_path(path, parts, COUNT_OF(parts));
	*f = (struct facts){
		.kind = (enum facts_kind)random_below(4),
		.now_s = ONE_OF(times),
		.port = ONE_OF(ports),
		.scheme = random_below(4) == 0 ? SCHEME_HTTP : SCHEME_HTTPS,
		.host = slice_of_str(ONE_OF(names)),
		.qtype = 1,
		.rule = random_below(program_n_rules(p)),
		.method = slice_of_str(ONE_OF(methods)),
		.path = buf_slice(path),
		.query = slice_of_str(ONE_OF(queries)),
		.upgrade = random_below(10) == 0,
	};
	if (random_below(4) != 0)
		f->kind = FACTS_REQUEST;
	f->has_query = f->query.n != 0;
	f->has_sni = f->scheme == SCHEME_HTTPS;
	f->sni = f->has_sni ? f->host : f->sni;
}

/* What rules.c says, by looking at each route in turn: rule and nearest. */
static void
judge_slowly(const struct program *p, const struct facts *f, uint32_t *rule,
    uint32_t *nearest)
{
	const struct image *m = &p->image;
	enum progress best = PROGRESS_NONE;
	struct walk_request request;
	struct host_matches found;
	uint8_t folded[8192];
	struct walk w;

	*rule = *nearest = VERDICT_NONE;
	walk_prepare(&request, f, folded);
	hostset_match(m, f->host, &found);
	walk_init(&w, m, &found, f);
	for (uint32_t r = walk_next(&w); r != IMAGE_NONE; r = walk_next(&w)) {
		enum progress come = walk_request(m, r, &request);
		uint32_t this = image_word(m, TABLE_ROUTES, r, ROUTE_RULE);
		uint32_t flags =
		    image_word(m, TABLE_RULES, this, RULE_FLAG_BITS);
		if (come == PROGRESS_ALL) {
			*rule = this;
			if ((flags & RULE_REPORT) == 0)
				*nearest = VERDICT_NONE;
			return;
		}
		if (come > best && (flags & (RULE_DENY | RULE_HIDDEN)) == 0) {
			best = come;
			*nearest = this;
		}
	}
}

/* Was it the rules that decided, and not the connection before? */
static bool
is_of_rules(const struct facts *f, const struct verdict *v)
{
	return f->kind == FACTS_REQUEST &&
	    (v->reason == REASON_ALLOW ||
		v->reason == REASON_HTTP_PATH_DENIED ||
		v->reason == REASON_HTTP_METHOD_DENIED ||
		v->reason == REASON_HTTP_QUERY_DENIED);
}

/* One question; true if the rules decided. */
static bool
ask(const struct program *p, const struct program *plain, struct buf *path)
{
	uint32_t rule, nearest;
	struct facts f;

	random_facts(p, &f, path);
	struct verdict v = policy_decide(p, &f);
	struct verdict w = policy_decide(plain, &f);
	if (!is_same(&v, &w))
		fail_msg("%s %.*s %.*s: %u, not %u; nearest %u, not %u",
		    reason_name(v.reason), SLICE_ARG(f.host), SLICE_ARG(f.path),
		    v.rule, w.rule, v.nearest, w.nearest);
	assert_int_equal(policy_may_upgrade(p, f.host, f.port),
	    policy_may_upgrade(plain, f.host, f.port));
	assert_int_equal(policy_judges_value(p, f.host, SLICE("k")),
	    policy_judges_value(plain, f.host, SLICE("k")));
	if (!is_of_rules(&f, &v))
		return false;
	judge_slowly(p, &f, &rule, &nearest);
	assert_int_equal(v.rule, rule);
	assert_int_equal(v.nearest, nearest);
	return true;
}

static void
index_decides_as_each_route_in_turn(void **state)
{
	unsigned decided = 0, indexed = 0;
	struct buf text, path;

	(void)state;
	buf_init(&text, 1 << 20);
	buf_init(&path, 1 << 10);
	for (unsigned i = 0; i < POLICIES; i++) {
		struct bed b;
		state_of_random = i;
		buf_clear(&text);
		put_policy(&text);
		bed_load(&b, NULL, buf_text(&text));
		if (b.program == NULL)
			fail_msg("%s", buf_text(&b.text));
		assert_non_null(b.program);
		struct plain plain = plain_of(&b);
		indexed += image_count(&b.program->image, TABLE_INDEXES);
		for (unsigned k = 0; k < QUESTIONS; k++)
			decided += ask(b.program, plain.program, &path) ? 1 : 0;
		plain_release(&plain);
		bed_release(&b);
	}
	assert_true(decided > POLICIES * QUESTIONS / 8);
	assert_true(indexed > POLICIES);
	buf_release(&text);
	buf_release(&path);
}

static void
load_many(struct bed *b, unsigned n, const char *before, const char *behind)
{
	struct buf text;

	buf_init(&text, 1 << 20);
	buf_put_str(&text, "version: 1\npolicies:\n  p:\n    rules:\n");
	for (unsigned i = 0; i < n; i++)
		buf_putf(&text, "      - allow: https://a.test%s%u%s\n", before,
		    i, behind);
	bed_load(b, NULL, buf_text(&text));
	assert_non_null(b->program);
	buf_release(&text);
}

static void
index_is_of_hosts_with_many_routes(void **state)
{
	static const unsigned counts[] = { 1, 16, 17, 40 };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(counts); i++) {
		struct bed b;
		load_many(&b, counts[i], "/p", "/**");
		assert_int_equal(image_count(&b.program->image, TABLE_INDEXES),
		    counts[i] > 16 ? 1 : 0);
		bed_release(&b);
	}
}

/* However many rules there are, a few are looked at, wherever the stars. */
static void
index_finds_few(void **state)
{
	static const struct {
		const char *before, *behind, *path;
	} forms[] = {
		{ "/p", "", "/p1999" },
		{ "/a/p", "/**", "/a/p1999/x" },
		{ "/*/p", "/x", "/a/p1999/x" },
		{ "/**/p", "", "/a/b/p1999" },
		{ "/**/p", "/**", "/a/b/p1999/c" },
		{ "/a/**/p", "/**", "/a/b/p1999/c" },
		{ "/a/p", "-*", "/a/p1999-x" },
		{ "/a/*-p", "", "/a/x-p1999" },
		{ "/a/*/p", "/*/c", "/a/b/p1999/x/c" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(forms); i++) {
		struct host_matches found;
		uint32_t n = 0, last = IMAGE_NONE;
		struct seek s;
		struct bed b;
		print_message("# %s\n", forms[i].path);
		load_many(&b, 2000, forms[i].before, forms[i].behind);
		const struct image *m = &b.program->image;
		hostset_match(m, SLICE("a.test"), &found);
		seek_init(&s, m, &found, NULL, 443);
		seek_path(&s, slice_of_str(forms[i].path), false);
		for (uint32_t r = seek_next(&s); r != IMAGE_NONE;
		     r = seek_next(&s), n++)
			last = r == 1999 ? r : last;
		assert_int_equal(last, 1999);
		assert_true(n <= 24);
		assert_int_equal(image_word(m, TABLE_INDEXES, 0, INDEX_N_HEADS),
		    1);
		bed_release(&b);
	}
}

static const char small[] =
    "version: 1\n"
    "policies:\n"
    "  p:\n"
    "    rules:\n"
    "      - deny: [https://a.test/x, https://a.test/y/*, "
    "https://a.test/**/z]\n"
    "      - allow: [https://a.test/1, https://a.test/2, https://a.test/3,\n"
    "          https://a.test/4, https://a.test/5, https://a.test/6,\n"
    "          https://a.test/7, https://a.test/8, https://a.test/9-*]\n"
    "      - allow: [https://a.test/v/*, https://a.test/*/w]\n"
    "        query: {k: ['1']}\n"
    "      - allow: [wss://a.test/e, https://a.test:8443/f, "
    "https://a.test/g]\n"
    "        expires: 2030-01-01T00:00:00Z\n";

static void
ask_small(const struct program *p, const struct program *want)
{
	static const char *const paths[] = { "/x", "/y/1", "/a/z", "/1", "/5",
		"/8", "/9-9", "/v/1", "/1/w", "/e", "/f", "/g", "/none" };
	struct facts f = { .kind = FACTS_REQUEST,
		.now_s = 1800000000,
		.scheme = SCHEME_HTTPS,
		.host = SLICE("a.test"),
		.has_sni = true,
		.sni = SLICE("a.test"),
		.method = SLICE("GET"),
		.has_query = true,
		.query = SLICE("k=1") };

	for (size_t i = 0; i < 2 * COUNT_OF(paths); i++) {
		f.port = i % 2 == 0 ? 443 : 8443;
		f.path = slice_of_str(paths[i / 2]);
		struct verdict v = policy_decide(p, &f);
		struct verdict w = policy_decide(want, &f);
		assert_true(is_same(&v, &w));
	}
}

/*
 * Any word of it changed: refused, or it changes no decision.  A rule that
 * denies and is not found would be as bad as one that is not there.
 */
static void
index_that_is_damaged_is_refused(void **state)
{
	static const unsigned tables[] = { TABLE_HOSTS, TABLE_LISTS,
		TABLE_INDEXES, TABLE_SHAPES, TABLE_SLOTS };
	static const uint32_t steps[] = { 1, UINT32_MAX, 2, 1U << 31, 77 };
	unsigned refused = 0, taken = 0;
	enum err err;
	struct bed b;

	(void)state;
	bed_load(&b, NULL, small);
	assert_non_null(b.program);
	const struct image *m = &b.program->image;
	assert_int_equal(image_count(m, TABLE_INDEXES), 1);
	struct slice whole = buf_slice(&b.image);
	uint8_t *copy = malloc(whole.n);
	assert_non_null(copy);
	for (size_t t = 0; t < COUNT_OF(tables); t++) {
		const struct image_table *table = &m->tables[tables[t]];
		size_t at = (size_t)(table->first - whole.p);
		for (size_t i = 0;
		     i < (size_t)table->n * table->words * COUNT_OF(steps);
		     i++) {
			uint8_t *word = copy + at + i / COUNT_OF(steps) * 4;
			if (tables[t] == TABLE_HOSTS &&
			    i / COUNT_OF(steps) % HOST_WORDS < HOST_LIST)
				continue;
			memcpy(copy, whole.p, whole.n);
			no_index_put(word,
			    image_read(word) + steps[i % COUNT_OF(steps)]);
			struct program *p =
			    program_open(slice_of(copy, whole.n), &err);
			refused += p == NULL ? 1 : 0;
			taken += p == NULL ? 0 : 1;
			if (p != NULL)
				ask_small(p, b.program);
			program_free(p);
		}
	}
	assert_true(refused > 4 * taken);
	free(copy);
	bed_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(index_decides_as_each_route_in_turn),
		cmocka_unit_test(index_is_of_hosts_with_many_routes),
		cmocka_unit_test(index_finds_few),
		cmocka_unit_test(index_that_is_damaged_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
