/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_bed.h"

#define FILE_(id) "100644 a\0" id
#define ID "\1\2\3\4\5\6\7\10\11\12\13\14\15\16\17\20\21\22\23\24"

static const struct oid no_id = { .n = OID_SHA1 };

static void
want(struct slice in, const char *detail, size_t at)
{
	struct parse_fail fail = { .detail = "" };

	pack_free(bed_read(in, OID_SHA1, true, PARSE_BAD, &fail));
	assert_string_equal(fail.detail, detail);
	assert_int_equal(fail.at, at);
}

/* Refused when its last entry has ended. */
static void
want_at_end(struct bed *b, const char *detail)
{
	struct slice in = bed_end(b);

	want(in, detail, in.n - OID_SHA1);
}

/* A commit, its tree, a blob; a second commit and tree as deltas. */
struct sample {
	struct bed b;
	struct oid tree, commit, blob, tree2, commit2;
	struct slice in;
};

static void
sample_init(struct sample *s, size_t id_size, bool by_name)
{
	static const uint8_t entry[] = "100644 a\0" ID ID;
	struct slice tree = slice_of(entry, 9 + id_size);
	static const uint8_t entry2[] = "100755 b\0" ID ID;
	struct slice tree2 = slice_of(entry2, 9 + id_size);
	struct buf text, delta;

	bed_init(&s->b, id_size);
	s->tree = bed_name(id_size, OBJECT_TREE, tree);
	s->tree2 = bed_name(id_size, OBJECT_TREE, tree2);
	struct slice c = bed_commit(&s->tree, NULL, 0, "\none\n");
	buf_init(&text, 4096);
	buf_put(&text, c);
	s->commit = bed_put(&s->b, OBJECT_COMMIT, c);
	c = bed_commit(&s->tree2, &s->commit, 1, "\ntwo\n");
	s->commit2 = bed_name(id_size, OBJECT_COMMIT, c);
	struct slice d = bed_delta(&delta, buf_slice(&text), c);
	if (by_name)
		bed_put_ref(&s->b, &s->commit, d);
	else
		bed_put_ofs(&s->b, 0, d);
	buf_release(&delta);
	buf_release(&text);
	s->blob = bed_put(&s->b, OBJECT_BLOB, SLICE("some content\n"));
	bed_put(&s->b, OBJECT_TREE, tree);
	d = bed_delta(&delta, tree, tree2);
	if (by_name)
		bed_put_ref(&s->b, &s->tree, d);
	else
		bed_put_ofs(&s->b, 3, d);
	buf_release(&delta);
	s->in = bed_end(&s->b);
}

static void
check_sample(const struct sample *s, const struct pack *p)
{
	const struct oid *ids[] = { &s->commit, &s->commit2, &s->tree,
		&s->tree2 };
	const struct pack_facts *f = pack_facts(p);

	for (size_t i = 0; i < COUNT_OF(ids); i++) {
		const struct object *o = pack_find(p, ids[i]);
		assert_non_null(o);
		assert_int_equal(o->kind, i < 2 ? OBJECT_COMMIT : OBJECT_TREE);
		assert_true(oid_eq(&o->id, ids[i]));
	}
	assert_null(pack_find(p, &s->blob));
	assert_null(pack_nth(p, 4));
	assert_int_equal(f->n_objects, 5);
	assert_int_equal(f->n_unknown, 0);
	assert_int_equal(f->bytes, s->in.n);
	assert_int_equal(f->largest, 13);
	assert_true(pack_is_done(p));
}

static void
pack_names_what_it_holds(void **state UNUSED)
{
	for (int i = 0; i < 4; i++) {
		struct parse_fail fail;
		struct sample s;
		sample_init(&s, i < 2 ? OID_SHA1 : OID_SHA256, i % 2 != 0);
		struct pack *p =
		    bed_read(s.in, s.b.id_size, true, PARSE_DONE, &fail);
		check_sample(&s, p);
		pack_free(p);
		bed_release(&s.b);
	}
}

/* In two pieces, whatever the border, it is the same; the trailer alone is
 * kept back. */
