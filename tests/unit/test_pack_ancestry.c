/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_bed.h"

#include "git/ancestry.h"

static const struct oid tree_id = { .n = OID_SHA1, .b = { 7 } };
static const struct oid server = { .n = OID_SHA1, .b = { 1 } };
static const struct oid other = { .n = OID_SHA1, .b = { 2 } };

/* A pack in the making, and read. */
struct world {
	struct bed b;
	struct packs packs;
};

static void
world_init(struct world *w)
{
	*w = (struct world){ .packs = { .id_size = OID_SHA1 } };
	bed_init(&w->b, OID_SHA1);
}

static struct oid
put(struct world *w, const struct oid *parents, size_t n, const char *text)
{
	return bed_put(&w->b, OBJECT_COMMIT,
	    bed_commit(&tree_id, parents, n, text));
}

static void
world_read(struct world *w)
{
	struct parse_fail fail;

	w->packs.pushed =
	    bed_read(bed_end(&w->b), OID_SHA1, true, PARSE_DONE, &fail);
}

static void
world_release(struct world *w)
{
	pack_free(w->packs.pushed);
	bed_release(&w->b);
}

static void
ancestry_is_shown_by_the_parents(void **state UNUSED)
{
	struct beyond beyond = { 0 };
	struct world w;

	world_init(&w);
	struct oid a = put(&w, &server, 1, "\na");
	struct oid b = put(&w, &other, 1, "\nb");
	struct oid parents[] = { b, a };
	struct oid tip = put(&w, parents, 2, "\nmerge");
	world_read(&w);
	assert_int_equal(ancestry_descends(&w.packs, &tip, &server, &beyond),
	    PROOF_YES);
	assert_int_equal(ancestry_descends(&w.packs, &tip, &a, &beyond),
	    PROOF_YES);
	assert_int_equal(ancestry_descends(&w.packs, &tip, &tip, &beyond),
	    PROOF_YES);
	/* What it builds on could descend from it, or not. */
	assert_int_equal(ancestry_descends(&w.packs, &b, &server, &beyond),
	    PROOF_OPEN);
	assert_int_equal(beyond.n, 1);
	assert_true(oid_eq(&beyond.ids[0], &other));
	assert_false(beyond.is_cut);
	world_release(&w);
}

static void
ancestry_of_a_whole_history_is_shown_not_to_be(void **state UNUSED)
{
	struct beyond beyond = { 0 };
	struct world w;

	world_init(&w);
	struct oid root = put(&w, NULL, 0, "\nroot");
	struct oid tip = put(&w, &root, 1, "\ntip");
	world_read(&w);
	assert_int_equal(ancestry_descends(&w.packs, &tip, &server, &beyond),
	    PROOF_NO);
	assert_int_equal(beyond.n, 0);
	world_release(&w);
}

/* Of a push of many refs each walk would go through all of its objects. */
static void
ancestry_touches_what_it_walks_through_alone(void **state UNUSED)
{
	struct beyond beyond = { 0 };
	struct world w;

	world_init(&w);
	struct oid a = put(&w, NULL, 0, "\na");
	struct oid b = put(&w, NULL, 0, "\nb");
	struct oid ab[] = { a, b };
	struct oid tip = put(&w, ab, 2, "\nmerge");
	world_read(&w);
	assert_int_equal(ancestry_descends(&w.packs, &tip, &server, &beyond),
	    PROOF_NO);
	uint64_t mark = packs_find(&w.packs, &b)->mark;
	assert_int_not_equal(mark, 0);
	assert_int_equal(ancestry_descends(&w.packs, &a, &server, &beyond),
	    PROOF_NO);
	assert_int_equal(packs_find(&w.packs, &b)->mark, mark);
	assert_int_not_equal(packs_find(&w.packs, &a)->mark, mark);
	/* and what another has met is met again */
	assert_int_equal(ancestry_descends(&w.packs, &tip, &a, &beyond),
	    PROOF_YES);
	assert_int_equal(ancestry_descends(&w.packs, &tip, &b, &beyond),
	    PROOF_YES);
	world_release(&w);
}

/* Parent lines that git does not read show nothing (GT-94). */
static void
ancestry_is_not_shown_by_other_lines(void **state UNUSED)
{
	static const char *const texts[] = {
		"mergetag object x\n"
		" parent 0100000000000000000000000000000000000000\n\nm",
		"gpgsig -----BEGIN X\n"
		" parent 0100000000000000000000000000000000000000\n\nm",
		"\nparent 0100000000000000000000000000000000000000\n",
	};

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct beyond beyond = { 0 };
		struct world w;
		world_init(&w);
		struct oid tip = put(&w, NULL, 0, texts[i]);
		world_read(&w);
		assert_int_equal(ancestry_descends(&w.packs, &tip, &server,
				     &beyond),
		    PROOF_NO);
		world_release(&w);
	}
}

