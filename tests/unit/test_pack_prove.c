/* SPDX-License-Identifier: Apache-2.0 */
#include "pack_bed.h"

#include "git/prove.h"
#include "policy/pathglob.h"

static const struct oid zero = { .n = OID_SHA1 };
static const struct oid old = { .n = OID_SHA1, .b = { 1 } };
static const struct oid tree_id = { .n = OID_SHA1, .b = { 7 } };
static const struct question_caps all = { .id_size = OID_SHA1,
	.has_fetch = true,
	.has_shallow = true,
	.has_filter = true,
	.has_ls_refs = true };
static const struct pack_cfg cfg = { .id_size = OID_SHA1 };

/* A push of one command, with a pack of two commits on `old`. */
struct push {
	struct bed b;
	struct oid middle, tip;
	struct pack *pack;
	struct prove_rule rule;
	struct prove_command command;
	struct slice keep;
	uint8_t glob[64];
	struct prove *prove;
	struct buf body;
	struct prove_fail fail;
};

static void
push_init(struct push *p)
{
	struct parse_fail fail;

	*p = (struct push){ 0 };
	bed_init(&p->b, OID_SHA1);
	p->middle = bed_put(&p->b, OBJECT_COMMIT,
	    bed_commit(&tree_id, &old, 1, "\nmiddle"));
	p->tip = bed_put(&p->b, OBJECT_COMMIT,
	    bed_commit(&tree_id, &p->middle, 1, "\ntip"));
	p->pack = bed_read(bed_end(&p->b), OID_SHA1, true, PARSE_DONE, &fail);
	p->command = (struct prove_command){ old, p->tip };
	buf_init(&p->body, 1 << 16);
}

static void
push_keeps(struct push *p, const char *path)
{
	const char *why;
	size_t n;

	assert_true(pathglob_compile(slice_of_str(path), p->glob, &n, &why));
	p->keep = slice_of(p->glob, n);
	p->rule.keep = &p->keep;
	p->rule.n_keep = 1;
}

static void
push_begin(struct push *p)
{
	p->prove = prove_new(&p->rule, &p->command, 1, p->pack, &cfg);
	assert_non_null(p->prove);
}

static void
want(struct push *p, enum prove_next next)
{
	buf_clear(&p->body);
	p->fail = (struct prove_fail){ .detail = "" };
	assert_int_equal(prove_next(p->prove, &p->body, &p->fail), next);
}

static void
want_refused(struct push *p, enum reason reason, const char *detail,
    size_t command)
{
	want(p, PROVE_REFUSED);
	assert_string_equal(p->fail.detail, detail);
	assert_int_equal(p->fail.reason, reason);
	assert_true(p->fail.command == command);
}

static void
push_release(struct push *p)
{
	prove_free(p->prove);
	pack_free(p->pack);
	bed_release(&p->b);
	buf_release(&p->body);
}

static void
prove_needs_no_question_where_the_pack_shows_it(void **state UNUSED)
{
	struct push p;

	push_init(&p);
	push_begin(&p);
	want(&p, PROVE_SHOWN);
	assert_int_equal(p.body.n, 0);
	push_release(&p);
}

static void
prove_says_what_has_to_be_read(void **state UNUSED)
{
	struct prove_command create = { zero, old }, update = { old, tree_id };
	struct prove_command delete = { old, zero };
	struct prove_rule rule = { 0 };

	assert_false(prove_wants_pack(&rule, &create, 1));
	assert_false(prove_wants_pack(&rule, &delete, 1));
	assert_true(prove_wants_pack(&rule, &update, 1));
	assert_false(prove_wants_whole(&rule));
	rule.force = true;
	assert_false(prove_wants_pack(&rule, &update, 1));
	rule.content.max_file = 1;
	assert_true(prove_wants_pack(&rule, &create, 1));
	assert_false(prove_wants_whole(&rule));
	rule.content.is_signed = true;
	assert_true(prove_wants_whole(&rule));
}

/* A fast-forward to what the upstream has: asked once, and never twice. */
static void
prove_asks_the_upstream_once(void **state UNUSED)
{
	struct parse_fail fail;
	struct push p;
	struct bed none;

	push_init(&p);
	p.command.old_id = tree_id;
	push_begin(&p);
	want(&p, PROVE_ASK_OFFER);
	prove_offer(p.prove, &all);
	want(&p, PROVE_ASK_OBJECTS);
	assert_non_null(memmem(p.body.p, p.body.n, "want 01", 7));
	assert_non_null(memmem(p.body.p, p.body.n, "have 07", 7));
	struct pack *answer = prove_answer(p.prove);
	assert_non_null(answer);
	size_t used, pass;
	bed_init(&none, OID_SHA1);
	assert_int_equal(pack_take(answer, bed_end(&none), &used, &pass, &fail),
	    PARSE_DONE);
	want_refused(&p, REASON_GIT_UPDATE, "not shown to be a fast-forward",
	    0);
	bed_release(&none);
	push_release(&p);
}

