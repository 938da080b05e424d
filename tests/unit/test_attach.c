/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "cred/attach.h"

static void
attach_fills_each_slot_once(void **state)
{
	(void)state;
	struct attach a;
	struct field_list list = { 0 };
	enum err err;
	char value[] = "Bearer secret";

	attach_init(&a);
	assert_int_equal(attach_add(&a, SLICE("Authorization"),
			     slice_of_str(value), &err),
	    0);
	memset(value, 'x', sizeof(value)); /* the caller's own is not ours */
	assert_int_equal(attach_add(&a, SLICE("DD-Api-Key"), SLICE("k"), &err),
	    0);
	assert_int_equal(a.n, 2);
	assert_true(slice_eq_str(a.fields[0].value, "Bearer secret"));
	assert_int_equal(attach_add(&a, SLICE("authorization"), SLICE("again"),
			     &err),
	    -1);
	assert_int_equal(err, ERR_MESSAGE);

	assert_true(field_add(&list, SLICE("Accept"), SLICE("*/*")));
	assert_true(field_add(&list, SLICE("authorization"), SLICE("mine")));
	assert_true(field_add(&list, SLICE("dd_api_key"), SLICE("mine")));
	assert_true(field_add(&list, SLICE("X-Api-Key"), SLICE("other")));
	assert_int_equal(attach_clear_slots(&a, &list), 2);
	assert_int_equal(list.n, 2);
	assert_true(slice_eq_str(list.at[1].name, "X-Api-Key"));

	attach_wipe(&a);
	assert_int_equal(a.n, 0);
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
		assert_int_equal(attach_add(&a, bad[i].header, bad[i].value,
				     &err),
		    -1);
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
		assert_int_equal(attach_add(&a, slice_of_str(names[i]),
				     SLICE("v"), &err),
		    0);
	}
	assert_int_equal(attach_add(&a, slice_of_str(name), SLICE("v"), &err),
	    -1);
	assert_int_equal(err, ERR_FULL);
	attach_wipe(&a);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attach_fills_each_slot_once),
		cmocka_unit_test(attach_refuses_what_is_no_field),
		cmocka_unit_test(attach_has_an_end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
