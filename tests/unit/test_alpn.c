/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "row.h"
#include "wire/alpn.h"

static const struct {
	const char *name;
	struct slice list;
	enum alpn_offer offer;
} lists[] = {
	{ "nothing", IN(""), ALPN_OFFER_NONE },
	{ "http/1.1", IN("\x08http/1.1"), ALPN_OFFER_HTTP11 },
	{ "h2", IN("\2h2"), ALPN_OFFER_H2 },
	{ "both", IN("\2h2\x08http/1.1"), ALPN_OFFER_H2_HTTP11 },
	{ "the other way round", IN("\x08http/1.1\2h2"), ALPN_OFFER_HTTP11_H2 },
	{ "one twice", IN("\2h2\2h2\x08http/1.1"), ALPN_OFFER_H2_HTTP11 },
	{ "others between", IN("\3abc\2h2\2h3\x08http/1.0\x08http/1.1\2hq"),
	    ALPN_OFFER_H2_HTTP11 },
	{ "gRPC's own name", IN("\x08grpc-exp\2h2"), ALPN_OFFER_H2 },
	{ "others alone", IN("\x08http/1.0\3h2c\2H2"), ALPN_OFFER_NONE },
	{ "cut", IN("\2h2\x08http/1."), ALPN_OFFER_H2 },
};

static void
alpn_reads_what_it_knows_of_a_list(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(lists); i++) {
		print_message("# %s\n", lists[i].name);
		struct slice in = exact(lists[i].list);
		enum alpn_offer offer = alpn_offer_read(in);
		drop(in);
		assert_int_equal(offer, lists[i].offer);
		assert_int_equal(alpn_offer_read(alpn_offer_list(offer)),
		    offer);
	}
}

static void
alpn_knows_what_is_in_an_offer(void **state)
{
	static const struct {
		bool http11, h2;
		enum alpn first;
		enum alpn_offer without_h2;
	} want[ALPN_OFFER_COUNT] = {
		[ALPN_OFFER_NONE] = { false, false, ALPN_NONE,
		    ALPN_OFFER_NONE },
		[ALPN_OFFER_HTTP11] = { true, false, ALPN_HTTP11,
		    ALPN_OFFER_HTTP11 },
		[ALPN_OFFER_H2] = { false, true, ALPN_H2, ALPN_OFFER_NONE },
		[ALPN_OFFER_H2_HTTP11] = { true, true, ALPN_H2,
		    ALPN_OFFER_HTTP11 },
		[ALPN_OFFER_HTTP11_H2] = { true, true, ALPN_HTTP11,
		    ALPN_OFFER_HTTP11 },
	};

	(void)state;
	for (enum alpn_offer i = 0; i < ALPN_OFFER_COUNT; i++) {
		assert_false(alpn_offer_has(i, ALPN_NONE));
		assert_int_equal(alpn_offer_has(i, ALPN_HTTP11),
		    want[i].http11);
		assert_int_equal(alpn_offer_has(i, ALPN_H2), want[i].h2);
		assert_int_equal(alpn_offer_first(i), want[i].first);
		assert_int_equal(alpn_offer_without_h2(i), want[i].without_h2);
	}
	assert_int_equal(alpn_offer_only(ALPN_NONE), ALPN_OFFER_NONE);
	assert_int_equal(alpn_offer_only(ALPN_HTTP11), ALPN_OFFER_HTTP11);
	assert_int_equal(alpn_offer_only(ALPN_H2), ALPN_OFFER_H2);
}

static void
alpn_names_each_protocol(void **state)
{
	enum alpn alpn = ALPN_NONE;

	(void)state;
	assert_true(alpn_read(SLICE("h2"), &alpn));
	assert_int_equal(alpn, ALPN_H2);
	assert_true(alpn_read(SLICE("http/1.1"), &alpn));
	assert_int_equal(alpn, ALPN_HTTP11);
	assert_false(alpn_read(SLICE(""), &alpn));
	assert_false(alpn_read(SLICE("h2c"), &alpn));
	assert_int_equal(alpn, ALPN_HTTP11);
	assert_true(slice_eq(alpn_name(ALPN_H2), SLICE("h2")));
	assert_int_equal(alpn_name(ALPN_NONE).n, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alpn_reads_what_it_knows_of_a_list),
		cmocka_unit_test(alpn_knows_what_is_in_an_offer),
		cmocka_unit_test(alpn_names_each_protocol),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
