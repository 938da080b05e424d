/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "cred/foreign.h"

static const struct {
	const char *name;
	int slot; /* -1: none */
} fields[] = {
	{ "Authorization", FOREIGN_AUTHORIZATION },
	{ "AUTHORIZATION", FOREIGN_AUTHORIZATION },
	{ "Proxy-Authorization", FOREIGN_PROXY_AUTHORIZATION },
	{ "x-api-key", FOREIGN_X_API_KEY },
	{ "X_Api_Key", FOREIGN_X_API_KEY },
	{ "Api-Key", FOREIGN_API_KEY },
	{ "X-Goog-Api-Key", FOREIGN_X_GOOG_API_KEY },
	{ "X-Auth-Token", FOREIGN_X_AUTH_TOKEN },
	{ "Private-Token", FOREIGN_PRIVATE_TOKEN },
	{ "Job-Token", FOREIGN_JOB_TOKEN },
	{ "Ocp-Apim-Subscription-Key", FOREIGN_OCP_APIM_SUBSCRIPTION_KEY },
	{ "Authorizatio", -1 },
	{ "Authorizations", -1 },
	{ "X-Api-Keys", -1 },
	{ "", -1 },
	{ "Cookie", -1 },
};

static void
foreign_knows_each_header(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(fields); i++) {
		enum foreign_slot slot = FOREIGN_SLOT_COUNT;
		print_message("# %s\n", fields[i].name);
		assert_int_equal(foreign_is_field(slice_of_str(fields[i].name),
				     &slot),
		    fields[i].slot >= 0);
		if (fields[i].slot >= 0)
			assert_int_equal(slot, fields[i].slot);
	}
}

static const struct {
	const char *key;
	int slot; /* -1: none */
	bool signature;
} keys[] = {
	{ "access_token", FOREIGN_QUERY_ACCESS_TOKEN, false },
	{ "Access_Token", FOREIGN_QUERY_ACCESS_TOKEN, false },
	{ "access%5Ftoken", FOREIGN_QUERY_ACCESS_TOKEN, false },
	{ "%61pi_key", FOREIGN_QUERY_API_KEY, false },
	{ "private_token", FOREIGN_QUERY_PRIVATE_TOKEN, false },
	{ "access_tokens", -1, false },
	{ "access_toke", -1, false },
	{ "access-token", -1, false },
	{ "", -1, false },
	{ "sig", -1, true },
	{ "SIG", -1, true },
	{ "X-Amz-Signature", -1, true },
	{ "x-goog-signature", -1, true },
	{ "Signature", -1, true },
	{ "key", -1, true },
	{ "keys", -1, false },
};

static void
foreign_knows_each_key_in_every_spelling(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(keys); i++) {
		enum foreign_slot slot = FOREIGN_SLOT_COUNT;
		struct slice key = slice_of_str(keys[i].key);
		print_message("# %s\n", keys[i].key);
		assert_int_equal(foreign_is_key(key, &slot), keys[i].slot >= 0);
		if (keys[i].slot >= 0)
			assert_int_equal(slot, keys[i].slot);
		assert_int_equal(foreign_is_signature(key), keys[i].signature);
	}
}

static void
foreign_strips_the_slots_that_are_named(void **state)
{
	(void)state;
	struct field_list list = { 0 };

	assert_true(field_add(&list, SLICE("Accept"), SLICE("*/*")));
	assert_true(field_add(&list, SLICE("AUTHORIZATION"), SLICE("a")));
	assert_true(field_add(&list, SLICE("X-Api-Key"), SLICE("b")));
	assert_true(field_add(&list, SLICE("authorization"), SLICE("c")));
	assert_int_equal(foreign_strip_fields(&list, 0), 0);
	assert_int_equal(foreign_strip_fields(&list,
			     1U << FOREIGN_AUTHORIZATION),
	    2);
	assert_int_equal(list.n, 2);
	assert_true(slice_eq_str(list.at[0].name, "Accept"));
	assert_true(slice_eq_str(list.at[1].name, "X-Api-Key"));
}

static const struct {
	const char *in, *out;
	bool any;
} queries[] = {
	{ "a=1&access_token=x&b=2", "a=1&b=2", true },
	{ "access_token=x", "", false },
	{ "ACCESS%5ftoken=x&&b", "b", true },
	{ "a=%2B+&b", "a=%2B+&b", true },
	{ "api_key=1&a", "api_key=1&a", true },
	{ "", "", false },
};

static void
foreign_strips_keys_and_leaves_the_rest(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(queries); i++) {
		uint8_t out[64];
		struct wr w = wr_of(out, sizeof(out));
		print_message("# %s\n", queries[i].in);
		assert_int_equal(foreign_strip_query(slice_of_str(
							 queries[i].in),
				     1U << FOREIGN_QUERY_ACCESS_TOKEN, &w),
		    queries[i].any);
		assert_true(slice_eq_str(wr_slice(&w), queries[i].out));
	}
}

/* Trailers are not looked at for them: none gets so far. */
static void
foreign_headers_may_not_trail(void **state)
{
	(void)state;
	for (int i = 0; i < FOREIGN_SLOT_COUNT; i++) {
		enum foreign_slot slot;
		struct slice name =
		    slice_of_str(foreign_name((enum foreign_slot)i));

		if (foreign_is_field(name, &slot))
			assert_false(field_may_trail(name, false));
	}
}

static void
foreign_has_a_name_for_each_slot(void **state)
{
	(void)state;
	for (int i = 0; i < FOREIGN_SLOT_COUNT; i++)
		assert_true(strlen(foreign_name((enum foreign_slot)i)) > 3);
	assert_string_equal(foreign_name(FOREIGN_SLOT_COUNT), "?");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(foreign_knows_each_header),
		cmocka_unit_test(foreign_knows_each_key_in_every_spelling),
		cmocka_unit_test(foreign_strips_the_slots_that_are_named),
		cmocka_unit_test(foreign_strips_keys_and_leaves_the_rest),
		cmocka_unit_test(foreign_headers_may_not_trail),
		cmocka_unit_test(foreign_has_a_name_for_each_slot),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