static void
pack_is_the_same_at_every_split(void **state UNUSED)
{
	struct pack_cfg cfg = { .id_size = OID_SHA1, .strict = true };
	struct sample s;

	sample_init(&s, OID_SHA1, false);
	for (size_t n = 0; n <= s.in.n; n++) {
		struct parse_fail fail;
		enum err err;
		struct pack *p = pack_new(&cfg, &err);
		size_t used, pass, sum;

		assert_non_null(p);
		enum parse first =
		    pack_take(p, slice_first(s.in, n), &used, &pass, &fail);
		assert_int_equal(first, n == s.in.n ? PARSE_DONE : PARSE_MORE);
		assert_int_equal(used, n);
		sum = pass;
		assert_int_equal(pack_take(p, slice_from(s.in, n), &used, &pass,
				     &fail),
		    PARSE_DONE);
		assert_int_equal(used, s.in.n - n);
		assert_int_equal(sum + pass, s.in.n - OID_SHA1);
		check_sample(&s, p);
		assert_true(slice_eq(pack_trailer(p),
		    slice_from(s.in, s.in.n - OID_SHA1)));
		pack_free(p);
	}
	bed_release(&s.b);
}

static void
pack_that_is_cut_is_not_done(void **state UNUSED)
{
	struct sample s;

	sample_init(&s, OID_SHA1, false);
	for (size_t n = 0; n < s.in.n; n++) {
		struct parse_fail fail;
		struct pack *p = bed_read(slice_first(s.in, n), OID_SHA1, true,
		    PARSE_MORE, &fail);
		assert_false(pack_is_done(p));
		assert_int_equal(pack_trailer(p).n, 0);
		pack_free(p);
	}
	bed_release(&s.b);
}

/* Any bit that is turned is found, by the checksum at the latest. */
static void
pack_with_a_turned_bit_is_refused(void **state UNUSED)
{
	struct sample s;

	sample_init(&s, OID_SHA1, false);
	for (size_t i = 0; i < s.in.n * 8; i++) {
		struct parse_fail fail = { 0 };
		struct pack_cfg cfg = { .id_size = OID_SHA1, .strict = true };
		enum err err;
		struct pack *p = pack_new(&cfg, &err);
		size_t used, pass;
		assert_non_null(p);
		s.b.out.p[i / 8] ^= (uint8_t)(1 << i % 8);
		enum parse answer = pack_take(p, s.in, &used, &pass, &fail);
		assert_int_not_equal(answer, PARSE_DONE);
		s.b.out.p[i / 8] ^= (uint8_t)(1 << i % 8);
		pack_free(p);
	}
	bed_release(&s.b);
}

static void
pack_has_nothing_behind_it(void **state UNUSED)
{
	struct parse_fail fail = { .detail = "" };
	struct sample s;
	size_t used, pass;

	sample_init(&s, OID_SHA1, false);
	struct pack *p = bed_read(s.in, OID_SHA1, true, PARSE_DONE, &fail);
	assert_int_equal(pack_take(p, SLICE("x"), &used, &pass, &fail),
	    PARSE_BAD);
	assert_string_equal(fail.detail, "bytes behind the pack");
	assert_int_equal(fail.at, s.in.n);
	/* Once refused it stays so. */
	assert_int_equal(pack_take(p, SLICE("x"), &used, &pass, &fail),
	    PARSE_BAD);
	assert_string_equal(fail.detail, "pack was refused");
	assert_int_equal(pass, 0);
	pack_free(p);
	size_t n = s.in.n;
	buf_put_byte(&s.b.out, 'x');
	want(buf_slice(&s.b.out), "bytes behind the pack", n);
	bed_release(&s.b);
}

static void
pack_of_nothing_is_a_pack(void **state UNUSED)
{
	struct parse_fail fail;
	struct bed b;

	bed_init(&b, OID_SHA1);
	struct pack *p =
	    bed_read(bed_end(&b), OID_SHA1, true, PARSE_DONE, &fail);
	assert_int_equal(pack_facts(p)->n_objects, 0);
	pack_free(p);
	bed_release(&b);
}

