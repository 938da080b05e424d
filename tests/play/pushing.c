/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pushes: their list cut anywhere, too many at once, each allocation failing.
 * Nothing of a push goes up before its whole list was allowed, and nothing of
 * one that is refused.
 */
#include "policy_bed.h"
#include "row.h"
#include "world.h"

#define Z40 "0000000000000000000000000000000000000000"
#define O40 "1111111111111111111111111111111111111111"
#define TYPE "Content-Type: application/x-git-receive-pack-request\r\n"
#define RESULT "Content-Type: application/x-git-receive-pack-result\r\n"
#define ALLOCATIONS_MIN 20
#define ALLOCATIONS_MAX 2000
#define SEEDS 2000

static const char policy[] = "version: 1\n"
			     "policies:\n"
			     "  p:\n"
			     "    rules:\n"
			     "      - allow: git+https://git.test/a/free\n"
			     "        forge: gitlab\n"
			     "        push: {branches: [x], force: true}\n"
			     "      - allow: git+https://git.test/a/read\n"
			     "        forge: gitlab\n"
			     "        push: {branches: [x], max_file: 1KiB}\n"
			     "      - allow: git+https://git.test/a/held\n"
			     "        forge: none\n"
			     "        push: {branches: [x], max_file: 1KiB}\n";

/* A list that is allowed, one that is not, and a pack without an object. */
#define LIST "007a" Z40 " " O40 " refs/heads/x\0 report-status-v2 quiet0000"
#define DENIED             \
	"0084" Z40 " " O40 \
	" refs/heads/nonono\0 report-status side-band-64k0000"
#define PACK                                                                   \
	"PACK\0\0\0\2\0\0\0\0\x02\x9d\x08\x82\x3b\xd8\xa8\xea\xb5\x10\xad\x6a" \
	"\xc7\x5c\x82\x3c\xfd\x3e\xd3\x1e"
#define BYTES(text) slice_of(text, sizeof(text) - 1)

static const char report[] =
    "HTTP/1.1 200 OK\r\n" RESULT "Content-Length: 38\r\n\r\n"
    "000eunpack ok\n0014ok refs/heads/x\n0000";

/* What no upstream may see. */
static const char never[] = "nonono";

static bool
has(const struct buf *b, struct slice text)
{
	return b->n != 0 && memmem(b->p, b->n, text.p, text.n) != NULL;
}

static void
begin(struct world *w, struct bed *b)
{
	bed_load(b, NULL, policy);
	assert_non_null(b->program);
	world_init(w, b->program);
	b->program = NULL; /* the sandbox's now */
}

static void
finish(struct world *w, struct bed *b)
{
	for (size_t i = 0; i < w->n_upstreams; i++)
		assert_false(has(&w->upstream[i].got, BYTES(never)));
	assert_int_equal(w->n_wrong, 0);
	for (size_t i = 0; i < w->n_clients; i++)
		w->clients[i].ends = true;
	size_t clients = w->n_clients;
	bool fails = w->fails || w->scribe_fails;
	world_release(w);
	assert_true(fails || world_n_accounted(w) == clients);
	bed_release(b);
}

static void
connect_to_git(struct world *w)
{
	struct ip dst;

	assert_true(program_address(w->sandbox->generation->program,
	    SLICE("git.test"), &dst));
	world_connect(w, &dst, 443);
	world_put_hello(&w->client->sends, SLICE("git.test"),
	    ALPN_OFFER_HTTP11);
	world_turn(w);
}

static void
say(struct world *w, struct peer *p, struct slice text)
{
	buf_put(&p->sends, text);
	world_turn(w);
	/* A push that rests goes on at the next turn. */
	world_pass(w, 1);
}

static void
say_head(struct world *w, const char *repository, size_t length)
{
	buf_putf(&w->client->sends,
	    "POST /a/%s/git-receive-pack HTTP/1.1\r\nHost: git.test\r\n" TYPE
	    "Content-Length: %zu\r\n\r\n",
	    repository, length);
	world_turn(w);
}

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
	say(&w, w.latest, BYTES(report));
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

/* --- too many ------------------------------------------------------------ */

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
	assert_false(has(&w->latest->got, BYTES(never)));
	buf_clear(&w->latest->got);
	say(w, w->latest, BYTES(report));
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
		cmocka_unit_test(pushes_at_once_have_a_ceiling),
		cmocka_unit_test(lists_of_pushes_have_a_ceiling_together),
		cmocka_unit_test(packs_that_are_read_at_once_have_a_lower_one),
		cmocka_unit_test(a_pack_that_cannot_be_held_is_refused),
		cmocka_unit_test(a_refusal_has_a_line_for_each_of_many_refs),
		cmocka_unit_test(pushes_end_whatever_happens),
		cmocka_unit_test(pushes_survive_each_allocation_that_fails),
	};

	return cmocka_run_group_tests_name("pushing", tests, NULL, NULL);
}
