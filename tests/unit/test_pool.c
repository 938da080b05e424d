/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/socket.h>

#include <setjmp.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "base/clock.h"
#include "http/pool.h"
#include "net/stream_tcp.h"
#include "net/timer.h"

static struct loop *loop;
static struct pool *pool;

static int
set_up(void **state)
{
	enum err err;

	(void)state;
	clock_set(1000, 1);
	loop = loop_new(&err);
	pool = pool_new(loop);
	return loop == NULL || pool == NULL;
}

static void
turn(void)
{
	for (int i = 0; i < 10; i++)
		event_base_loop(loop_base(loop), EVLOOP_NONBLOCK);
}

static int
tear_down(void **state)
{
	(void)state;
	pool_free(pool);
	turn();
	loop_free(loop);
	clock_set(0, 0);
	return 0;
}

static struct stream *
make(int *peer)
{
	enum err err;
	int fd[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
			     fd),
	    0);
	*peer = fd[1];
	struct stream *s = stream_tcp_new(loop, fd[0], &err);
	assert_non_null(s);
	turn();
	return s;
}

static struct host
host_of(const char *text)
{
	struct host host;
	struct parse_fail fail;

	assert_int_equal(host_from_http(slice_of_str(text), &host, &fail),
	    PARSE_DONE);
	return host;
}

static void
pool_gives_for_the_same_key_only(void **state)
{
	(void)state;
	struct host ok = host_of("ok.test"), other = host_of("other.test");
	const struct pool_key key = { &ok, 443, true, ALPN_HTTP11, false, 1 };
	struct pool_key wrong[] = { key, key, key, key, key, key };
	int peer;
	struct stream *s = make(&peer);

	wrong[0].host = &other;
	wrong[1].port = 8443;
	wrong[2].tls = false;
	wrong[3].alpn = ALPN_NONE;
	wrong[4].public_only = true; /* `report:` reaches no others */
	wrong[5].generation = 2;
	pool_put(pool, &key, s);
	assert_int_equal(pool_count(pool), 1);
	for (size_t i = 0; i < COUNT_OF(wrong); i++)
		assert_null(pool_take(pool, &wrong[i]));
	assert_ptr_equal(pool_take(pool, &key), s);
	assert_int_equal(pool_count(pool), 0);
	assert_null(pool_take(pool, &key));
	stream_close(s);
	turn();
	close(peer);
}

static void
pool_drops_what_speaks_ends_or_is_old(void **state)
{
	(void)state;
	struct host ok = host_of("ok.test");
	const struct pool_key key = { &ok, 443, true, ALPN_HTTP11, false, 1 };
	int peer[3];

	for (int i = 0; i < 3; i++)
		pool_put(pool, &key, make(&peer[i]));
	assert_int_equal(pool_count(pool), 3);
	assert_int_equal(write(peer[0], "x", 1), 1);
	turn();
	assert_int_equal(pool_count(pool), 2);
	close(peer[1]);
	turn();
	assert_int_equal(pool_count(pool), 1);
	clock_set(1000 + LIMIT_POOL_IDLE_MS, 1);
	timer_fire_due();
	assert_int_equal(pool_count(pool), 0);
	turn();
	close(peer[0]);
	close(peer[2]);
}

static void
pool_drops_the_one_that_was_not_used_longest(void **state)
{
	(void)state;
	struct host ok = host_of("ok.test");
	const struct pool_key key = { &ok, 443, true, ALPN_HTTP11, false, 1 };
	struct stream *s[2];
	int peer[2];

	assert_false(pool_drop_oldest(pool));
	for (int i = 0; i < 2; i++) {
		s[i] = make(&peer[i]);
		pool_put(pool, &key, s[i]);
	}
	assert_true(pool_drop_oldest(pool));
	assert_int_equal(pool_count(pool), 1);
	assert_ptr_equal(pool_take(pool, &key), s[1]);
	stream_close(s[1]);
	turn();
	close(peer[0]);
	close(peer[1]);
}

static void
pool_is_full_at_half_the_upstreams(void **state)
{
	(void)state;
	struct host ok = host_of("ok.test");
	const struct pool_key key = { &ok, 443, true, ALPN_HTTP11, false, 1 };
	int peer[LIMIT_UPSTREAMS / 2 + 1];

	for (size_t i = 0; i < COUNT_OF(peer); i++)
		pool_put(pool, &key, make(&peer[i]));
	assert_int_equal(pool_count(pool), LIMIT_UPSTREAMS / 2);
	for (size_t i = 0; i < COUNT_OF(peer); i++)
		close(peer[i]);
}

static void
pool_takes_no_stream_with_bytes_on_it(void **state)
{
	(void)state;
	struct host ok = host_of("ok.test");
	const struct pool_key key = { &ok, 443, true, ALPN_HTTP11, false, 1 };
	int peer;
	struct stream *s = make(&peer);

	assert_int_equal(write(peer, "left over", 9), 9);
	turn();
	pool_put(pool, &key, s);
	assert_int_equal(pool_count(pool), 0);
	turn();
	close(peer);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
		    pool_gives_for_the_same_key_only, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    pool_drops_what_speaks_ends_or_is_old, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    pool_drops_the_one_that_was_not_used_longest, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(
		    pool_is_full_at_half_the_upstreams, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    pool_takes_no_stream_with_bytes_on_it, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
