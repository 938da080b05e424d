/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pushes: their list cut anywhere, each allocation failing.  Nothing of a push
 * goes up before its whole list was allowed, and nothing of one that is
 * refused.
 */
#include "push_bed.h"

#define ALLOCATIONS_MIN 20
#define ALLOCATIONS_MAX 2000
#define SEEDS 2000

/* --- cut anywhere -------------------------------------------------------- */

/* `first`: bytes before anything may go up. */
static void
push_in_two(const char *repository, size_t first, size_t at)
{
	const struct slice body = BYTES(LIST PACK);
	struct world w;
	struct bed b;

	begin(&w, &b);
	connect_to_git(&w);
	say_head(&w, repository, body.n);
	say(&w, w.client, slice_first(body, at));
	assert_int_equal(w.n_upstreams, at >= first ? 1 : 0);
	/* Its last bytes wait until all of it was there. */
	assert_false(w.n_upstreams == 1 &&
	    has(&w.upstream[0].got, BYTES("\xfd\x3e\xd3\x1e")));
	say(&w, w.client, slice_from(body, at));
	assert_int_equal(w.n_upstreams, 1);
	assert_true(has(&w.upstream[0].got, BYTES(LIST PACK)));
	say(&w, w.latest, push_report);
	assert_true(has(&w.client->got, SLICE("ok refs/heads/x\n0000")));
	finish(&w, &b);
}

/* GT-15 */
static void
a_push_may_come_in_any_two_pieces(void **state)
{
	const size_t n_list = sizeof(LIST) - 1, n = sizeof(LIST PACK) - 1;

	(void)state;
	for (size_t at = 0; at < n; at++) {
		push_in_two("free", n_list, at);
		push_in_two("read", n_list, at);
		push_in_two("held", n, at);
	}
}

/* Its file is gone when the record is written that says why. */
static void
a_pack_that_cannot_be_held_is_refused(void **state)
{
	const struct slice body = BYTES(LIST PACK);
	struct world w;
	struct bed b;

	(void)state;
	begin(&w, &b);
	w.spools_fail = true;
	connect_to_git(&w);
	say_head(&w, "held", body.n);
	say(&w, w.client, body);
	assert_int_equal(w.n_upstreams, 0);
	assert_true(
	    has(&w.client->got, SLICE("nothing was pushed [internal ")));
	assert_true(has(&w.records, SLICE("request.end deny internal 200")));
	finish(&w, &b);
}

/* The origin has got a whole push: it says that it took it. */
static void
answer(struct world *w)
{
	if (w->n_upstreams == 0 || !has(&w->latest->got, BYTES(PACK)))
		return;
	assert_false(has(&w->latest->got, BYTES(NEVER)));
	buf_clear(&w->latest->got);
	say(w, w->latest, push_report);
}

static void
push(struct world *w, const char *repository, struct slice body)
{
	say_head(w, repository, body.n);
	say(w, w->client, body);
	answer(w);
}

/* GT-33: each ref has its line, however many and long. */
static void
a_refusal_has_a_line_for_each_of_many_refs(void **state)
{
	struct buf list;
	struct world w;
	struct bed b;
	size_t n = 0;

	(void)state;
	buf_init(&list, LIMIT_PUSH_LIST_SIZE);
	buf_putf(&list, "0124" Z40 " " O40 " refs/heads/%0180d", 0);
	buf_put(&list, BYTES("\0 report-status"));
	for (int i = 1; i < LIMIT_PUSH_COMMANDS_MOST; i++)
		buf_putf(&list, "0115" Z40 " " O40 " refs/heads/%0180d", i);
	buf_put_str(&list, "0000");
	begin(&w, &b);
	connect_to_git(&w);
	say_head(&w, "free", list.n + sizeof(PACK) - 1);
	say(&w, w.client, buf_slice(&list));
	say(&w, w.client, BYTES(PACK));
	assert_int_equal(w.n_upstreams, 0);
	struct slice got = buf_slice(&w.client->got);
	const uint8_t *at;
	while ((at = memmem(got.p, got.n, "ng refs/heads/", 14)) != NULL) {
		n++;
		got = slice_from(got, (size_t)(at - got.p) + 14);
	}
	assert_int_equal(n, LIMIT_PUSH_COMMANDS_MOST);
	buf_release(&list);
	finish(&w, &b);
}

/* --- anything, in any order ---------------------------------------------- */

#define BODY(text)                                        \
	{                                                 \
		(const uint8_t *)(text), sizeof(text) - 1 \
	}
