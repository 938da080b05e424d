/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/socket.h>

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/limits.h"
#include "base/rd.h"
#include "base/wr.h"
#include "certs/leaf.h"
#include "net/channel.h"
#include "priv/ops.h"
#include "priv/who.h"
#include "tests/unit/tls_bed.h"

/* A keeper that answers as the test says. */
static struct {
	struct bed *bed;
	struct channel *end;
	unsigned n_asked;
	struct who who; /* of the last; slices into what is gone */
	char flow[16], digest[16];
	enum {
		ANSWER,
		REFUSE,
		GARBAGE,
		SILENT
	} mood;
} keeper;

static void
on_ask(struct channel *c, struct msg *m, void *arg)
{
	uint8_t body[4096];
	struct wr w = wr_of(body, sizeof(body));
	enum err err;
	struct buf der;

	(void)arg;
	if (m == NULL)
		return;
	assert_int_equal(m->op, OP_LEAF);
	keeper.n_asked++;
	struct rd r = rd_of(m->body);
	assert_true(who_read(&r, &keeper.who));
	snprintf(keeper.flow, sizeof(keeper.flow), "%.*s",
	    SLICE_ARG(keeper.who.flow));
	snprintf(keeper.digest, sizeof(keeper.digest), "%.*s",
	    SLICE_ARG(keeper.who.digest));
	bool literal = rd_u8(&r) != 0;
	struct slice name = rd_slice8(&r);
	struct slice spki = rd_slice16(&r);
	assert_true(rd_is_done(&r));
	if (keeper.mood == SILENT)
		return;
	buf_init(&der, 4096);
	if (keeper.mood == ANSWER)
		assert_int_equal(leaf_mint(keeper.bed->ca, name, literal, spki,
				     &der, &err),
		    0);
	if (keeper.mood == GARBAGE)
		buf_put_str(&der, "garbage");
	wr_u16(&w,
	    keeper.mood == REFUSE ? REASON_POLICY_CHANGED : REASON_ALLOW);
	wr_slice16(&w, buf_slice(&der));
	const struct msg answer = { .op = OP_LEAFED,
		.id = m->id,
		.body = wr_slice(&w) };
	assert_int_equal(channel_send(c, &answer, &err), 0);
	buf_release(&der);
}

static void
ignore(struct channel *c, struct msg *m, void *arg)
{
	(void)c;
	(void)m;
	(void)arg;
}

/* A cache with a keeper on the other end of its channel. */
static struct leaf_cache *
make(struct bed *b, struct channel **end)
{
	enum err err;
	int fd[2];

	memset(&keeper, 0, sizeof(keeper));
	keeper.bed = b;
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0,
			     fd),
	    0);
	keeper.end = channel_new(b->loop, fd[0], on_ask, NULL, &err);
	*end = channel_new(b->loop, fd[1], ignore, NULL, &err);
	struct leaf_cache *c = leaf_cache_new(b->server, &err);
	assert_non_null(c);
	leaf_cache_set_keeper(c, *end);
	return c;
}

static void
unmake(struct bed *b, struct leaf_cache *c, struct channel *end)
{
	leaf_cache_free(c);
	channel_free(end);
	channel_free(keeper.end);
	bed_turn(b);
}

#define WHO (&(struct who){ 7, 3, SLICE("sha256:00"), SLICE("s7-1") })

static unsigned n_done;
static struct leaf *got;
static enum reason why;

static void
on_done(struct leaf *leaf, enum reason reason, void *arg)
{
	(void)arg;
	why = reason;
	assert_int_equal(leaf != NULL, reason == REASON_ALLOW);
	n_done++;
	leaf_unref(got);
	got = leaf == NULL ? NULL : leaf_ref(leaf);
}

static void
reset_done(void)
{
	n_done = 0;
	leaf_unref(got);
	got = NULL;
}

static struct leaf_name
named(const char *name)
{
	return (struct leaf_name){ .name = slice_of_str(name) };
}

