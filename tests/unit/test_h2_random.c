/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two connections back to back whose owners put, take, end and give up in any
 * order: what arrives is what was sent, and an end is only where all of it is.
 */
#include <stdio.h>

#include "h2_bed.h"

#define TALKS 12
#define SIZE_MAX_OF_TALK 300000

static uint64_t state_of_random;

static size_t
any(size_t below)
{
	state_of_random = state_of_random * 6364136223846793005u + 1;
	return (size_t)(state_of_random >> 33) % below;
}

/* One direction of one talk. */
struct way {
	struct stream *from, *to; /* NULL: closed by its owner */
	size_t size, put, got;
	uint8_t salt;
	bool ended, cut; /* seen by `to`: the end; that it was cut */
};

struct talk {
	struct way up, down;
	bool asked, answered, gave_up;
};

static uint8_t
byte_at(const struct way *w, size_t at)
{
	return (uint8_t)(at * 31 + (at >> 9) + w->salt);
}

static void
put_some(struct way *w)
{
	static uint8_t bytes[LIMIT_BACKLOG_SIZE];
	size_t n = 1 + any(sizeof(bytes));

	if (w->from == NULL || stream_is_broken(w->from) || w->from->want_shut)
		return;
	if (n > stream_room(w->from))
		n = stream_room(w->from);
	if (n > w->size - w->put)
		n = w->size - w->put;
	for (size_t i = 0; i < n; i++)
		bytes[i] = byte_at(w, w->put + i);
	assert_true(n == 0 || stream_put(w->from, slice_of(bytes, n)));
	w->put += n;
	if (w->put < w->size)
		return;
	if (any(2) == 0) {
		stream_shut(w->from);
		return;
	}
	struct field_list trailers = { .n = 1 };
	trailers.at[0] =
	    (struct field){ .name = SLICE("grpc-status"), .value = SLICE("0") };
	assert_true(h2_put_trailers(w->from, &trailers));
}

static void
take_some(struct way *w)
{
	if (w->to == NULL)
		return;
	struct slice in = stream_peek(w->to);
	if (any(3) == 0)
		in = slice_first(in, 1 + any(40000));
	for (size_t i = 0; i < in.n; i++)
		if (in.p[i] != byte_at(w, w->got + i))
			fail_msg("byte %zu", w->got + i);
	w->got += in.n;
	stream_take(w->to, in.n);
	if (stream_is_eof(w->to)) {
		w->ended = true;
		assert_int_equal(w->got, w->size);
	} else if (stream_is_broken(w->to)) {
		w->cut = true;
	}
}

static void
close_end(struct h2_side *side, struct stream **s)
{
	for (size_t i = 0; i < side->n; i++)
		if (side->s[i] == *s)
			side->s[i] = NULL;
	stream_close(*s);
}

static void
act(struct h2_bed *b, struct talk *t)
{
	struct http_request req;

	if (!t->asked) {
		if (!h2_may_open(b->client.c))
			return;
		size_t before = b->server.n;
		t->up.from = h2_bed_ask(&b->client, "POST", false);
		t->down.to = t->up.from;
		t->asked = true;
		/* The server sees it before another is asked for. */
		for (int i = 0; i < 400 && b->server.n == before; i++)
			h2_bed_turn(b);
		assert_int_equal(b->server.n, before + 1);
		t->up.to = t->down.from = b->server.s[before];
		h2_bed_read(t->up.to, &req);
		return;
	}
	switch (any(6)) {
	case 0:
		put_some(&t->up);
		break;
	case 1:
		take_some(&t->up);
		break;
	case 2:
		if (!t->answered && t->down.from != NULL &&
		    !stream_is_broken(t->down.from)) {
			h2_bed_answer(t->down.from, 200, false);
			t->answered = true;
		}
		break;
	case 3:
		if (t->answered)
			put_some(&t->down);
		break;
	case 4:
		take_some(&t->down);
		break;
	default:
		h2_bed_turn(b);
	}
}

/* Either owner gives the whole talk up. */
static void
give_up(struct h2_bed *b, struct talk *t)
{
	t->gave_up = true;
	if (any(2) == 0) {
		close_end(&b->client, &t->up.from);
		t->up.from = t->down.to = NULL;
	} else {
		close_end(&b->server, &t->up.to);
		t->up.to = t->down.from = NULL;
	}
}

static bool
is_over(const struct way *w)
{
	return w->to == NULL || w->ended || w->cut;
}

static void
run_seed(unsigned seed)
{
	struct talk talks[TALKS] = { 0 };
	struct h2_bed b;

	state_of_random = seed * 2654435761u + 1;
	h2_bed_init(&b, H2_BED_BOTH);
	b.to_server.cut = b.to_client.cut = 1 + any(30000);
	b.to_server.window = b.to_client.window = 500 + any(100000);
	for (size_t i = 0; i < TALKS; i++) {
		talks[i].up.size = any(3) == 0 ? 0 : any(SIZE_MAX_OF_TALK);
		talks[i].down.size = any(3) == 0 ? 0 : any(SIZE_MAX_OF_TALK);
		talks[i].up.salt = (uint8_t)(i * 7);
		talks[i].down.salt = (uint8_t)(i * 11 + 3);
	}
	bool going = true;
	for (size_t n = 0; going && n < 200000; n++) {
		struct talk *t = &talks[any(TALKS)];
		if (!t->asked || !is_over(&t->up) || !is_over(&t->down))
			act(&b, t);
		if (t->asked && !t->gave_up && any(600) == 0)
			give_up(&b, t);
		if (n % 16 != 0)
			continue;
		going = false;
		for (size_t i = 0; i < TALKS; i++)
			going = going || !talks[i].asked ||
			    !is_over(&talks[i].up) || !is_over(&talks[i].down);
	}
	assert_false(going);
	for (size_t i = 0; i < TALKS; i++)
		if (!talks[i].gave_up)
			assert_true(talks[i].up.ended && talks[i].down.ended);
	assert_false(h2_is_broken(b.client.c) || h2_is_broken(b.server.c));
	h2_bed_release(&b);
}

static void
h2_carries_what_was_sent(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 60; seed++) {
		print_message("# seed %u\n", seed);
		run_seed(seed);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(h2_carries_what_was_sent),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
