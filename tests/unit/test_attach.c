/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "cred/attach.h"

/* A header without a prefix. */
static struct program_credential
header(struct slice name)
{
	return (struct program_credential){ .kind = CREDENTIAL_HEADER,
		.slot = name };
}

static const struct program_credential
    token = { .kind = CREDENTIAL_TOKEN,
	    .slot = { (const uint8_t *)"Authorization", 13 },
	    .prefix = { (const uint8_t *)"Bearer ", 7 } },
    basic = { .kind = CREDENTIAL_BASIC,
	    .slot = { (const uint8_t *)"Authorization", 13 },
	    .prefix = { (const uint8_t *)"Basic ", 6 },
	    .user = { (const uint8_t *)"bob", 3 } },
    basic_user = { .kind = CREDENTIAL_BASIC,
	    .slot = { (const uint8_t *)"Authorization", 13 },
	    .prefix = { (const uint8_t *)"Basic ", 6 },
	    .secret_is_user = true },
    query = { .kind = CREDENTIAL_QUERY, .slot = { (const uint8_t *)"key", 3 } };

static void
attach_fills_each_slot_once(void **state)
{
	(void)state;
	struct attach a;
	struct field_list list = { 0 };
	struct program_credential dd = header(SLICE("DD-Api-Key"));
	struct program_credential same = header(SLICE("authorization"));
	enum err err;
	char value[] = "Bearer secret";

	attach_init(&a);
	assert_int_equal(attach_add(&a, &token, slice_of_str(value), &err), 0);
	memset(value, 'x', sizeof(value)); /* the caller's own is not ours */
	assert_int_equal(attach_add(&a, &dd, SLICE("k"), &err), 0);
	assert_int_equal(a.n, 2);
	assert_int_equal(a.n_fields, 2);
	assert_true(slice_eq_str(a.fields[0].value, "Bearer secret"));
	assert_true(slice_eq_str(a.secrets[0], "secret"));
	assert_true(slice_eq_str(a.secrets[1], "k"));
	assert_int_equal(attach_add(&a, &same, SLICE("again"), &err), -1);
	assert_int_equal(err, ERR_MESSAGE);
	assert_int_equal(attach_add(&a, &basic, SLICE("Basic Ym9iOng="), &err),
	    -1);

	assert_true(field_add(&list, SLICE("Accept"), SLICE("*/*")));
	assert_true(field_add(&list, SLICE("authorization"), SLICE("mine")));
	assert_true(field_add(&list, SLICE("dd_api_key"), SLICE("mine")));
	assert_true(field_add(&list, SLICE("X-Api-Key"), SLICE("other")));
	assert_int_equal(attach_clear_fields(&a, &list), 2);
	assert_int_equal(list.n, 2);
	assert_true(slice_eq_str(list.at[1].name, "X-Api-Key"));

	attach_wipe(&a);
	assert_int_equal(a.n, 0);
	attach_wipe(&a);
}

/* What is searched for is the secret, not what Basic puts around it. */
static void
attach_knows_the_secret_in_basic(void **state)
{
	(void)state;
	static const struct {
		const struct program_credential *c;
		const char *value, *secret; /* NULL: refused */
	} rows[] = {
		{ &basic, "Basic Ym9iOnMzY3JldDp4", "s3cret:x" },
		{ &basic_user, "Basic czNjcmV0Og==", "s3cret" },
		{ &basic, "Basic Ym9i", NULL },
		{ &basic, "Basic Ym9iOg==", NULL },
		{ &basic, "Basic YW5uOnMzY3JldA==", NULL },
		{ &basic_user, "Basic czNjcmV0", NULL },
		{ &basic_user, "Basic Og==", NULL },
		{ &basic, "Basic !", NULL },
		{ &basic, "Bearer Ym9iOg==", NULL },
		{ &token, "Basic x", NULL },
	};
	enum err err;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct attach a;
		attach_init(&a);
		print_message("# %s\n", rows[i].value);
		assert_int_equal(attach_add(&a, rows[i].c,
				     slice_of_str(rows[i].value), &err),
		    rows[i].secret == NULL ? -1 : 0);
		if (rows[i].secret == NULL)
			assert_int_equal(a.n, 0);
		else
			assert_true(slice_eq_str(a.secrets[0], rows[i].secret));
		attach_wipe(&a);
	}
}

