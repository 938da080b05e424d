/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_bed.h"

#include "base/limits.h"
#include "fails.h"

static const struct oid no_id = { .n = OID_SHA1 };

/* What is larger than is looked at is read and counted, and proves nothing. */
static void
pack_does_not_keep_what_is_too_large(void **state UNUSED)
{
	size_t n = LIMIT_PACK_LOOK_SIZE + 1;
	uint8_t *large = malloc(n);
	struct parse_fail fail;
	struct bed b;

	assert_non_null(large);
	for (size_t i = 0; i < n; i++)
		large[i] = (uint8_t)(i * i >> 3);
	bed_init(&b, OID_SHA1);
	bed_put(&b, OBJECT_TREE, slice_of(large, n));
	bed_put_ofs(&b, 0, SLICE("\x81\x80\x80\1\1\1x"));
	bed_put(&b, OBJECT_BLOB, slice_of(large, n));
	struct pack *p =
	    bed_read(bed_end(&b), OID_SHA1, true, PARSE_DONE, &fail);
	assert_int_equal(pack_facts(p)->unread[OBJECT_TREE], 2);
	assert_int_equal(pack_facts(p)->n_unknown, 0);
	assert_int_equal(pack_facts(p)->largest, n);
	pack_free(p);
	bed_release(&b);
	free(large);
}

/* Full for trees, it still has room for commits. */
static void
pack_keeps_the_first_trees_and_says_how_many_it_does_not(void **state UNUSED)
{
	static uint8_t tree[1 << 20] = "100644 ";
	uint32_t n = LIMIT_PACK_TREES_SIZE / sizeof(tree) + 1;
	struct parse_fail fail;
	struct bed b;

	for (size_t i = 7; i < sizeof(tree); i++)
		tree[i] = (uint8_t)(i * i * i >> 5 | 1);
	bed_init(&b, OID_SHA1);
	struct oid first = no_id, last = no_id;
	for (uint32_t i = 0; i < n; i++) {
		tree[7] = (uint8_t)(i + 1);
		last = bed_put(&b, OBJECT_TREE, slice_of(tree, sizeof(tree)));
		first = i == 0 ? last : first;
	}
	struct oid commit =
	    bed_put(&b, OBJECT_COMMIT, bed_commit(&no_id, NULL, 0, ""));
	struct pack *p =
	    bed_read(bed_end(&b), OID_SHA1, true, PARSE_DONE, &fail);
	assert_non_null(pack_find(p, &first));
	assert_null(pack_find(p, &last));
	assert_non_null(pack_find(p, &commit));
	assert_int_equal(pack_facts(p)->unread[OBJECT_TREE], 2);
	pack_free(p);
	bed_release(&b);
}

/* 128 MiB of nothing in 130 kB: a thousand times, where 200 are allowed. */
static void
pack_that_inflates_to_too_much_is_over_a_limit(void **state UNUSED)
{
	size_t n = 2 * LIMIT_PACK_FREE_SIZE;
	uint8_t *nothing = calloc(1, n);
	struct parse_fail fail = { 0 };
	struct bed b;

	assert_non_null(nothing);
	bed_init(&b, OID_SHA1);
	bed_put(&b, OBJECT_BLOB, slice_of(nothing, n));
	pack_free(bed_read(bed_end(&b), OID_SHA1, true, PARSE_BAD, &fail));
	assert_string_equal(fail.detail, "inflates to too much");
	assert_int_equal(fail.reason, REASON_LIMIT_BYTES);
	bed_release(&b);
	free(nothing);
}

/* And no single call does more of it than one step. */
static void
pack_does_not_do_all_at_once(void **state UNUSED)
{
	size_t n = LIMIT_PACK_FREE_SIZE / 2;
	struct pack_cfg cfg = { .id_size = OID_SHA1 };
	uint8_t *nothing = calloc(1, n);
	enum err err;
	struct pack *p = pack_new(&cfg, &err);
	struct parse_fail fail;
	enum parse answer;
	size_t calls = 0;
	struct bed b;

	assert_non_null(nothing);
	assert_non_null(p);
	bed_init(&b, OID_SHA1);
	bed_put(&b, OBJECT_BLOB, slice_of(nothing, n));
	struct slice in = bed_end(&b);
	do {
		uint64_t before = pack_facts(p)->inflated;
		size_t used, pass;
		answer = pack_take(p, in, &used, &pass, &fail);
		in = slice_from(in, used);
		calls++;
		assert_true(pack_facts(p)->inflated - before <=
		    2 * LIMIT_PACK_STEP_SIZE);
	} while (answer == PARSE_MORE && in.n != 0);
	assert_int_equal(answer, PARSE_DONE);
	assert_true(calls >= n / LIMIT_PACK_STEP_SIZE);
	pack_free(p);
	bed_release(&b);
	free(nothing);
}

/* Entries that are no blobs, kept or not. */
static size_t
not_blobs(const struct pack *p)
{
	const struct pack_facts *f = pack_facts(p);
	size_t n = 0;

	while (pack_nth(p, n) != NULL)
		n++;
	return n + f->unread[OBJECT_COMMIT] + f->unread[OBJECT_TREE] +
	    f->n_unknown;
}

/*
 * Whatever allocation fails, what is not kept is counted, and what is counted
 * as kept is there.
 */
static void
pack_without_memory_keeps_less(void **state UNUSED)
{
	struct pack_cfg cfg = { .id_size = OID_SHA1,
		.strict = true,
		.names = true };
	struct slice one = bed_commit(&no_id, NULL, 0, "\n1");
	unsigned asked = 0;
	struct buf delta;
	struct bed b;

	bed_init(&b, OID_SHA1);
	bed_put(&b, OBJECT_COMMIT, one);
	bed_put(&b, OBJECT_BLOB, SLICE("blob"));
	bed_put_ref(&b, &no_id, SLICE("\1\1\1x"));
	bed_put_ofs(&b, 0, bed_delta(&delta, one, slice_first(one, one.n - 1)));
	bed_put(&b, OBJECT_TREE, (struct slice){ 0 });
	struct slice in = bed_end(&b);
	for (unsigned first = 0; first <= asked; first++) {
		struct parse_fail fail;
		enum err err = ERR_NONE;
		size_t used, pass;
		fails_from(first, false);
		struct pack *p = pack_new(&cfg, &err);
		enum parse answer = p == NULL ?
		    PARSE_MORE :
		    pack_take(p, in, &used, &pass, &fail);
		asked = first == 0 ? fails_asked() : asked;
		fails_from(0, false);
		if (answer == PARSE_DONE)
			assert_int_equal(not_blobs(p), 4);
		assert_int_equal(p == NULL, err == ERR_MEMORY);
		pack_free(p);
	}
	assert_true(asked > 12);
	buf_release(&delta);
	bed_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pack_does_not_keep_what_is_too_large),
		cmocka_unit_test(
		    pack_keeps_the_first_trees_and_says_how_many_it_does_not),
		cmocka_unit_test(
		    pack_that_inflates_to_too_much_is_over_a_limit),
		cmocka_unit_test(pack_does_not_do_all_at_once),
		cmocka_unit_test(pack_without_memory_keeps_less),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
