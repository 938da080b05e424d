/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A policy that changes all the time under load: worker, dialer and keeper as
 * they are, over their channels, in one process.  Each is given the next
 * program in its own time, as channels have no order among each other.
 */
#include "reload_bed.h"

#define RELOADS 1000
#define HTTP_CLIENTS 6
#define PATIENCE 20000000 /* turns */

static unsigned seed;
static size_t done; /* requests when the last one was issued */

/* Up to three may be on their way, to each role. */
static void
change_now_and_then(struct reload_bed *b)
{
	if (b->issued < RELOADS && b->n_done > done &&
	    b->issued - reload_applied(b) < 3) {
		b->issued++;
		done = b->n_done;
	}
	for (int role = 0; role < RELOAD_ROLES; role++)
		if (rand_r(&seed) % 3 == 0)
			reload_role(b, role);
}

/* LC-08: whatever the order, what both allow is not lost. */
static void
reload_loses_no_request_that_both_allow(void **state)
{
	struct reload_bed *b = *state;
	unsigned turns = 0;

	seed = 1;
	done = 0;
	b->step = change_now_and_then;

	for (size_t i = 0; i < HTTP_CLIENTS; i++)
		reload_client(b, CLIENT_HTTP);
	reload_client(b, CLIENT_ECHO);
	while (reload_applied(b) < RELOADS && turns++ < PATIENCE)
		reload_turn(b);
	assert_int_equal(reload_applied(b), RELOADS);
	assert_int_equal(b->n_failed, 0);
	assert_true(b->n_done >= RELOADS / 3);
	assert_true(b->n_echoed > 100);
	assert_int_equal(b->n_alarms, 0);
	print_message("# %zu requests, %zu of them over connections of their "
		      "own, %zu times echoed\n",
	    b->n_done, b->n_connects, b->n_echoed);
}

/* LC-07: what was spliced and what streams ends, on both sides. */
static void
reload_ends_what_it_refuses(void **state)
{
	struct reload_bed *b = *state;
	unsigned turns = 0;

	struct client *echo = reload_client(b, CLIENT_ECHO);
	struct client *stream = reload_client(b, CLIENT_STREAM);
	struct client *http = reload_client(b, CLIENT_HTTP);
	while ((b->n_echoed < 3 || b->n_streamed < 3 || b->n_done < 3) &&
	    turns++ < PATIENCE)
		reload_turn(b);
	assert_true(echo->fd >= 0 && stream->fd >= 0);
	b->forbids = true;
	b->issued++;
	for (int role = 0; role < RELOAD_ROLES; role++)
		reload_role(b, role);
	turns = 0;
	while ((echo->fd >= 0 || stream->fd >= 0 || http->fd >= 0 ||
		   b->n_open != 0) &&
	    turns++ < PATIENCE)
		reload_turn(b);
	assert_int_equal(echo->fd, -1);
	assert_int_equal(stream->fd, -1);
	assert_int_equal(http->fd, -1);
	assert_int_equal(b->n_open, 0); /* at the origin, of any */
	assert_int_equal(b->n_alarms, 0);
}

#define TEST(f) \
	cmocka_unit_test_setup_teardown(f, reload_set_up, reload_tear_down)

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(reload_loses_no_request_that_both_allow),
		TEST(reload_ends_what_it_refuses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
