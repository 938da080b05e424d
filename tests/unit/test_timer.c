/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <event2/event.h>

#include "base/clock.h"
#include "net/timer.h"

static unsigned n_due;

static void
on_due(void *arg)
{
	(void)arg;
	n_due++;
}

static void
timer_fires_once_when_it_is_due(void **state)
{
	(void)state;
	enum err err;
	struct loop *l = loop_new(&err);
	struct timer t;

	clock_set(1000, 1);
	n_due = 0;
	assert_int_equal(timer_init(&t, l, on_due, NULL, &err), 0);
	assert_false(timer_is_set(&t));
	timer_set(&t, 50);
	assert_true(timer_is_set(&t));
	clock_set(1049, 1);
	timer_fire_due();
	assert_int_equal(n_due, 0);
	clock_set(1050, 1);
	timer_fire_due();
	timer_fire_due();
	assert_int_equal(n_due, 1);
	assert_false(timer_is_set(&t));
	timer_release(&t);
	loop_free(l);
	clock_set(0, 0);
}

static void
timer_set_anew_replaces_and_stop_forgets(void **state)
{
	(void)state;
	enum err err;
	struct loop *l = loop_new(&err);
	struct timer t;

	clock_set(1000, 1);
	n_due = 0;
	assert_int_equal(timer_init(&t, l, on_due, NULL, &err), 0);
	timer_set(&t, 50);
	timer_set(&t, 500);
	clock_set(1400, 1);
	timer_fire_due();
	assert_int_equal(n_due, 0);
	timer_stop(&t);
	clock_set(9999, 1);
	timer_fire_due();
	assert_int_equal(n_due, 0);
	timer_release(&t);
	loop_free(l);
	clock_set(0, 0);
}

/* The phases of an exchange are of 10 s and more, each its own. */
static void
timer_is_put_into_the_queue_once(void **state)
{
	(void)state;
	enum err err;
	struct loop *l = loop_new(&err);
	struct timer t;

	clock_set(1000, 1);
	n_due = 0;
	assert_int_equal(timer_init(&t, l, on_due, NULL, &err), 0);
	timer_set(&t, 300000);
	assert_int_equal(t.wake_ms, 11000);
	timer_set(&t, 15000);
	timer_set(&t, 10000);
	timer_set(&t, 900000);
	assert_int_equal(t.wake_ms, 11000);
	timer_set(&t, 3000); /* sooner: that cannot wait */
	assert_int_equal(t.wake_ms, 4000);
	clock_set(3999, 1);
	timer_fire_due();
	assert_int_equal(n_due, 0);
	clock_set(4000, 1);
	timer_fire_due();
	assert_int_equal(n_due, 1);
	timer_release(&t);
	loop_free(l);
	clock_set(0, 0);
}

/* On the real clock, by the loop: shortened, then lengthened meanwhile. */
static void
timer_fires_from_the_loop(void **state)
{
	(void)state;
	enum err err;
	struct loop *l = loop_new(&err);
	struct timer t;

	n_due = 0;
	assert_int_equal(timer_init(&t, l, on_due, NULL, &err), 0);
	timer_set(&t, 100000);
	timer_set(&t, 5);
	timer_set(&t, 20);
	uint64_t began = clock_ms();
	while (n_due == 0 && clock_ms() - began < 5000)
		event_base_loop(loop_base(l), EVLOOP_ONCE);
	assert_int_equal(n_due, 1);
	assert_true(clock_ms() - began >= 19);
	timer_release(&t);
	loop_free(l);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(timer_fires_once_when_it_is_due),
		cmocka_unit_test(timer_set_anew_replaces_and_stop_forgets),
		cmocka_unit_test(timer_is_put_into_the_queue_once),
		cmocka_unit_test(timer_fires_from_the_loop),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
