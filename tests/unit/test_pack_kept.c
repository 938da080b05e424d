/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_bed.h"

#include "git/kept.h"
#include "policy/pathglob.h"

#define MOST 16

/* One side's tree, level by level: "mode name id" of a root, whose folder
 * `.github` has entries of its own. */
struct entry {
	const char *mode, *name;
	uint8_t id; /* 0: the folder that is built from `below` */
};

struct root {
	struct entry top[MOST], below[MOST];
};

static struct oid
put_tree(struct bed *b, const struct entry *e, const struct oid *below)
{
	struct buf text;

	buf_init(&text, 1 << 16);
	for (; e->name != NULL; e++) {
		struct oid id = { .n = OID_SHA1, .b = { e->id } };
		if (e->id == 0)
			id = *below;
		buf_putf(&text, "%s %s", e->mode, e->name);
		buf_put_byte(&text, 0);
		buf_put(&text, slice_of(id.b, OID_SHA1));
	}
	struct oid id = bed_name(b->id_size, OBJECT_TREE, buf_slice(&text));
	bed_put(b, OBJECT_TREE, buf_slice(&text));
	buf_release(&text);
	return id;
}

static struct oid
put_root(struct bed *b, const struct root *r, const char *message)
{
	struct oid below = { .n = OID_SHA1 };

	if (r->below[0].name != NULL)
		below = put_tree(b, r->below, &below);
	struct oid tree = put_tree(b, r->top, &below);
	return bed_put(b, OBJECT_COMMIT, bed_commit(&tree, NULL, 0, message));
}

static enum proof
ask(const struct packs *packs, const struct oid *tip, const struct oid *base,
    const char *path, struct beyond *beyond)
{
	uint8_t glob[256];
	struct buf text;
	const char *why;
	size_t n;

	buf_init(&text, 256);
	buf_putf(&text, "/%s", path);
	assert_true(pathglob_compile(buf_slice(&text), glob, &n, &why));
	buf_release(&text);
	return kept_same(packs, tip, base, slice_of(glob, n), beyond);
}

#define F "100644"
#define D "40000"
#define BASE                                            \
	{                                               \
		{ { D, ".github", 0 }, { F, "a", 1 } }, \
		{                                       \
			{                               \
				D, "workflows", 2       \
			}                               \
		}                                       \
	}

static const struct {
	const char *name, *path;
	struct root tip;
	enum proof want;
} cases[] = {
	{ "another file", ".github/**",
	    { { { D, ".github", 0 }, { F, "a", 9 } },
		{ { D, "workflows", 2 } } },
	    PROOF_YES },
	{ "workflow changed", ".github/**",
	    { { { D, ".github", 0 }, { F, "a", 1 } },
		{ { D, "workflows", 3 } } },
	    PROOF_NO },
	{ "beside it", ".github/workflows",
	    { { { D, ".github", 0 } },
		{ { F, "other", 1 }, { D, "workflows", 2 } } },
	    PROOF_YES },
	{ "beside it, where the folder is kept", ".github",
	    { { { D, ".github", 0 } },
		{ { F, "other", 1 }, { D, "workflows", 2 } } },
	    PROOF_NO },
	{ "folder gone", ".github/**", { { { F, "a", 1 } }, { { 0 } } },
	    PROOF_NO },
	{ "folder above gone", ".github/workflows/**",
	    { { { F, "a", 1 } }, { { 0 } } }, PROOF_NO },
	{ "became a file", ".github/**", { { { F, ".github", 2 } }, { { 0 } } },
	    PROOF_NO },
	{ "became a link", ".github/workflows",
	    { { { "120000", ".github", 2 } }, { { 0 } } }, PROOF_NO },
	{ "became a submodule", ".github/workflows",
	    { { { "160000", ".github", 2 } }, { { 0 } } }, PROOF_NO },
	{ "mode changed", "a", { { { "100755", "a", 1 } }, { { 0 } } },
	    PROOF_NO },
	{ "file became a folder", "a", { { { D, "a", 1 } }, { { 0 } } },
	    PROOF_NO },
	{ "another case", ".github/**",
	    { { { D, ".GitHub", 0 } }, { { D, "workflows", 2 } } }, PROOF_NO },
	{ "another case beside it", ".github/**",
	    { { { D, ".GITHUB", 5 }, { D, ".github", 0 }, { F, "a", 1 } },
		{ { D, "workflows", 2 } } },
	    PROOF_NO },
	{ "another case below", ".github/workflows/**",
	    { { { D, ".github", 0 } },
		{ { D, "WorkFlows", 3 }, { D, "workflows", 2 } } },
	    PROOF_NO },
	{ "a link of another case above", ".github/workflows",
	    { { { "120000", ".GitHub", 5 }, { D, ".github", 0 } },
		{ { D, "workflows", 2 } } },
	    PROOF_NO },
	{ "new entry of the pattern", "*.yml",
	    { { { D, ".github", 0 }, { F, "a.yml", 1 } },
		{ { D, "workflows", 2 } } },
	    PROOF_NO },
	{ "new entry of another", "*.yml",
	    { { { D, ".github", 0 }, { F, "a.yaml", 1 } },
		{ { D, "workflows", 2 } } },
	    PROOF_YES },
	{ "all of it", "**",
	    { { { D, ".github", 0 }, { F, "a", 2 } },
		{ { D, "workflows", 2 } } },
	    PROOF_NO },
	{ "new file where a folder could be", "*/workflows",
	    { { { D, ".github", 0 }, { F, "b", 1 } },
		{ { D, "workflows", 2 } } },
	    PROOF_YES },
	{ "new folder with such an entry", "*/workflows",
	    { { { D, ".github", 0 }, { D, ".gitlab", 0 } },
		{ { D, "workflows", 2 } } },
	    PROOF_NO },
	{ "neither has it", "Makefile", { { { F, "b", 1 } }, { { 0 } } },
	    PROOF_YES },
};