static void
leaf_is_asked_for_once_and_kept(void **state)
{
	struct bed *b = *state;
	struct channel *end;
	struct leaf_cache *c = make(b, &end);
	struct leaf_name name = named("ok.test");
	enum err err;

	reset_done();
	assert_null(leaf_find(c, &name));
	for (int i = 0; i < 3; i++)
		assert_non_null(leaf_ask(c, &name, WHO, on_done, NULL, &err));
	assert_int_equal(n_done, 0); /* from the loop only */
	bed_turn(b);
	assert_int_equal(n_done, 3);
	assert_int_equal(keeper.n_asked, 1);
	assert_int_equal(keeper.who.sandbox, 7);
	assert_int_equal(keeper.who.generation, 3);
	assert_string_equal(keeper.digest, "sha256:00");
	assert_string_equal(keeper.flow, "s7-1");
	struct leaf *leaf = leaf_find(c, &name);
	assert_ptr_equal(leaf, got);
	leaf_unref(leaf);
	struct leaf_name literal = { .name = SLICE("192.0.2.1"),
		.literal = true };
	assert_null(leaf_find(c, &literal));
	assert_non_null(leaf_ask(c, &literal, WHO, on_done, NULL, &err));
	bed_turn(b);
	leaf = leaf_find(c, &literal);
	assert_non_null(leaf);
	leaf_unref(leaf);
	literal.literal = false;
	assert_null(leaf_find(c, &literal));
	reset_done();
	unmake(b, c, end);
}

static void
leaf_that_is_cancelled_tells_nobody(void **state)
{
	struct bed *b = *state;
	struct channel *end;
	struct leaf_cache *c = make(b, &end);
	struct leaf_name name = named("ok.test");
	enum err err;

	reset_done();
	struct leaf_wait *one = leaf_ask(c, &name, WHO, on_done, NULL, &err);
	struct leaf_wait *two = leaf_ask(c, &name, WHO, on_done, NULL, &err);
	assert_non_null(two);
	leaf_cancel(one);
	leaf_cancel(NULL);
	bed_turn(b);
	assert_int_equal(n_done, 1);
	reset_done();
	unmake(b, c, end);
}

/* A policy that changes meanwhile: what the old one asked is not the new one's
 * to wait for. */
static void
leaf_is_asked_for_by_each_generation(void **state)
{
	struct bed *b = *state;
	struct channel *end;
	struct leaf_cache *c = make(b, &end);
	struct leaf_name name = named("ok.test");
	struct who next = *WHO;
	enum err err;

	reset_done();
	next.generation++;
	assert_non_null(leaf_ask(c, &name, WHO, on_done, NULL, &err));
	assert_non_null(leaf_ask(c, &name, &next, on_done, NULL, &err));
	bed_turn(b);
	assert_int_equal(n_done, 2);
	assert_int_equal(keeper.n_asked, 2);
	reset_done();
	unmake(b, c, end);
}

static void
leaf_that_cannot_be_had_is_null(void **state)
{
	struct bed *b = *state;
	struct channel *end;
	struct leaf_cache *c = make(b, &end);
	struct leaf_name name = named("ok.test");
	enum err err;

	reset_done();
	keeper.mood = REFUSE;
	assert_non_null(leaf_ask(c, &name, WHO, on_done, NULL, &err));
	bed_turn(b);
	assert_int_equal(n_done, 1);
	assert_null(got);
	assert_int_equal(why, REASON_POLICY_CHANGED);
	keeper.mood = GARBAGE;
	assert_non_null(leaf_ask(c, &name, WHO, on_done, NULL, &err));
	bed_turn(b);
	assert_int_equal(n_done, 2);
	assert_null(got);
	assert_int_equal(why, REASON_INTERNAL);
	assert_null(leaf_find(c, &name));

	/* A keeper that dies, and one that is away. */
	keeper.mood = SILENT;
	assert_non_null(leaf_ask(c, &name, WHO, on_done, NULL, &err));
	bed_turn(b);
	assert_int_equal(n_done, 2);
	channel_free(keeper.end);
	keeper.end = NULL;
	bed_turn(b);
	assert_int_equal(n_done, 3);
	assert_int_equal(why, REASON_SHUTDOWN);
	assert_null(leaf_ask(c, &name, WHO, on_done, NULL, &err));
	assert_int_equal(err, ERR_CLOSED);
	leaf_cache_set_keeper(c, NULL);
	assert_null(leaf_ask(c, &name, WHO, on_done, NULL, &err));
	assert_int_equal(err, ERR_CLOSED);
	unmake(b, c, end);
}

static void
leaf_waits_are_told_when_the_keeper_is_replaced(void **state)
{
	struct bed *b = *state;
	struct channel *end;
	struct leaf_cache *c = make(b, &end);
	struct leaf_name one = named("one.test"), two = named("two.test");
	enum err err;

	reset_done();
	keeper.mood = SILENT;
	assert_non_null(leaf_ask(c, &one, WHO, on_done, NULL, &err));
	assert_non_null(leaf_ask(c, &two, WHO, on_done, NULL, &err));
	assert_non_null(leaf_ask(c, &two, WHO, on_done, NULL, &err));
	leaf_cache_set_keeper(c, NULL);
	assert_int_equal(n_done, 3);
	bed_turn(b);
	assert_int_equal(n_done, 3);
	/* And those who wait when the sandbox ends are forgotten. */
	leaf_cache_set_keeper(c, end);
	assert_non_null(leaf_ask(c, &one, WHO, on_done, NULL, &err));
	unmake(b, c, end);
	assert_int_equal(n_done, 3);
}

