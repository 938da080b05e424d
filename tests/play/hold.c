/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes that wait in files of a scripted monitor. */
#include <sys/stat.h>

#include "flow/hold.h"
#include "inquire_bed.h"

/* What stands at `at` of what is put. */
static uint8_t
byte_at(size_t at)
{
	return (uint8_t)(at * 7 + at / 251);
}

static void
put(struct hold *h, size_t n)
{
	uint8_t some[10000];
	size_t at = 0;

	while (at < n) {
		size_t more = n - at < sizeof(some) ? n - at : sizeof(some);
		for (size_t i = 0; i < more; i++)
			some[i] = byte_at(at + i);
		assert_true(hold_put(h, slice_of(some, more)));
		at += more;
	}
	assert_int_equal(hold_size(h), n);
}

static struct hold *
hold_one(struct scene *s, uint64_t max)
{
	struct hold *h = hold_new(s->r, max);

	assert_non_null(h);
	world_turn(&s->w);
	return h;
}

static void
want_failed(const struct hold *h, enum reason reason, const char *detail)
{
	const char *said;

	assert_false(hold_is_ready(h));
	assert_int_equal(hold_failed(h, &said), reason);
	assert_string_equal(said, detail);
}

static void
what_was_put_comes_back(void **state)
{
	static const size_t sizes[] = { 0, 1, LIMIT_BACKLOG_SIZE,
		3 * LIMIT_BACKLOG_SIZE + 5 };
	struct scene *s = scene_begin();

	(void)state;
	for (size_t i = 0; i < COUNT_OF(sizes); i++) {
		struct hold *h = hold_one(s, 0);
		struct slice out;
		size_t n = 0;
		bool end;
		assert_true(hold_is_ready(h));
		put(h, sizes[i]);
		do {
			assert_true(hold_get(h, SIZE_MAX, &out, &end));
			assert_true(out.n <= LIMIT_BACKLOG_SIZE);
			for (size_t k = 0; k < out.n; k++)
				assert_int_equal(out.p[k], byte_at(n + k));
			n += out.n;
		} while (!end);
		assert_int_equal(n, sizes[i]);
		hold_free(h);
	}
	/* One file did for all of them. */
	assert_int_equal(s->w.n_spooled, 1);
	scene_finish(s);
}

static void
no_more_is_given_than_there_is_room_for(void **state)
{
	struct scene *s = scene_begin();
	struct hold *h = hold_one(s, 0);
	struct slice out;
	bool end;

	(void)state;
	put(h, 5);
	assert_true(hold_get(h, 3, &out, &end));
	assert_int_equal(out.n, 3);
	assert_false(end);
	assert_true(hold_get(h, 3, &out, &end));
	assert_int_equal(out.n, 2);
	assert_int_equal(out.p[1], byte_at(4));
	assert_true(end);
	hold_free(h);
	scene_finish(s);
}

static void
a_sandbox_has_some_files_and_uses_them_again(void **state)
{
	struct scene *s = scene_begin();
	struct hold *h[LIMIT_HOLDS + 1];
	struct stat st;

	(void)state;
	for (size_t i = 0; i < LIMIT_HOLDS; i++) {
		h[i] = hold_one(s, 0);
		put(h[i], 1000);
	}
	h[LIMIT_HOLDS] = hold_one(s, 0);
	want_failed(h[LIMIT_HOLDS], REASON_LIMIT_CONNS,
	    "too many packs of this sandbox wait at once; try again when "
	    "another push is over");
	hold_free(h[LIMIT_HOLDS]);
	hold_free(h[1]);
	/* Nothing is left of what was in it. */
	assert_int_equal(fstat(s->w.sandbox->holds[1].fd, &st), 0);
	assert_int_equal(st.st_size, 0);
	h[1] = hold_one(s, 0);
	put(h[1], 10);
	for (size_t i = 0; i < LIMIT_HOLDS; i++)
		hold_free(h[i]);
	assert_int_equal(s->w.n_spooled, LIMIT_HOLDS);
	scene_finish(s);
}