static void
kept_compares_each_case(void **state UNUSED)
{
	static const struct root base = BASE;

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct packs packs = { .id_size = OID_SHA1 };
		struct beyond beyond = { 0 };
		struct parse_fail fail;
		struct bed b, server;

		print_message("# %s\n", cases[i].name);
		bed_init(&b, OID_SHA1);
		bed_init(&server, OID_SHA1);
		struct oid tip = put_root(&b, &cases[i].tip, "\ntip");
		struct oid old = put_root(&server, &base, "\nbase");
		packs.pushed =
		    bed_read(bed_end(&b), OID_SHA1, true, PARSE_DONE, &fail);
		packs.n_answers = 1;
		packs.answers[0] = bed_read(bed_end(&server), OID_SHA1, true,
		    PARSE_DONE, &fail);
		assert_int_equal(ask(&packs, &tip, &old, cases[i].path,
				     &beyond),
		    cases[i].want);
		assert_int_equal(ask(&packs, &tip, &tip, cases[i].path,
				     &beyond),
		    PROOF_YES);
		pack_free(packs.pushed);
		pack_free(packs.answers[0]);
		bed_release(&b);
		bed_release(&server);
	}
}

/* What is not there is named, with how deep it would be looked into. */
static void
kept_says_what_it_would_have_to_see(void **state UNUSED)
{
	static const struct root root = BASE;
	static const struct root without = { { { F, "b", 1 } }, { { 0 } } };
	const struct oid base = { .n = OID_SHA1, .b = { 1 } };
	struct packs packs = { .id_size = OID_SHA1 };
	struct beyond beyond = { 0 };
	struct parse_fail fail;
	struct bed b;

	bed_init(&b, OID_SHA1);
	struct oid tip = put_root(&b, &root, "\ntip");
	struct oid bare = put_root(&b, &without, "\nbare");
	packs.pushed = bed_read(bed_end(&b), OID_SHA1, true, PARSE_DONE, &fail);
	assert_int_equal(ask(&packs, &tip, &base, ".github/workflows/x.yml",
			     &beyond),
	    PROOF_OPEN);
	assert_int_equal(beyond.n, 1);
	assert_true(oid_eq(&beyond.ids[0], &base));
	assert_int_equal(beyond.depth, 3);
	beyond = (struct beyond){ 0 };
	/* The tip's folder, which the server has: one level is enough. */
	assert_int_equal(ask(&packs, &tip, &bare, ".github/workflows/x.yml",
			     &beyond),
	    PROOF_OPEN);
	assert_int_equal(beyond.n, 1);
	assert_int_equal(beyond.ids[0].b[0], 2);
	assert_int_equal(beyond.depth, 1);
	pack_free(packs.pushed);
	bed_release(&b);
}