static const struct slice bodies[] = {
	BODY(LIST PACK),
	BODY(DENIED PACK),
	BODY("0000"),
	BODY(LIST PACK "x"),
	BODY(LIST),
	BODY("no list"),
};

static uint32_t dice;

static uint32_t
roll(uint32_t n)
{
	/* xorshift, of Marsaglia */
	dice ^= dice << 13;
	dice ^= dice >> 17;
	dice ^= dice << 5;
	return dice % n;
}

static void
go_wrong(struct world *w)
{
	switch (roll(6)) {
	case 0:
		w->client->breaks = true;
		break;
	case 1:
		w->client->ends = true;
		break;
	case 2:
		w->dials = REASON_UP_CONNECT;
		break;
	case 3:
		w->scribe_fails = true;
		break;
	case 4:
		if (w->n_upstreams != 0)
			w->latest->breaks = true;
		break;
	default:
		if (w->n_upstreams != 0)
			w->latest->ends = true;
	}
	world_turn(w);
}

/* Roles are asked, and answer now or later. */
static void
wait_or_go(struct world *w)
{
	w->dial_waits = roll(2) == 0;
	w->scribe_waits = roll(2) == 0;
	world_turn(w);
}

static void
push_at_random(uint32_t seed)
{
	static const char *const repositories[] = { "free", "read", "held",
		"other" };
	const char *repository;
	struct slice body;
	struct world w;
	struct bed b;
	size_t at = 0;

	dice = seed * 2654435761U + 1;
	repository = repositories[roll(COUNT_OF(repositories))];
	body = bodies[roll(COUNT_OF(bodies))];
	begin(&w, &b);
	connect_to_git(&w);
	wait_or_go(&w);
	say_head(&w, repository, body.n);
	while (at < body.n) {
		struct slice piece =
		    slice_first(slice_from(body, at), 1 + roll(60));
		say(&w, w.client, piece);
		at += piece.n;
		if (roll(8) == 0)
			wait_or_go(&w);
		if (roll(12) == 0)
			go_wrong(&w);
	}
	w.dial_waits = w.scribe_waits = false;
	world_turn(&w);
	world_pass(&w, 1);
	bool good = body.p == bodies[0].p;
	if (strcmp(repository, "free") != 0 && w.n_upstreams != 0 && !good)
		assert_false(has(&w.latest->got, BYTES("\xfd\x3e\xd3\x1e")));
	answer(&w);
	if (!w.scribe_fails && has(&w.client->got, SLICE("ok refs/heads/x")))
		assert_true(has(&w.records, SLICE("push.end allow")));
	finish(&w, &b);
}

static void
pushes_end_whatever_happens(void **state)
{
	(void)state;
	for (uint32_t seed = 1; seed <= SEEDS; seed++)
		push_at_random(seed);
}

/* --- without memory ------------------------------------------------------ */

static unsigned
play(unsigned first, bool all)
{
	struct world w;
	struct bed b;

	begin(&w, &b);
	w.fails = true;
	fails_from(first, all);
	connect_to_git(&w);
	push(&w, "free", BYTES(LIST PACK));
	connect_to_git(&w);
	push(&w, "read", BYTES(LIST PACK));
	connect_to_git(&w);
	push(&w, "held", BYTES(LIST PACK));
	connect_to_git(&w);
	push(&w, "read", BYTES(DENIED PACK));
	connect_to_git(&w);
	push(&w, "free", BYTES("0000"));
	unsigned asked = fails_asked();
	fails_from(0, false);
	connect_to_git(&w);
	push(&w, "read", BYTES(LIST PACK));
	if (!has(&w.client->got, SLICE("ok refs/heads/x\n0000")))
		fail_msg("after %u: %s", first, buf_text(&w.client->got));
	finish(&w, &b);
	return asked;
}

static void
pushes_survive_each_allocation_that_fails(void **state)
{
	unsigned all = play(0, false);

	(void)state;
	assert_in_range(all, ALLOCATIONS_MIN, ALLOCATIONS_MAX);
	for (unsigned i = 1; i <= all; i++) {
		play(i, false);
		play(i, true);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_push_may_come_in_any_two_pieces),
		cmocka_unit_test(a_pack_that_cannot_be_held_is_refused),
		cmocka_unit_test(a_refusal_has_a_line_for_each_of_many_refs),
		cmocka_unit_test(pushes_end_whatever_happens),
		cmocka_unit_test(pushes_survive_each_allocation_that_fails),
	};

	return cmocka_run_group_tests_name("pushing", tests, NULL, NULL);
}
