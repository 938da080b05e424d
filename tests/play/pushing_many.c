/* SPDX-License-Identifier: Apache-2.0 */
/* Pushes at once: what a sandbox has of them, and whom it keeps out. */
#include "push_bed.h"

static void
pushes_at_once_have_a_ceiling(void **state)
{
	struct world w;
	struct bed b;

	(void)state;
	begin(&w, &b);
	w.sandbox->n_pushes = LIMIT_PUSHES - 1;
	connect_to_git(&w);
	say_head(&w, "free", 200);
	assert_int_equal(w.sandbox->n_pushes, LIMIT_PUSHES);
	struct peer *first = w.client;
	connect_to_git(&w);
	say_head(&w, "free", 200);
	assert_true(has(&w.client->got, SLICE("HTTP/1.1 429 ")));
	assert_true(has(&w.records, SLICE("deny limit.conns 429")));
	first->breaks = true;
	world_turn(&w);
	assert_int_equal(w.sandbox->n_pushes, LIMIT_PUSHES - 1);
	w.sandbox->n_pushes = 0;
	finish(&w, &b);
}

/* Of a list that is not whole nothing can be told but an error. */
static void
lists_of_pushes_have_a_ceiling_together(void **state)
{
	const struct slice body = BYTES(LIST PACK);
	struct world w;
	struct bed b;

	(void)state;
	begin(&w, &b);
	w.sandbox->push_lists = LIMIT_PUSH_LISTS_SIZE - (sizeof(LIST) - 1) + 1;
	connect_to_git(&w);
	say_head(&w, "free", body.n);
	say(&w, w.client, body);
	assert_true(has(&w.client->got, SLICE("HTTP/1.1 429 ")));
	assert_true(has(&w.records, SLICE("deny limit.conns 429")));
	assert_int_equal(w.n_upstreams, 0);
	w.sandbox->push_lists--;
	connect_to_git(&w);
	say_head(&w, "free", body.n);
	say(&w, w.client, body);
	assert_int_equal(w.n_upstreams, 1);
	assert_int_equal(w.sandbox->push_lists, LIMIT_PUSH_LISTS_SIZE);
	w.client->breaks = true;
	world_turn(&w);
	w.sandbox->push_lists -= LIMIT_PUSH_LISTS_SIZE - (sizeof(LIST) - 1);
	assert_int_equal(w.sandbox->push_lists, 0);
	finish(&w, &b);
}

static void
packs_that_are_read_at_once_have_a_lower_one(void **state)
{
	const struct slice body = BYTES(LIST PACK);
	struct world w;
	struct bed b;

	(void)state;
	begin(&w, &b);
	w.sandbox->n_proofs = LIMIT_PROOFS;
	connect_to_git(&w);
	say_head(&w, "read", body.n + 1);
	say(&w, w.client, body);
	assert_int_equal(w.n_upstreams, 0);
	/* One that is refused takes no place until its body has come. */
	assert_true(has(&w.client->got, SLICE("HTTP/1.1 200 ")));
	assert_int_equal(w.sandbox->n_proofs, LIMIT_PROOFS);
	say(&w, w.client, SLICE("x"));
	assert_true(
	    has(&w.client->got, SLICE("nothing was pushed [limit.conns ")));
	say_head(&w, "free", body.n);
	say(&w, w.client, body);
	assert_int_equal(w.n_upstreams, 1);
	w.sandbox->n_proofs = 0;
	finish(&w, &b);
}

/* A push to `repository` whose pack has come up to `n` bytes of it. */
static void
begin_pack(struct world *w, const char *repository, size_t n)
{
	const struct slice body = BYTES(LIST PACK);

	connect_to_git(w);
	say_head(w, repository, body.n);
	say(w, w->client, slice_first(body, sizeof(LIST) - 1 + n));
}

/* Nobody is kept out by packs of which nothing comes. */
static void
a_pack_that_stands_still_gives_way(void **state)
{
	const struct slice body = BYTES(LIST PACK);
	struct peer *halted;
	struct world w;
	struct bed b;

	(void)state;
	for (int i = 0; i < 2; i++) {
		const char *repository = i == 0 ? "read" : "held";
		begin(&w, &b);
		begin_pack(&w, repository, 8);
		halted = w.client;
		/* each takes a millisecond, too */
		world_pass(&w, LIMIT_PROOF_SILENT_MS - LIMIT_PROOFS - 1);
		for (int k = 1; k < LIMIT_PROOFS; k++)
			begin_pack(&w, repository, 8);
		/* not long enough, and now it is */
		begin_pack(&w, repository, 8);
		assert_true(has(&w.client->got, SLICE("HTTP/1.1 200 ")));
		begin_pack(&w, repository, 8);
		assert_int_equal(w.client->got.n, 0);
		assert_int_equal(w.sandbox->n_proofs, LIMIT_PROOFS);
		say(&w, halted, slice_from(body, sizeof(LIST) - 1 + 8));
		assert_true(has(&halted->got,
		    SLICE("nothing was pushed [limit.time ")));
		assert_true(has(&w.records, SLICE("deny limit.time")));
		say(&w, w.client, slice_from(body, sizeof(LIST) - 1 + 8));
		assert_true(has(&w.latest->got, BYTES(LIST PACK)));
		assert_int_equal(w.sandbox->n_proofs, LIMIT_PROOFS - 1);
		finish(&w, &b);
	}
}

/* How long the server takes is no matter of the place. */
static void
a_pack_that_is_shown_has_no_place(void **state)
{
	const struct slice body = BYTES(LIST PACK);
	struct world w;
	struct bed b;

	(void)state;
	for (int i = 0; i < 2; i++) {
		begin(&w, &b);
		begin_pack(&w, i == 0 ? "read" : "held", 8);
		assert_int_equal(w.sandbox->n_proofs, 1);
		say(&w, w.client, slice_from(body, sizeof(LIST) - 1 + 8));
		assert_int_equal(w.n_upstreams, 1);
		assert_true(has(&w.upstream[0].got, BYTES(LIST PACK)));
		assert_int_equal(w.sandbox->n_proofs, 0);
		say(&w, w.latest, push_report);
		assert_true(
		    has(&w.client->got, SLICE("ok refs/heads/x\n0000")));
		finish(&w, &b);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pushes_at_once_have_a_ceiling),
		cmocka_unit_test(lists_of_pushes_have_a_ceiling_together),
		cmocka_unit_test(packs_that_are_read_at_once_have_a_lower_one),
		cmocka_unit_test(a_pack_that_stands_still_gives_way),
		cmocka_unit_test(a_pack_that_is_shown_has_no_place),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