static void
pack_head_is_exact(void **state UNUSED)
{
	want(SLICE("PACX"), "no pack of version 2", 3);
	want(SLICE("PACK\0\0\0\3"), "no pack of version 2", 7);
	want(SLICE("PACK\0\0\0\2\0\x0f\x42\x41"), "too many objects", 12);
	want(SLICE("PACK\0\0\0\2\0\0\0\1\x50"), "kind of an entry", 13);
	want(SLICE("PACK\0\0\0\2\0\0\0\1\x0f"), "kind of an entry", 13);
	want(SLICE("PACK\0\0\0\2\0\0\0\1\x9f\xff\xff\xff\xff\xff\xff\xff\xff"),
	    "size of an entry", 21);
	want(SLICE("PACK\0\0\0\2\0\0\0\1\x61\0"), "offset of a base", 14);
	want(SLICE("PACK\0\0\0\2\0\0\0\1\x61\x0d"), "offset of a base", 14);
	want(SLICE("PACK\0\0\0\2\0\0\0\1\x61\x0c"), "base is no entry", 14);
	want(SLICE("PACK\0\0\0\2\0\0\0\1\x61\x80\x80\x80\x80\x80\x80\x80\x80"
		   "\x80"),
	    "offset of a base", 22);
	want(SLICE("PACK\0\0\0\2\0\0\0\1\x33xxxx"), "entry does not inflate",
	    12);
}

static void
pack_entry_is_as_long_as_it_says(void **state UNUSED)
{
	static const enum object_kind kinds[] = { OBJECT_BLOB, OBJECT_TREE };

	for (size_t i = 0; i < COUNT_OF(kinds); i++) {
		struct parse_fail fail = { 0 };
		struct bed b;
		for (uint64_t size = 11; size <= 13; size += 2) {
			bed_init(&b, OID_SHA1);
			bed_head(&b, kinds[i], size);
			bed_deflate(&b, SLICE("twelve bytes"));
			pack_free(bed_read(bed_end(&b), OID_SHA1, true,
			    PARSE_BAD, &fail));
			assert_string_equal(fail.detail,
			    size == 11 ? "entry is longer than it says" :
					 "entry is shorter than it says");
			bed_release(&b);
		}
	}
}

static void
pack_checksum_is_compared(void **state UNUSED)
{
	struct sample s;

	sample_init(&s, OID_SHA1, false);
	s.b.out.p[s.in.n - 1] ^= 1;
	want(s.in, "checksum of the pack", s.in.n);
	bed_release(&s.b);
}

/* fsck's reasons count only where the pack is a push. */
static void
pack_refuses_commits_that_fsck_refuses(void **state UNUSED)
{
	struct parse_fail fail = { 0 };
	struct bed b;

	bed_init(&b, OID_SHA1);
	bed_put(&b, OBJECT_COMMIT, SLICE("tree x\n"));
	struct slice in = bed_end(&b);
	pack_free(bed_read(in, OID_SHA1, true, PARSE_BAD, &fail));
	assert_string_equal(fail.detail, "object name in a header");
	pack_free(bed_read(in, OID_SHA1, false, PARSE_DONE, &fail));
	bed_release(&b);
	bed_init(&b, OID_SHA1);
	bed_put(&b, OBJECT_TAG, SLICE("object x\n"));
	want_at_end(&b, "object name in a header");
	bed_release(&b);
}

static void
pack_has_no_object_twice(void **state UNUSED)
{
	struct bed b;

	bed_init(&b, OID_SHA1);
	bed_put(&b, OBJECT_TREE, SLICE(FILE_(ID)));
	bed_put(&b, OBJECT_TREE, SLICE(FILE_(ID)));
	want_at_end(&b, "object is there twice");
	bed_release(&b);
}

static void
pack_refuses_a_delta_that_does_not_fit(void **state UNUSED)
{
	struct bed b;

	bed_init(&b, OID_SHA1);
	bed_put(&b, OBJECT_TREE, SLICE(FILE_(ID)));
	bed_put_ofs(&b, 0, SLICE("\x1c\1\1x"));
	want_at_end(&b, "delta does not fit its base");
	bed_release(&b);
	bed_init(&b, OID_SHA1);
	bed_put(&b, OBJECT_BLOB, SLICE("x"));
	bed_put_ofs(&b, 0, SLICE("\x80"));
	want_at_end(&b, "delta without its sizes");
	bed_release(&b);
}

