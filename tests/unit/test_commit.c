/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "git/commit.h"

#define A "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
#define B "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
#define C "cccccccccccccccccccccccccccccccccccccccc"
#define TREE "tree " A "\n"
#define AUTHOR "author A U Thor <author@example.com> 1700000000 +0100\n"
#define COMMITTER "committer C O Mitter <c@example.com> 1700000000 -0930\n"
#define TAIL AUTHOR COMMITTER "\nmessage\n"

static const struct {
	const char *name, *in;
	size_t parents;
	bool is_signed;
	const char *detail; /* NULL: it is a commit */
} commits[] = {
	{ "root", TREE TAIL, 0, false, NULL },
	{ "no message", TREE AUTHOR COMMITTER, 0, false, NULL },
	{ "one parent", TREE "parent " B "\n" TAIL, 1, false, NULL },
	{ "octopus", TREE "parent " B "\nparent " C "\nparent " A "\n" TAIL, 3,
	    false, NULL },
	{ "signed",
	    TREE AUTHOR COMMITTER
	    "gpgsig -----BEGIN PGP SIGNATURE-----\n \n x\n -----END\n\nm\n",
	    0, true, NULL },
	{ "signature of another format",
	    TREE AUTHOR COMMITTER
	    "gpgsig-sha256 -----BEGIN PGP SIGNATURE-----\n\nm\n",
	    0, false, NULL },
	{ "signature in the message",
	    TREE TAIL "gpgsig -----BEGIN PGP SIGNATURE-----\n", 0, false,
	    NULL },
	{ "signature that is none", TREE AUTHOR COMMITTER "gpgsig x\n\nm\n", 0,
	    false, NULL },
	{ "parent in a merged tag",
	    TREE AUTHOR COMMITTER "mergetag object " B "\n parent " B
				  "\n tag x\n\nm\n",
	    0, false, NULL },
	{ "parent in a signature",
	    TREE AUTHOR COMMITTER "gpgsig -----BEGIN X\n parent " B "\n\nm\n",
	    0, true, NULL },
	{ "parent in the message", TREE TAIL "parent " B "\n", 0, false, NULL },
	{ "empty name", TREE "author  <a@b> 1 +0000\n" COMMITTER, 0, false,
	    NULL },
	{ "parent behind author", TREE AUTHOR "parent " B "\n" COMMITTER, 0,
	    false, "header line is missing" },
	{ "parent behind committer", TREE AUTHOR COMMITTER "parent " B "\n", 0,
	    false, "header line in the wrong place" },
	{ "two authors", TREE AUTHOR AUTHOR COMMITTER "\n", 0, false,
	    "header line is missing" },
	{ "two committers", TREE AUTHOR COMMITTER COMMITTER "\n", 0, false,
	    "header line in the wrong place" },
	{ "two trees", TREE TREE TAIL, 0, false, "header line is missing" },
	{ "empty", "", 0, false, "header line is missing" },
	{ "parent before tree", "parent " B "\n" TREE TAIL, 0, false,
	    "header line is missing" },
	{ "upper case", "tree AAAAaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\n" TAIL,
	    0, false, "object name in a header" },
	{ "short parent", TREE "parent bbbb\n" TAIL, 0, false,
	    "object name in a header" },
	{ "long parent", TREE "parent " B "b\n" TAIL, 0, false,
	    "object name in a header" },
	{ "header without an end", TREE AUTHOR "committer C <c@d> 1 +0000", 0,
	    false, "header line without an end" },
	{ "no address", TREE "author A U Thor 1 +0000\n" COMMITTER, 0, false,
	    "person without an e-mail address" },
	{ "brackets the wrong way", TREE "author A >b< 1 +0000\n" COMMITTER, 0,
	    false, "person without an e-mail address" },
	{ "two addresses", TREE "author A <a@b> <c@d> 1 +0000\n" COMMITTER, 0,
	    false, "person whose e-mail address is unclear" },
	{ "two closing brackets", TREE "author A <a@b>> 1 +0000\n" COMMITTER, 0,
	    false, "person whose e-mail address is unclear" },
	{ "no name", TREE "author <a@b> 1 +0000\n" COMMITTER, 0, false,
	    "person whose e-mail address is unclear" },
	{ "no blank", TREE "author A<a@b> 1 +0000\n" COMMITTER, 0, false,
	    "person whose e-mail address is unclear" },
	{ "no date", TREE "author A <a@b>\n" COMMITTER, 0, false,
	    "person without a date" },
	{ "zero in front", TREE "author A <a@b> 01 +0000\n" COMMITTER, 0, false,
	    "person without a date" },
	{ "no zone", TREE "author A <a@b> 1 0000\n" COMMITTER, 0, false,
	    "person without a date" },
	{ "long zone", TREE "author A <a@b> 1 +00000\n" COMMITTER, 0, false,
	    "person without a date" },
	{ "letters in a zone", TREE "author A <a@b> 1 +00a0\n" COMMITTER, 0,
	    false, "person without a date" },
};

