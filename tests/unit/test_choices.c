/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/limits.h"
#include "flow/choices.h"

static struct host
host_of(const char *text)
{
	struct parse_fail fail;
	struct host host;

	assert_int_equal(host_from_http(slice_of_str(text), &host, &fail),
	    PARSE_DONE);
	return host;
}

static void
choices_remember_by_name_port_and_offer(void **state)
{
	const struct host a = host_of("a.test"), b = host_of("b.test");
	enum alpn alpn = ALPN_NONE;
	struct choices c;

	(void)state;
	choices_init(&c);
	assert_false(choices_find(&c, &a, 443, ALPN_OFFER_H2_HTTP11, &alpn));
	choices_put(&c, &a, 443, ALPN_OFFER_H2_HTTP11, ALPN_H2);
	assert_true(choices_find(&c, &a, 443, ALPN_OFFER_H2_HTTP11, &alpn));
	assert_int_equal(alpn, ALPN_H2);
	assert_false(choices_find(&c, &b, 443, ALPN_OFFER_H2_HTTP11, &alpn));
	assert_false(choices_find(&c, &a, 8443, ALPN_OFFER_H2_HTTP11, &alpn));
	assert_false(choices_find(&c, &a, 443, ALPN_OFFER_H2, &alpn));
	choices_put(&c, &a, 443, ALPN_OFFER_H2_HTTP11, ALPN_HTTP11);
	assert_true(choices_find(&c, &a, 443, ALPN_OFFER_H2_HTTP11, &alpn));
	assert_int_equal(alpn, ALPN_HTTP11);
	assert_int_equal(c.n, 1);
	choices_release(&c);
}

static void
choices_forget_an_origin_whatever_was_offered(void **state)
{
	const struct host a = host_of("a.test"), b = host_of("b.test");
	enum alpn alpn;
	struct choices c;

	(void)state;
	choices_init(&c);
	choices_put(&c, &a, 443, ALPN_OFFER_H2_HTTP11, ALPN_H2);
	choices_put(&c, &a, 443, ALPN_OFFER_H2, ALPN_H2);
	choices_put(&c, &a, 8443, ALPN_OFFER_H2, ALPN_H2);
	choices_put(&c, &b, 443, ALPN_OFFER_H2, ALPN_H2);
	choices_forget(&c, &a, 443);
	assert_int_equal(c.n, 2);
	assert_false(choices_find(&c, &a, 443, ALPN_OFFER_H2_HTTP11, &alpn));
	assert_true(choices_find(&c, &a, 8443, ALPN_OFFER_H2, &alpn));
	assert_true(choices_find(&c, &b, 443, ALPN_OFFER_H2, &alpn));
	choices_release(&c);
}

static void
choices_are_few_and_grow_old(void **state)
{
	const struct host a = host_of("a.test");
	enum alpn alpn;
	struct choices c;

	(void)state;
	clock_set(1000, 1);
	choices_init(&c);
	for (uint16_t i = 0; i <= LIMIT_CHOICES; i++)
		choices_put(&c, &a, (uint16_t)(1000 + i), ALPN_OFFER_H2,
		    ALPN_H2);
	assert_int_equal(c.n, LIMIT_CHOICES);
	assert_false(choices_find(&c, &a, 1000, ALPN_OFFER_H2, &alpn));
	assert_true(choices_find(&c, &a, 1001, ALPN_OFFER_H2, &alpn));
	clock_set(1000 + LIMIT_CHOICE_MS - 1, 1);
	assert_true(choices_find(&c, &a, 1001, ALPN_OFFER_H2, &alpn));
	choices_put(&c, &a, 1001, ALPN_OFFER_H2, ALPN_H2);
	clock_set(1000 + LIMIT_CHOICE_MS, 1);
	assert_false(choices_find(&c, &a, 1002, ALPN_OFFER_H2, &alpn));
	assert_true(choices_find(&c, &a, 1001, ALPN_OFFER_H2, &alpn));
	assert_int_equal(c.n, 1);
	choices_release(&c);
	clock_set(0, 0);
}

static void
choices_know_who_takes_websockets(void **state)
{
	const struct host a = host_of("a.test"), b = host_of("b.test");
	struct choices c;

	(void)state;
	choices_init(&c);
	choices_note_connect(&c, &a, 443, true); /* nothing to note it with */
	assert_false(choices_may_connect(&c, &a, 443));
	choices_put(&c, &a, 443, ALPN_OFFER_H2_HTTP11, ALPN_H2);
	choices_put(&c, &a, 8443, ALPN_OFFER_H2_HTTP11, ALPN_HTTP11);
	choices_put(&c, &b, 443, ALPN_OFFER_H2, ALPN_H2);
	assert_false(choices_may_connect(&c, &a, 443));
	choices_note_connect(&c, &a, 443, true);
	choices_note_connect(&c, &a, 8443, true);
	assert_true(choices_may_connect(&c, &a, 443));
	assert_false(choices_may_connect(&c, &a, 8443));
	assert_false(choices_may_connect(&c, &b, 443));
	choices_note_connect(&c, &a, 443, false);
	assert_false(choices_may_connect(&c, &a, 443));
	choices_note_connect(&c, &a, 443, true);
	/* What is chosen anew is asked anew. */
	choices_put(&c, &a, 443, ALPN_OFFER_H2_HTTP11, ALPN_H2);
	assert_false(choices_may_connect(&c, &a, 443));
	choices_release(&c);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(choices_remember_by_name_port_and_offer),
		cmocka_unit_test(choices_forget_an_origin_whatever_was_offered),
		cmocka_unit_test(choices_know_who_takes_websockets),
		cmocka_unit_test(choices_are_few_and_grow_old),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