/* Deltas by name: before their base, against one of their kind, a blob. */
static void
pack_settles_deltas_whose_base_comes_later(void **state UNUSED)
{
	struct slice one = SLICE(FILE_(ID)), two = SLICE("100644 b\0" ID);
	struct slice three = SLICE("100644 c\0" ID);
	struct oid base = bed_name(OID_SHA1, OBJECT_TREE, one);
	struct oid second = bed_name(OID_SHA1, OBJECT_TREE, two);
	struct oid third = bed_name(OID_SHA1, OBJECT_TREE, three);
	struct oid blob = bed_name(OID_SHA1, OBJECT_BLOB, SLICE("blob"));
	struct parse_fail fail;
	struct buf delta;
	struct bed b;

	bed_init(&b, OID_SHA1);
	bed_put_ref(&b, &second, bed_delta(&delta, two, three));
	buf_release(&delta);
	bed_put_ref(&b, &base, bed_delta(&delta, one, two));
	buf_release(&delta);
	bed_put_ref(&b, &blob, SLICE("\4\1\1x"));
	bed_put_ofs(&b, 2, SLICE("\1\x90\x01\1x"));
	bed_put(&b, OBJECT_TREE, one);
	bed_put(&b, OBJECT_BLOB, SLICE("blob"));
	bed_put_ref(&b, &blob, SLICE("\4\2\2xy"));
	struct pack *p =
	    bed_read(bed_end(&b), OID_SHA1, true, PARSE_DONE, &fail);
	assert_non_null(pack_find(p, &second));
	assert_non_null(pack_find(p, &third));
	assert_int_equal(pack_facts(p)->n_unknown, 0);
	assert_int_equal(pack_facts(p)->unread[OBJECT_TREE], 0);
	pack_free(p);
	bed_release(&b);
}

/* A base on the server alone: what comes of it is of no kind. */
static void
pack_knows_nothing_of_a_delta_without_its_base(void **state UNUSED)
{
	struct parse_fail fail;
	struct bed b;

	bed_init(&b, OID_SHA1);
	bed_put_ref(&b, &no_id, SLICE("\4\5\1x"));
	bed_put_ofs(&b, 0, SLICE("\5\x87\1\1x"));
	struct pack *p =
	    bed_read(bed_end(&b), OID_SHA1, true, PARSE_DONE, &fail);
	assert_int_equal(pack_facts(p)->n_unknown, 2);
	/* It may be a file: its size counts as one. */
	assert_int_equal(pack_facts(p)->largest, 135);
	assert_null(pack_nth(p, 0));
	pack_free(p);
	bed_release(&b);
}

/* As many objects as the rule says, not one more. */
static void
pack_has_at_most_so_many_objects(void **state UNUSED)
{
	for (uint32_t max = 4; max <= 5; max++) {
		struct pack_cfg cfg = { .id_size = OID_SHA1,
			.max_objects = max };
		struct parse_fail fail = { 0 };
		struct sample s;
		enum err err;
		size_t used, pass;

		sample_init(&s, OID_SHA1, false);
		struct pack *p = pack_new(&cfg, &err);
		assert_non_null(p);
		assert_int_equal(pack_take(p, s.in, &used, &pass, &fail),
		    max == 5 ? PARSE_DONE : PARSE_BAD);
		if (max == 4)
			assert_int_equal(fail.reason, REASON_LIMIT_BYTES);
		pack_free(p);
		bed_release(&s.b);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pack_names_what_it_holds),
		cmocka_unit_test(pack_is_the_same_at_every_split),
		cmocka_unit_test(pack_that_is_cut_is_not_done),
		cmocka_unit_test(pack_with_a_turned_bit_is_refused),
		cmocka_unit_test(pack_has_nothing_behind_it),
		cmocka_unit_test(pack_of_nothing_is_a_pack),
		cmocka_unit_test(pack_head_is_exact),
		cmocka_unit_test(pack_entry_is_as_long_as_it_says),
		cmocka_unit_test(pack_checksum_is_compared),
		cmocka_unit_test(pack_refuses_commits_that_fsck_refuses),
		cmocka_unit_test(pack_has_no_object_twice),
		cmocka_unit_test(pack_refuses_a_delta_that_does_not_fit),
		cmocka_unit_test(pack_settles_deltas_whose_base_comes_later),
		cmocka_unit_test(
		    pack_knows_nothing_of_a_delta_without_its_base),
		cmocka_unit_test(pack_has_at_most_so_many_objects),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