/*
 * Each level names the next one's tree as often as fits: a walk through all of
 * it would never end.
 */
static void
kept_gives_up_where_trees_are_a_trap(void **state UNUSED)
{
	static char names[2][600][8];
	struct packs packs = { .id_size = OID_SHA1 };
	struct beyond beyond = { 0 };
	struct parse_fail fail;
	struct oid tips[2];
	struct bed b;

	bed_init(&b, OID_SHA1);
	for (int side = 0; side < 2; side++) {
		struct oid below = { .n = OID_SHA1, .b = { (uint8_t)side } };
		for (int level = 0; level < 8; level++) {
			static struct entry many[601];
			for (int i = 0; i < 600; i++) {
				snprintf(names[side][i], 8, "%03d", i);
				many[i] =
				    (struct entry){ D, names[side][i], 0 };
			}
			below = put_tree(&b, many, &below);
		}
		tips[side] = bed_put(&b, OBJECT_COMMIT,
		    bed_commit(&below, NULL, 0, side == 0 ? "\na" : "\nb"));
	}
	packs.pushed = bed_read(bed_end(&b), OID_SHA1, true, PARSE_DONE, &fail);
	assert_int_equal(ask(&packs, &tips[0], &tips[1], "*/*/*/*/*/*/*/*/x",
			     &beyond),
	    PROOF_OPEN);
	assert_true(beyond.is_cut);
	pack_free(packs.pushed);
	bed_release(&b);
}

static struct oid
put_tag(struct bed *b, const struct oid *of, const char *kind)
{
	char name[OID_TEXT_SIZE];
	struct buf text;

	oid_text(of, name);
	buf_init(&text, 256);
	buf_putf(&text, "object %s\ntype %s\ntag t\n\nm", name, kind);
	struct oid id = bed_put(b, OBJECT_TAG, buf_slice(&text));
	buf_release(&text);
	return id;
}

/* Tags of tags are a long way that each ref and pattern would go anew. */
static void
kept_gives_up_where_tags_are_a_trap(void **state UNUSED)
{
	static const struct root root = BASE;
	struct packs packs = { .id_size = OID_SHA1 };
	struct beyond beyond = { 0 };
	struct parse_fail fail;
	struct bed b;

	bed_init(&b, OID_SHA1);
	struct oid base = put_root(&b, &root, "\nbase"), tip = base;
	for (int i = 0; i < 1000; i++)
		tip = put_tag(&b, &tip, i == 0 ? "commit" : "tag");
	packs.pushed = bed_read(bed_end(&b), OID_SHA1, true, PARSE_DONE, &fail);
	assert_int_equal(ask(&packs, &tip, &base, "a", &beyond), PROOF_YES);
	enum proof proof = PROOF_YES;
	for (int i = 0; i < 1000 && proof == PROOF_YES; i++)
		proof = ask(&packs, &tip, &base, "a", &beyond);
	assert_int_equal(proof, PROOF_OPEN);
	assert_true(beyond.is_cut);
	pack_free(packs.pushed);
	bed_release(&b);
}

/* A tree that cannot be read to its end could have anything behind it. */
static void
kept_trusts_no_tree_that_is_broken(void **state UNUSED)
{
	static const struct root twice = {
		{ { D, ".github", 1 }, { F, "a", 1 }, { F, "a", 1 } }, { { 0 } }
	};
	static const struct root good = { { { D, ".github", 1 } }, { { 0 } } };
	struct packs packs = { .id_size = OID_SHA1 };
	struct beyond beyond = { 0 };
	struct parse_fail fail;
	struct bed b;

	bed_init(&b, OID_SHA1);
	struct oid tip = put_root(&b, &twice, "\ntip");
	struct oid base = put_root(&b, &good, "\nbase");
	packs.pushed = bed_read(bed_end(&b), OID_SHA1, true, PARSE_DONE, &fail);
	assert_int_equal(ask(&packs, &tip, &base, ".github", &beyond),
	    PROOF_NO);
	pack_free(packs.pushed);
	bed_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kept_compares_each_case),
		cmocka_unit_test(kept_says_what_it_would_have_to_see),
		cmocka_unit_test(kept_gives_up_where_trees_are_a_trap),
		cmocka_unit_test(kept_gives_up_where_tags_are_a_trap),
		cmocka_unit_test(kept_trusts_no_tree_that_is_broken),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