static void
prove_refuses_what_is_not_answered(void **state UNUSED)
{
	struct question_caps caps = all;
	struct push p;

	for (int i = 0; i < 3; i++) {
		push_init(&p);
		p.command.old_id = tree_id;
		push_begin(&p);
		want(&p, PROVE_ASK_OFFER);
		caps = all;
		if (i == 0)
			prove_unanswered(p.prove);
		else if (i == 1)
			caps.id_size = OID_SHA256;
		else
			caps.has_fetch = false;
		prove_offer(p.prove, &caps);
		want_refused(&p, REASON_GIT_UPDATE,
		    "not shown to be a fast-forward", 0);
		push_release(&p);
	}
}

static void
prove_refuses_another_history(void **state UNUSED)
{
	struct parse_fail fail;
	struct push p;

	push_init(&p);
	bed_release(&p.b);
	pack_free(p.pack);
	bed_init(&p.b, OID_SHA1);
	p.command.new_id =
	    bed_put(&p.b, OBJECT_COMMIT, bed_commit(&tree_id, NULL, 0, "\nr"));
	p.pack = bed_read(bed_end(&p.b), OID_SHA1, true, PARSE_DONE, &fail);
	push_begin(&p);
	want_refused(&p, REASON_GIT_UPDATE, "not a fast-forward", 0);
	prove_free(p.prove);
	p.rule.force = true;
	push_begin(&p);
	want(&p, PROVE_SHOWN);
	push_release(&p);
}

static void
prove_refuses_a_stray_commit(void **state UNUSED)
{
	struct push p;

	push_init(&p);
	p.command.new_id = p.middle;
	push_begin(&p);
	want_refused(&p, REASON_GIT_PACK,
	    "a commit in the pack belongs to no ref of the push", SIZE_MAX);
	push_release(&p);
}

static void
prove_refuses_what_the_content_says(void **state UNUSED)
{
	struct push p;

	push_init(&p);
	p.rule.content.is_signed = true;
	push_begin(&p);
	want_refused(&p, REASON_GIT_PACK, "commit without signature", SIZE_MAX);
	push_release(&p);
}

/* A new branch: HEAD, whether it has the commit built on, then trees. */
static void
prove_compares_a_new_branch_with_what_it_grew_from(void **state UNUSED)
{
	struct push p;

	push_init(&p);
	p.command.old_id = zero;
	push_keeps(&p, "/.github/**");
	push_begin(&p);
	want(&p, PROVE_ASK_OFFER);
	prove_offer(p.prove, &all);
	want(&p, PROVE_ASK_HEAD);
	/* HEAD is what the push builds on: only trees are lacking. */
	prove_head(p.prove, &old);
	want(&p, PROVE_ASK_OBJECTS);
	assert_non_null(memmem(p.body.p, p.body.n, "want 01", 7));
	assert_non_null(memmem(p.body.p, p.body.n, "deepen 1\n", 9));
	assert_non_null(memmem(p.body.p, p.body.n, "filter tree:1\n", 14));
	prove_unanswered(p.prove);
	want_refused(&p, REASON_GIT_PACK,
	    "what `keep` names is not shown to be as it was", 0);
	push_release(&p);
}

/* GT-68: that the upstream has a commit makes it no base. */
static void
prove_takes_no_base_outside_of_heads_history(void **state UNUSED)
{
	struct parse_fail fail;
	struct push p;
	struct bed b;
	size_t used, pass;

	push_init(&p);
	p.command.old_id = zero;
	push_keeps(&p, "/.github/**");
	push_begin(&p);
	want(&p, PROVE_ASK_OFFER);
	prove_offer(p.prove, &all);
	want(&p, PROVE_ASK_HEAD);
	bed_init(&b, OID_SHA1);
	struct oid head =
	    bed_put(&b, OBJECT_COMMIT, bed_commit(&tree_id, NULL, 0, "\nroot"));
	prove_head(p.prove, &head);
	want(&p, PROVE_ASK_OBJECTS);
	assert_non_null(memmem(p.body.p, p.body.n, "have 01", 7));
	struct pack *answer = prove_answer(p.prove);
	assert_non_null(answer);
	assert_int_equal(pack_take(answer, bed_end(&b), &used, &pass, &fail),
	    PARSE_DONE);
	/* Where did it leave that history?  Nowhere, the upstream says. */
	want(&p, PROVE_ASK_OBJECTS);
	assert_non_null(memmem(p.body.p, p.body.n, "want 01", 7));
	assert_null(memmem(p.body.p, p.body.n, "deepen", 6));
	bed_release(&b);
	bed_init(&b, OID_SHA1);
	bed_put(&b, OBJECT_COMMIT, bed_commit(&tree_id, NULL, 0, "\nother"));
	answer = prove_answer(p.prove);
	assert_non_null(answer);
	assert_int_equal(pack_take(answer, bed_end(&b), &used, &pass, &fail),
	    PARSE_DONE);
	want_refused(&p, REASON_GIT_PACK,
	    "what `keep` names is not shown to be as it was", 0);
	bed_release(&b);
	push_release(&p);
}