static void
attach_clears_its_parameter(void **state)
{
	(void)state;
	static const char *const rows[][2] = {
		{ "", "" },
		{ "key=mine", "" },
		{ "key", "" },
		{ "a=b&key=mine&c=%2e", "a=b&c=%2e" },
		{ "KEY=1&a&k%65y=2&&b=", "a&b=" },
		{ "keys=1&akey=2", "keys=1&akey=2" },
	};
	struct attach a;
	enum err err;

	attach_init(&a);
	assert_int_equal(attach_add(&a, &query, SLICE("s3cret"), &err), 0);
	assert_int_equal(a.n_fields, 0);
	assert_int_equal(a.n_parameters, 1);
	assert_true(slice_eq_str(a.secrets[0], "s3cret"));
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint8_t room[64];
		struct wr w = wr_of(room, strlen(rows[i][0]));
		bool left =
		    attach_clear_query(&a, slice_of_str(rows[i][0]), &w);
		assert_false(w.bad);
		assert_true(slice_eq_str(wr_slice(&w), rows[i][1]));
		assert_int_equal(left, rows[i][1][0] != '\0');
	}
	attach_wipe(&a);
}

static const struct {
	const char *name;
	struct slice header, value;
} bad[] = {
	{ "empty", { (const uint8_t *)"A", 1 }, { NULL, 0 } },
	{ "line end", { (const uint8_t *)"A", 1 },
	    { (const uint8_t *)"a\r\nX: y", 7 } },
	{ "line feed", { (const uint8_t *)"A", 1 },
	    { (const uint8_t *)"a\nb", 3 } },
	{ "NUL", { (const uint8_t *)"A", 1 }, { (const uint8_t *)"a\0b", 3 } },
	{ "tab", { (const uint8_t *)"A", 1 }, { (const uint8_t *)"a\tb", 3 } },
	{ "DEL", { (const uint8_t *)"A", 1 }, { (const uint8_t *)"a\x7f", 2 } },
	{ "blank first", { (const uint8_t *)"A", 1 },
	    { (const uint8_t *)" a", 2 } },
	{ "blank last", { (const uint8_t *)"A", 1 },
	    { (const uint8_t *)"a ", 2 } },
	{ "no header", { NULL, 0 }, { (const uint8_t *)"a", 1 } },
	{ "header with a colon", { (const uint8_t *)"A:", 2 },
	    { (const uint8_t *)"a", 1 } },
};

static void
attach_refuses_what_is_no_field(void **state)
{
	(void)state;
	struct attach a;
	enum err err;

	attach_init(&a);
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		print_message("# %s\n", bad[i].name);
		struct program_credential c = header(bad[i].header);
		assert_int_equal(attach_add(&a, &c, bad[i].value, &err), -1);
		assert_int_equal(err, ERR_MESSAGE);
		assert_int_equal(a.n, 0);
	}
}

static void
attach_has_an_end(void **state)
{
	(void)state;
	struct attach a;
	enum err err;
	char name[] = "A0";

	attach_init(&a);
	for (int i = 0; i < ATTACH_MAX; i++) {
		static const char *const names[] = { "A", "B", "C", "D" };
		struct program_credential c = header(slice_of_str(names[i]));
		assert_int_equal(attach_add(&a, &c, SLICE("v"), &err), 0);
	}
	struct program_credential one_more = header(slice_of_str(name));
	assert_int_equal(attach_add(&a, &one_more, SLICE("v"), &err), -1);
	assert_int_equal(err, ERR_FULL);
	attach_wipe(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attach_fills_each_slot_once),
		cmocka_unit_test(attach_knows_the_secret_in_basic),
		cmocka_unit_test(attach_clears_its_parameter),
		cmocka_unit_test(attach_refuses_what_is_no_field),
		cmocka_unit_test(attach_has_an_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
