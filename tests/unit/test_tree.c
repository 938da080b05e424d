/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/wr.h"
#include "git/tree.h"

#define ID "\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20\21\22\23\24"
#define FILE_ "100644 "
#define DIR_ "40000 "

/* SLICE() for the table of a static object */
#define S(text)                                              \
	{                                                    \
		(const uint8_t *)("" text), sizeof(text) - 1 \
	}

static const struct {
	const char *name;
	struct slice in;
	size_t n;
	bool bad;
} trees[] = {
	{ "empty", S(""), 0, false },
	{ "one", S(FILE_ "a\0" ID), 1, false },
	{ "all kinds",
	    S(FILE_ "a\0" ID "100755 b\0" ID "120000 c\0" ID
		    "160000 d\0" ID DIR_ "e\0" ID),
	    5, false },
	{ "folder sorts with its slash",
	    S(FILE_ "a-b\0" ID DIR_ "a\0" ID FILE_ "a0\0" ID), 3, false },
	{ "file sorts without", S(FILE_ "a\0" ID FILE_ "a-b\0" ID), 2, false },
	{ "any byte in a name", S(FILE_ "a\n\xff\x1b\0" ID), 1, false },
	{ "out of order", S(FILE_ "b\0" ID FILE_ "a\0" ID), 1, true },
	{ "longer name first", S(FILE_ "ab\0" ID FILE_ "a\0" ID), 1, true },
	{ "folder as a file would", S(DIR_ "a\0" ID FILE_ "a-b\0" ID), 1,
	    true },
	{ "twice", S(FILE_ "a\0" ID FILE_ "a\0" ID), 1, true },
	{ "file and folder", S(FILE_ "a\0" ID DIR_ "a\0" ID), 1, true },
	{ "file, others, then a folder of the name",
	    S(FILE_ "a\0" ID FILE_ "a-\0" ID FILE_ "a--\0" ID FILE_
		    "a.b\0" ID DIR_ "a\0" ID),
	    4, true },
	{ "a file between is no such name",
	    S(FILE_ "a-\0" ID FILE_ "a--\0" ID DIR_ "a\0" ID), 3, false },
	{ "empty name", S(FILE_ "\0" ID), 0, true },
	{ "slash", S(FILE_ "a/b\0" ID), 0, true },
	{ "dot", S(DIR_ ".\0" ID), 0, true },
	{ "dot dot", S(DIR_ "..\0" ID), 0, true },
	{ "zero in front", S("040000 a\0" ID), 0, true },
	{ "no mode", S(" a\0" ID), 0, true },
	{ "decimal mode", S("100648 a\0" ID), 0, true },
	{ "long mode", S("1000644 a\0" ID), 0, true },
	{ "unknown kind", S("20000 a\0" ID), 0, true },
	{ "mode alone", S("100644"), 0, true },
	{ "no end of a name", S(FILE_ "a"), 0, true },
	{ "short id", S(FILE_ "a\0abc"), 0, true },
};

static void
tree_reads_each_case(void **state UNUSED)
{
	for (size_t i = 0; i < COUNT_OF(trees); i++) {
		struct tree_entry e;
		struct tree t;
		size_t n = 0;

		print_message("# %s\n", trees[i].name);
		tree_init(&t, trees[i].in, OID_SHA1);
		while (tree_next(&t, &e))
			n++;
		assert_int_equal(n, trees[i].n);
		assert_int_equal(t.bad, trees[i].bad);
		assert_false(tree_next(&t, &e));
	}
}

static void
tree_says_what_an_entry_is(void **state UNUSED)
{
	static const enum tree_kind kinds[] = { TREE_FILE, TREE_FILE, TREE_LINK,
		TREE_MODULE, TREE_FOLDER };
	struct oid id = oid_of((const uint8_t *)ID, OID_SHA1);
	struct tree_entry e;
	struct tree t;

	tree_init(&t, trees[2].in, OID_SHA1);
	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		assert_true(tree_next(&t, &e));
		assert_int_equal(e.kind, kinds[i]);
		assert_int_equal(e.name.p[0], 'a' + i);
		assert_true(oid_eq(&e.id, &id));
	}
	assert_int_equal(e.mode, 040000);
}

/* More names, each the beginning of the next, than are kept in mind. */
static void
tree_gives_up_where_it_would_lose_a_name(void **state UNUSED)
{
	uint8_t text[64 * (TREE_OPEN + 1)];
	struct wr w = wr_of(text, sizeof(text));
	struct tree_entry e;
	struct tree t;
	size_t n = 0;

	for (size_t i = 0; i <= TREE_OPEN; i++) {
		wr_bytes(&w, SLICE("100644 a"));
		for (size_t k = 0; k < i; k++)
			wr_u8(&w, '-');
		wr_bytes(&w, SLICE("\0" ID));
	}
	tree_init(&t, wr_slice(&w), OID_SHA1);
	while (tree_next(&t, &e))
		n++;
	assert_int_equal(n, TREE_OPEN);
	assert_true(t.bad);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tree_reads_each_case),
		cmocka_unit_test(tree_says_what_an_entry_is),
		cmocka_unit_test(tree_gives_up_where_it_would_lose_a_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
