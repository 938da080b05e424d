/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_bed.h"

#include "git/content.h"
#include "policy/pathglob.h"

static const struct oid tree_id = { .n = OID_SHA1, .b = { 7 } };

#define SIGNATURE "gpgsig -----BEGIN SSH SIGNATURE-----\n x\n"
#define TAG                                                 \
	"object 0700000000000000000000000000000000000000\n" \
	"type commit\ntag v1\n"

static const struct {
	const char *name;
	enum object_kind kind; /* beside a commit that is signed */
	const char *text;      /* of a tag, or the rest of a commit */
	const char *author, *committer;
	bool is_signed;
	uint64_t max_file;
	const char *detail; /* NULL: fits */
} cases[] = {
	{ "no rule", OBJECT_COMMIT, "\nm", NULL, NULL, false, 0, NULL },
	{ "the author", OBJECT_COMMIT, "\nm", "author@example.com", NULL, false,
	    0, NULL },
	{ "an author of the domain", OBJECT_COMMIT, "\nm", "*@example.com",
	    NULL, false, 0, NULL },
	{ "no author of the domain", OBJECT_COMMIT, "\nm", "*@example.org",
	    NULL, false, 0, "author of a commit" },
	{ "the author as committer", OBJECT_COMMIT, "\nm", NULL,
	    "author@example.com", false, 0, "committer of a commit" },
	{ "the committer", OBJECT_COMMIT, "\nm", NULL, "committer@*", false, 0,
	    NULL },
	{ "letter case counts", OBJECT_COMMIT, "\nm", "Author@example.com",
	    NULL, false, 0, "author of a commit" },
	{ "signed", OBJECT_COMMIT, SIGNATURE "\nm", NULL, NULL, true, 0, NULL },
	{ "not signed", OBJECT_COMMIT, "\n" SIGNATURE "m", NULL, NULL, true, 0,
	    "commit without signature" },
	{ "file of that size", OBJECT_BLOB, "12345", NULL, NULL, false, 5,
	    NULL },
	{ "file is larger", OBJECT_BLOB, "12345", NULL, NULL, false, 4,
	    "file is too large" },
	{ "tagger", OBJECT_TAG, TAG "tagger T <t@example.com> 1 +0000\n\nm",
	    NULL, "*@example.com", false, 0, NULL },
	{ "another tagger", OBJECT_TAG,
	    TAG "tagger T <t@example.org> 1 +0000\n\nm", NULL, "*@example.com",
	    false, 0, "tagger of a tag" },
	{ "no tagger", OBJECT_TAG, TAG "\nm", NULL, "*@example.com", false, 0,
	    "tagger of a tag" },
	{ "tag without signature", OBJECT_TAG,
	    TAG "tagger T <t@example.com> 1 +0000\n\nm", NULL, NULL, true, 0,
	    "tag without signature" },
};

static struct slice
compile(const char *text, uint8_t *glob)
{
	struct buf with_slash;
	const char *why;
	size_t n;

	buf_init(&with_slash, 256);
	buf_putf(&with_slash, "/%s", text);
	assert_true(pathglob_compile(buf_slice(&with_slash), glob, &n, &why));
	buf_release(&with_slash);
	return slice_of(glob, n);
}

static struct pack *
pack_of(enum object_kind kind, const char *text)
{
	struct parse_fail fail;
	struct bed b;

	bed_init(&b, OID_SHA1);
	bed_put(&b, OBJECT_COMMIT,
	    bed_commit(&tree_id, NULL, 0, SIGNATURE "\nthe other one"));
	bed_put(&b, kind,
	    kind == OBJECT_COMMIT ? bed_commit(&tree_id, NULL, 0, text) :
				    slice_of_str(text));
	struct pack *p =
	    bed_read(bed_end(&b), OID_SHA1, true, PARSE_DONE, &fail);
	bed_release(&b);
	return p;
}

static void
content_fits_each_case(void **state UNUSED)
{
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		uint8_t one[256], two[256];
		struct slice author = { 0 }, committer = { 0 };
		struct content_rule rule = { .authors = &author,
			.n_authors = cases[i].author != NULL,
			.committers = &committer,
			.n_committers = cases[i].committer != NULL,
			.is_signed = cases[i].is_signed,
			.max_file = cases[i].max_file };
		struct packs packs = { .id_size = OID_SHA1 };
		struct parse_fail fail = { .detail = "" };

		print_message("# %s\n", cases[i].name);
		if (cases[i].author != NULL)
			author = compile(cases[i].author, one);
		if (cases[i].committer != NULL)
			committer = compile(cases[i].committer, two);
		packs.pushed = pack_of(cases[i].kind, cases[i].text);
		enum proof got = content_fits(&packs, &rule, &fail);
		if (cases[i].detail == NULL) {
			assert_int_equal(got, PROOF_YES);
		} else {
			assert_int_equal(got, PROOF_NO);
			assert_string_equal(fail.detail, cases[i].detail);
			assert_int_equal(fail.reason, REASON_GIT_PACK);
		}
		pack_free(packs.pushed);
	}
}

/* A delta of no known kind may be a commit of anybody's; its size counts. */
static void
content_of_unknown_kind_fits_no_rule_on_commits(void **state UNUSED)
{
	struct content_rule rule = { .max_file = 4 };
	struct packs packs = { .id_size = OID_SHA1 };
	struct parse_fail fail;
	struct bed b;

	bed_init(&b, OID_SHA1);
	bed_put_ref(&b, &tree_id, SLICE("\4\5\1x"));
	packs.pushed = bed_read(bed_end(&b), OID_SHA1, true, PARSE_DONE, &fail);
	assert_int_equal(content_fits(&packs, &rule, &fail), PROOF_NO);
	rule.max_file = 5;
	assert_int_equal(content_fits(&packs, &rule, &fail), PROOF_YES);
	rule.is_signed = true;
	assert_int_equal(content_fits(&packs, &rule, &fail), PROOF_OPEN);
	pack_free(packs.pushed);
	bed_release(&b);
	packs.pushed = NULL;
	assert_int_equal(content_fits(&packs, &rule, &fail), PROOF_YES);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(content_fits_each_case),
		cmocka_unit_test(
		    content_of_unknown_kind_fits_no_rule_on_commits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