static void
a_file_that_is_on_its_way_is_not_lost(void **state)
{
	struct scene *s = scene_begin();
	struct hold *h;

	(void)state;
	s->w.spools_wait = true;
	/* Who gives up, and asks again, and does so often. */
	for (int i = 0; i < 3 * LIMIT_HOLDS; i++) {
		h = hold_one(s, 0);
		assert_false(hold_is_ready(h));
		assert_false(hold_put(h, SLICE("x")));
		hold_free(h);
	}
	h = hold_one(s, 0);
	/* Whose it is is told, as soon as nothing else is done for it. */
	s->r->news = false;
	s->r->flow->running = true;
	assert_true(world_answer(&s->w, ASKED_SPOOL, true));
	assert_true(s->r->news);
	s->r->flow->running = false;
	s->w.spools_wait = false;
	world_turn(&s->w);
	assert_true(hold_is_ready(h));
	assert_int_equal(s->w.n_spooled, 1);
	put(h, 10);
	hold_free(h);
	scene_finish(s);
}

static void
without_a_file_it_fails(void **state)
{
	struct scene *s = scene_begin();
	struct hold *h;

	(void)state;
	s->w.spools_fail = true;
	h = hold_one(s, 0);
	want_failed(h, REASON_INTERNAL,
	    "no file for a pack that has to wait: scripted");
	assert_false(hold_put(h, SLICE("x")));
	hold_free(h);
	s->w.spools_fail = false;
	h = hold_one(s, 0);
	put(h, 10);
	hold_free(h);
	scene_finish(s);
}

static void
a_full_disk_is_an_end(void **state)
{
	struct scene *s = scene_begin();
	struct hold *h;

	(void)state;
	s->w.disk_full = true;
	h = hold_one(s, 0);
	assert_true(hold_is_ready(h));
	assert_false(hold_put(h, SLICE("x")));
	want_failed(h, REASON_INTERNAL,
	    "a pack that has to wait cannot be kept on duenna's disk: No space "
	    "left on device");
	/* At once, since others want room there, too. */
	assert_null(s->w.sandbox->holds[0].hold);
	assert_false(hold_put(h, SLICE("x")));
	hold_free(h);
	/* What cannot be emptied is not used again. */
	assert_int_equal(s->w.sandbox->holds[0].fd, -1);
	scene_finish(s);
}

static void
it_has_a_ceiling(void **state)
{
	struct scene *s = scene_begin();
	struct hold *h = hold_one(s, 10);

	(void)state;
	assert_true(hold_put(h, SLICE("123456789")));
	assert_true(hold_put(h, SLICE("0")));
	assert_false(hold_put(h, SLICE("1")));
	want_failed(h, REASON_LIMIT_BYTES,
	    "the pack is larger than may wait for its verdict");
	hold_free(h);
	h = hold_one(s, (uint64_t)LIMIT_HOLD_SIZE + 1);
	assert_true(hold_put(h, SLICE("1")));
	assert_false(hold_put(h, slice_of("", (size_t)LIMIT_HOLD_SIZE)));
	want_failed(h, REASON_LIMIT_BYTES,
	    "the pack is larger than may wait for its verdict");
	hold_free(h);
	scene_finish(s);
}

static void
each_allocation_may_fail(void **state)
{
	struct scene *s = scene_begin();
	struct hold *h;
	struct slice out;
	const char *said;
	bool end;

	(void)state;
	fails_from(1, false);
	h = hold_new(s->r, 0);
	fails_from(0, false);
	assert_null(h);
	h = hold_one(s, 0);
	put(h, 10);
	fails_from(1, false);
	assert_false(hold_get(h, 10, &out, &end));
	fails_from(0, false);
	assert_int_equal(hold_failed(h, &said), REASON_INTERNAL);
	assert_string_equal(said, "out of memory");
	hold_free(h);
	scene_finish(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_was_put_comes_back),
		cmocka_unit_test(no_more_is_given_than_there_is_room_for),
		cmocka_unit_test(a_sandbox_has_some_files_and_uses_them_again),
		cmocka_unit_test(a_file_that_is_on_its_way_is_not_lost),
		cmocka_unit_test(without_a_file_it_fails),
		cmocka_unit_test(a_full_disk_is_an_end),
		cmocka_unit_test(it_has_a_ceiling),
		cmocka_unit_test(each_allocation_may_fail),
	};

	return cmocka_run_group_tests_name("hold", tests, NULL, NULL);
}