static void
leaf_cache_keeps_the_last_used(void **state)
{
	struct bed *b = *state;
	struct channel *end;
	struct leaf_cache *c = make(b, &end);
	struct leaf_name first = named("n0.test");
	enum err err;
	char text[32];

	for (int i = 0; i <= LIMIT_LEAVES; i++) {
		snprintf(text, sizeof(text), "n%d.test", i);
		struct leaf_name name = named(text);
		assert_non_null(leaf_ask(c, &name, WHO, on_done, NULL, &err));
		bed_turn(b);
		struct leaf *leaf = leaf_find(c, &first);
		assert_non_null(leaf); /* used: it stays */
		leaf_unref(leaf);
	}
	struct leaf_name second = named("n1.test");
	assert_null(leaf_find(c, &second));
	reset_done();
	unmake(b, c, end);
}

static void
leaf_is_minted_anew_at_half_its_life(void **state)
{
	struct bed *b = *state;
	struct channel *end;
	struct leaf_cache *c = make(b, &end);
	struct leaf_name name = named("ok.test");
	enum err err;
	uint64_t now = clock_wall_us();

	assert_non_null(leaf_ask(c, &name, WHO, on_done, NULL, &err));
	bed_turn(b);
	clock_set(1, now + (LEAF_HALF_LIFE_S - 60) * 1000000ULL);
	struct leaf *leaf = leaf_find(c, &name);
	assert_non_null(leaf);
	leaf_unref(leaf);
	clock_set(1, now + (LEAF_HALF_LIFE_S + 60) * 1000000ULL);
	assert_null(leaf_find(c, &name));
	clock_set(0, 0);
	reset_done();

	/* DO-15: a clock that is set back a day makes it too old as well. */
	assert_non_null(leaf_ask(c, &name, WHO, on_done, NULL, &err));
	bed_turn(b);
	clock_set(1, now - 86400 * 1000000ULL);
	assert_null(leaf_find(c, &name));
	clock_set(0, 0);
	reset_done();
	unmake(b, c, end);
}

static void
leaf_for_refusals_has_a_small_budget(void **state)
{
	struct bed *b = *state;
	struct channel *end;
	clock_set(1000000, clock_wall_us());
	struct leaf_cache *c = make(b, &end);
	unsigned n = 0;
	enum err err = ERR_NONE;
	char text[32];

	for (int i = 0; i < 50; i++) {
		snprintf(text, sizeof(text), "bad%d.test", i);
		struct leaf_name name = named(text);
		name.refused = true;
		if (leaf_ask(c, &name, WHO, on_done, NULL, &err) != NULL)
			n++;
	}
	assert_int_equal(n, LIMIT_REFUSED_LEAVES_PER_MIN);
	assert_int_equal(err, ERR_FULL);
	/* Names with a rule have none. */
	struct leaf_name good = named("ok.test");
	assert_non_null(leaf_ask(c, &good, WHO, on_done, NULL, &err));
	/* A minute later it is full again, never fuller. */
	clock_set(1000000 + 600000, clock_wall_us());
	n = 0;
	for (int i = 50; i < 100; i++) {
		snprintf(text, sizeof(text), "bad%d.test", i);
		struct leaf_name name = named(text);
		name.refused = true;
		if (leaf_ask(c, &name, WHO, on_done, NULL, &err) != NULL)
			n++;
	}
	assert_int_equal(n, LIMIT_REFUSED_LEAVES_PER_MIN);
	bed_turn(b);
	clock_set(0, 0);
	reset_done();
	unmake(b, c, end);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaf_is_asked_for_once_and_kept),
		cmocka_unit_test(leaf_that_is_cancelled_tells_nobody),
		cmocka_unit_test(leaf_is_asked_for_by_each_generation),
		cmocka_unit_test(leaf_that_cannot_be_had_is_null),
		cmocka_unit_test(
		    leaf_waits_are_told_when_the_keeper_is_replaced),
		cmocka_unit_test(leaf_cache_keeps_the_last_used),
		cmocka_unit_test(leaf_is_minted_anew_at_half_its_life),
		cmocka_unit_test(leaf_for_refusals_has_a_small_budget),
	};
	return cmocka_run_group_tests(tests, bed_setup, bed_teardown);
}