/* GT-45: a commit sent as a delta against what is on the server alone. */
static void
ancestry_of_a_commit_without_its_base_is_open(void **state UNUSED)
{
	struct slice text = bed_commit(&tree_id, &server, 1, "\ntip");
	struct oid tip = bed_name(OID_SHA1, OBJECT_COMMIT, text), stray;
	struct beyond beyond = { 0 };
	struct buf delta;
	struct world w;

	world_init(&w);
	bed_put_ref(&w.b, &other, bed_delta(&delta, SLICE("0123456789"), text));
	world_read(&w);
	assert_int_equal(ancestry_descends(&w.packs, &tip, &server, &beyond),
	    PROOF_OPEN);
	assert_true(oid_eq(&beyond.ids[0], &tip));
	assert_int_equal(ancestry_covers(&w.packs, &tip, 1, &stray),
	    PROOF_OPEN);
	buf_release(&delta);
	world_release(&w);
}

static void
ancestry_of_a_push_without_a_pack_is_open(void **state UNUSED)
{
	struct packs none = { .id_size = OID_SHA1 };
	struct beyond beyond = { 0 };
	struct oid stray;

	assert_int_equal(ancestry_descends(&none, &other, &server, &beyond),
	    PROOF_OPEN);
	assert_int_equal(beyond.n, 1);
	assert_int_equal(ancestry_covers(&none, &other, 1, &stray), PROOF_YES);
}

/* The pack of the answer goes on where the pushed one ends. */
static void
ancestry_goes_on_in_the_answer(void **state UNUSED)
{
	struct beyond beyond = { 0 };
	struct world w, answer;

	world_init(&answer);
	struct oid middle = put(&answer, &server, 1, "\nmiddle");
	world_read(&answer);
	world_init(&w);
	struct oid tip = put(&w, &middle, 1, "\ntip");
	world_read(&w);
	assert_int_equal(ancestry_descends(&w.packs, &tip, &server, &beyond),
	    PROOF_OPEN);
	w.packs.answers[w.packs.n_answers++] = answer.packs.pushed;
	beyond = (struct beyond){ 0 };
	assert_int_equal(ancestry_descends(&w.packs, &tip, &server, &beyond),
	    PROOF_YES);
	assert_int_equal(ancestry_descends(&w.packs, &tip, &other, &beyond),
	    PROOF_OPEN);
	assert_true(oid_eq(&beyond.ids[0], &server));
	world_release(&w);
	world_release(&answer);
}

/* GT-66: a commit that no ref of the push reaches. */
static void
ancestry_finds_a_commit_that_no_tip_reaches(void **state UNUSED)
{
	struct oid stray = { 0 };
	struct world w;

	world_init(&w);
	struct oid a = put(&w, &server, 1, "\na");
	struct oid tip = put(&w, &a, 1, "\ntip");
	struct oid hidden = put(&w, &a, 1, "\nhidden");
	char text[OID_TEXT_SIZE];
	struct buf tag;
	oid_text(&tip, text);
	buf_init(&tag, 1024);
	buf_putf(&tag, "object %s\ntype commit\ntag t\n\nm", text);
	struct oid tag_id = bed_put(&w.b, OBJECT_TAG, buf_slice(&tag));
	world_read(&w);
	struct oid tips[] = { tip, hidden, tag_id };
	assert_int_equal(ancestry_covers(&w.packs, tips, 2, &stray), PROOF_NO);
	assert_true(oid_eq(&stray, &tag_id));
	assert_int_equal(ancestry_covers(&w.packs, &tag_id, 1, &stray),
	    PROOF_NO);
	assert_true(oid_eq(&stray, &hidden));
	assert_int_equal(ancestry_covers(&w.packs, tips + 1, 2, &stray),
	    PROOF_YES);
	buf_release(&tag);
	world_release(&w);
}

/* More names than a question may have: asking shows nothing. */
static void
ancestry_says_when_there_is_too_much_to_ask(void **state UNUSED)
{
	struct oid parents[LIMIT_PROOF_ASKS + 1];
	struct beyond beyond = { 0 };
	struct world w;

	for (size_t i = 0; i < COUNT_OF(parents); i++) {
		parents[i] = other;
		parents[i].b[1] = (uint8_t)i;
		parents[i].b[2] = (uint8_t)(i >> 8);
	}
	world_init(&w);
	struct oid tip = put(&w, parents, COUNT_OF(parents), "\noctopus");
	world_read(&w);
	assert_int_equal(ancestry_descends(&w.packs, &tip, &server, &beyond),
	    PROOF_OPEN);
	assert_int_equal(beyond.n, LIMIT_PROOF_ASKS);
	assert_true(beyond.is_cut);
	world_release(&w);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ancestry_is_shown_by_the_parents),
		cmocka_unit_test(
		    ancestry_of_a_whole_history_is_shown_not_to_be),
		cmocka_unit_test(ancestry_touches_what_it_walks_through_alone),
		cmocka_unit_test(ancestry_is_not_shown_by_other_lines),
		cmocka_unit_test(ancestry_of_a_commit_without_its_base_is_open),
		cmocka_unit_test(ancestry_of_a_push_without_a_pack_is_open),
		cmocka_unit_test(ancestry_goes_on_in_the_answer),
		cmocka_unit_test(ancestry_finds_a_commit_that_no_tip_reaches),
		cmocka_unit_test(ancestry_says_when_there_is_too_much_to_ask),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