/* In a new repository nothing is kept, and none of it may come. */
static void
prove_compares_with_nothing_where_there_is_no_head(void **state UNUSED)
{
	static const char *const names[] = { "ci", "other" };

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		struct parse_fail fail;
		struct push p;
		struct buf tree;
		push_init(&p);
		bed_release(&p.b);
		pack_free(p.pack);
		buf_init(&tree, 256);
		buf_putf(&tree, "100644 %s", names[i]);
		buf_put_byte(&tree, 0);
		buf_put(&tree, slice_of(old.b, OID_SHA1));
		bed_init(&p.b, OID_SHA1);
		struct oid t = bed_put(&p.b, OBJECT_TREE, buf_slice(&tree));
		p.command = (struct prove_command){ zero,
			bed_put(&p.b, OBJECT_COMMIT,
			    bed_commit(&t, NULL, 0, "\nroot")) };
		p.pack =
		    bed_read(bed_end(&p.b), OID_SHA1, true, PARSE_DONE, &fail);
		push_keeps(&p, "/ci");
		push_begin(&p);
		want(&p, PROVE_ASK_OFFER);
		prove_offer(p.prove, &all);
		want(&p, PROVE_ASK_HEAD);
		prove_head(p.prove, &(struct oid){ 0 });
		want(&p, i == 0 ? PROVE_REFUSED : PROVE_SHOWN);
		buf_release(&tree);
		push_release(&p);
	}
}

/* Into the answer to a question: a tree of one MiB, unlike the others. */
static struct pack *
answer_with_tree(struct push *p, uint8_t unlike, struct oid *id)
{
	static uint8_t tree[1 << 20] = "100644 ";
	struct pack *answer = prove_answer(p->prove);
	struct parse_fail fail;
	enum parse got;
	struct bed b;

	assert_non_null(answer);
	for (size_t i = 7; i < sizeof(tree); i++)
		tree[i] = (uint8_t)(i * i * i >> 5 | 1);
	tree[7] = unlike;
	bed_init(&b, OID_SHA1);
	*id = bed_put(&b, OBJECT_TREE, slice_of(tree, sizeof(tree)));
	struct slice in = bed_end(&b);
	do {
		size_t used, pass;
		got = pack_take(answer, in, &used, &pass, &fail);
		in = slice_from(in, used);
	} while (got == PARSE_MORE && in.n != 0);
	assert_int_equal(got, PARSE_DONE);
	bed_release(&b);
	return answer;
}

/* Eight answers keep no more than one does. */
static void
prove_has_one_room_for_all_answers(void **state UNUSED)
{
	struct pack_kept kept = { 0 };
	size_t n = 0;
	struct push p;

	push_init(&p);
	push_begin(&p);
	for (uint8_t i = 1; i <= LIMIT_PROOF_QUESTIONS; i++) {
		struct oid id;
		struct pack *answer = answer_with_tree(&p, i, &id);
		n += pack_find(answer, &id) != NULL;
		kept = pack_kept(answer);
		assert_true(kept.trees <= LIMIT_PACK_TREES_SIZE);
	}
	assert_int_equal(n, LIMIT_PACK_TREES_SIZE / (1 << 20) - 1);
	assert_true(kept.trees > n << 20);
	assert_int_equal(kept.commits, 0);
	push_release(&p);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    prove_needs_no_question_where_the_pack_shows_it),
		cmocka_unit_test(prove_says_what_has_to_be_read),
		cmocka_unit_test(prove_has_one_room_for_all_answers),
		cmocka_unit_test(prove_asks_the_upstream_once),
		cmocka_unit_test(prove_refuses_what_is_not_answered),
		cmocka_unit_test(prove_refuses_another_history),
		cmocka_unit_test(prove_refuses_a_stray_commit),
		cmocka_unit_test(prove_refuses_what_the_content_says),
		cmocka_unit_test(
		    prove_compares_a_new_branch_with_what_it_grew_from),
		cmocka_unit_test(prove_takes_no_base_outside_of_heads_history),
		cmocka_unit_test(
		    prove_compares_with_nothing_where_there_is_no_head),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
