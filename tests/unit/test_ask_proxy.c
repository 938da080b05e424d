/* SPDX-License-Identifier: Apache-2.0 */
#include "ask_bed.h"

/* Ask over the proxy, which is our listener; returns what it reads. */
static int
ask_proxy(uint32_t rule, const char *want, struct dialed *d)
{
	char request[512];
	int conn;

	/* Those of earlier tests. */
	while ((conn = accept(listener, NULL, NULL)) >= 0)
		close(conn);
	ask(SANDBOX, GENERATION, rule, "", d);
	conn = accept(listener, NULL, NULL);
	assert_true(conn >= 0);
	turn();
	ssize_t n = recv(conn, request, sizeof(request), 0);
	assert_true(n > 0);
	assert_true(
	    slice_has_prefix(slice_of(request, (size_t)n), slice_of_str(want)));
	assert_int_equal(d->n, 0);
	return conn;
}

/* The owner's proxy stands between: told to the keeper is the origin. */
static void
ask_goes_through_the_owners_proxy(void **state)
{
	static const char yes[] = "HTTP/1.1 200 x\r\n\r\n";
	char want[64], proxy[64];
	struct dialed d;
	(void)state;

	snprintf(proxy, sizeof(proxy), "127.0.0.1:%u", port);
	snprintf(want, sizeof(want), "CONNECT far.test:%u ", port);
	int conn = ask_proxy(FAR, want, &d);
	assert_int_equal(roles.n_told, 0); /* not before there is a tunnel */
	assert_true(send(conn, yes, sizeof(yes) - 1, 0) > 0);
	turn();
	assert_int_equal(d.n, 1);
	assert_int_equal(d.reason, REASON_ALLOW);
	assert_string_equal(d.peer, "127.0.0.1");
	assert_string_equal(roles.told.host, "far.test");
	assert_int_equal(roles.told.port, port);
	expect_text(last_event(), FIELD_PROXY, proxy);
	expect_text(last_event(), FIELD_HOST, "far.test");
	expect_same_again(last_event());
	close(d.fd);
	close(conn);

	conn = ask_proxy(FAR, want, &d);
	close(conn); /* with bytes unread: a reset */
	turn();
	assert_int_equal(d.reason, REASON_UP_CONNECT);
	assert_string_equal(d.detail, "the proxy closed the connection");
	assert_int_equal(d.fd, -1);
	expect_text(last_event(), FIELD_PROXY, proxy);
	expect_same_again(last_event());
}

static void
ask_waits_for_the_proxy_less_than_the_worker_does(void **state)
{
	struct dialed d;
	(void)state;

	clock_set(1000, 0);
	int conn = ask_proxy(FAR, "CONNECT far.test:", &d);
	clock_set(1000 + LIMIT_PROXY_MS, 0);
	timer_fire_due();
	turn();
	assert_int_equal(d.n, 1);
	assert_int_equal(d.reason, REASON_UP_CONNECT);
	assert_string_equal(d.detail, "no answer of the proxy in time");
	expect_same_again(last_event());
	/* And one whose worker goes. */
	close(conn);
	conn = ask_proxy(FAR, "CONNECT far.test:", &d);
	asks_forget(asks, roles.dialer_worker);
	channel_free(roles.dialer_worker);
	roles.dialer_worker = NULL;
	turn();
	assert_true(d.lost);
	close(conn);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(ask_goes_through_the_owners_proxy),
		TEST(ask_waits_for_the_proxy_less_than_the_worker_does),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