static void
commit_reads_each_case(void **state UNUSED)
{
	for (size_t i = 0; i < COUNT_OF(commits); i++) {
		struct parse_fail fail = { 0 };
		struct commit c;

		print_message("# %s\n", commits[i].name);
		bool read = commit_read(slice_of_str(commits[i].in), OID_SHA1,
		    &c, &fail);
		if (commits[i].detail != NULL) {
			assert_false(read);
			assert_string_equal(fail.detail, commits[i].detail);
			assert_int_equal(fail.reason, REASON_GIT_PACK);
			continue;
		}
		assert_true(read);
		assert_int_equal(c.n_parents, commits[i].parents);
		assert_int_equal(c.is_signed, commits[i].is_signed);
		assert_true(slice_eq_str(c.committer, "c@example.com"));
	}
}

static void
commit_names_what_it_has(void **state UNUSED)
{
	struct slice in = SLICE(TREE "parent " B "\nparent " C "\n" TAIL);
	struct parse_fail fail;
	char text[OID_TEXT_SIZE];
	struct commit c;
	struct oid o;

	assert_true(commit_read(in, OID_SHA1, &c, &fail));
	oid_text(&c.tree, text);
	assert_string_equal(text, A);
	o = commit_parent(&c, 1);
	oid_text(&o, text);
	assert_string_equal(text, C);
	assert_true(slice_eq_str(c.author, "author@example.com"));
	assert_false(oid_is_zero(&o));
	/* A name of the other length is no name. */
	assert_false(commit_read(in, OID_SHA256, &c, &fail));
}

static void
commit_has_no_nul_in_its_header(void **state UNUSED)
{
	struct slice in = SLICE(TREE "author A\0 <a@b> 1 +0000\n" COMMITTER);
	struct parse_fail fail = { 0 };
	struct commit c;

	assert_false(commit_read(in, OID_SHA1, &c, &fail));
	assert_string_equal(fail.detail, "NUL in a header");
	assert_int_equal(fail.at, strlen(TREE));
	in = SLICE(TREE TAIL "a\0parent " B "\n");
	assert_true(commit_read(in, OID_SHA1, &c, &fail));
	assert_int_equal(c.n_parents, 0);
}

#define OBJECT "object " A "\n"
#define TAGGER "tagger T <t@example.com> 1 +0000\n"

static const struct {
	const char *name, *in;
	enum tag_of of;
	bool is_signed, has_tagger;
	const char *detail;
} tags[] = {
	{ "plain", OBJECT "type commit\ntag v1\n" TAGGER "\nm\n", TAG_OF_COMMIT,
	    false, true, NULL },
	{ "of a tag", OBJECT "type tag\ntag v1\n" TAGGER "\nm\n", TAG_OF_TAG,
	    false, true, NULL },
	{ "of a blob, no tagger", OBJECT "type blob\ntag v1\n\nm\n",
	    TAG_OF_BLOB, false, false, NULL },
	{ "signed",
	    OBJECT "type tree\ntag v1\n" TAGGER
		   "\nm\n-----BEGIN PGP SIGNATURE-----\n",
	    TAG_OF_TREE, true, true, NULL },
	{ "signed by ssh",
	    OBJECT "type commit\ntag v1\n" TAGGER
		   "\n-----BEGIN SSH SIGNATURE-----\n",
	    TAG_OF_COMMIT, true, true, NULL },
	{ "signature within a line",
	    OBJECT "type commit\ntag v1\n" TAGGER
		   "\n x -----BEGIN PGP SIGNATURE-----",
	    TAG_OF_COMMIT, false, true, NULL },
	{ "two objects", OBJECT OBJECT "type commit\ntag v1\n" TAGGER "\n", 0,
	    false, false, "header line is missing" },
	{ "unknown kind", OBJECT "type commits\ntag v1\n" TAGGER "\n", 0, false,
	    false, "tag of an unknown kind" },
	{ "no name", OBJECT "type commit\n" TAGGER "\n", 0, false, false,
	    "header line is missing" },
	{ "a second object behind",
	    OBJECT "type commit\ntag v1\n" TAGGER OBJECT, 0, false, false,
	    "header line in the wrong place" },
	{ "wrong tagger", OBJECT "type commit\ntag v1\ntagger T\n\n", 0, false,
	    false, "person without an e-mail address" },
	{ "header without an end", OBJECT "type commit\ntag v1", 0, false,
	    false, "header line without an end" },
};

static void
tag_reads_each_case(void **state UNUSED)
{
	for (size_t i = 0; i < COUNT_OF(tags); i++) {
		struct parse_fail fail = { 0 };
		struct tag t;

		print_message("# %s\n", tags[i].name);
		bool read =
		    tag_read(slice_of_str(tags[i].in), OID_SHA1, &t, &fail);
		assert_int_equal(read, tags[i].detail == NULL);
		if (!read) {
			assert_string_equal(fail.detail, tags[i].detail);
			continue;
		}
		assert_int_equal(t.of, tags[i].of);
		assert_int_equal(t.is_signed, tags[i].is_signed);
		assert_int_equal(t.tagger.n != 0, tags[i].has_tagger);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(commit_reads_each_case),
		cmocka_unit_test(commit_names_what_it_has),
		cmocka_unit_test(commit_has_no_nul_in_its_header),
		cmocka_unit_test(tag_reads_each_case),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
