/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/wr.h"
#include "priv/owners.h"

static int
put(struct owners *o, uint32_t id, uint32_t worker, const char *name)
{
	uint8_t body[128];
	struct wr w = wr_of(body, sizeof(body));
	enum err err = ERR_NONE;

	wr_u32(&w, id);
	wr_u32(&w, worker);
	wr_slice8(&w, slice_of_str(name));
	return owners_take(o, wr_slice(&w), NULL, NULL, &err);
}

static bool
may(struct owners *o, uint32_t worker, uint32_t sandbox)
{
	uint8_t body[4];
	struct wr w = wr_of(body, sizeof(body));

	wr_u32(&w, sandbox);
	return owners_may(o, worker, wr_slice(&w));
}

static void
one_worker_may_not_speak_of_anothers(void **state)
{
	enum err err = ERR_NONE;
	struct owners *o = owners_new(&err);

	(void)state;
	assert_non_null(o);
	assert_int_equal(put(o, 7, 1, "a"), 0);
	assert_int_equal(put(o, 8, 2, "b"), 0);
	assert_true(may(o, 1, 7));
	assert_false(may(o, 2, 7));
	assert_false(may(o, 1, 8));
	assert_false(may(o, 0, 8));
	/* Of one that is not known somebody else says so. */
	assert_true(may(o, 1, 9));
	assert_int_equal(owners_of_name(o, SLICE("b")), 2);
	assert_int_equal(owners_of_name(o, SLICE("c")), 0);
	owners_forget(o, 8);
	owners_forget(o, 8);
	assert_int_equal(owners_of(o, 8), 0);
	assert_int_equal(owners_of_name(o, SLICE("b")), 0);
	owners_free(o);
}

static void
a_name_or_number_has_one_owner(void **state)
{
	enum err err = ERR_NONE;
	struct owners *o = owners_new(&err);

	(void)state;
	assert_int_equal(put(o, 7, 1, "a"), 0);
	assert_int_equal(put(o, 7, 2, "a"), 0); /* another worker has it now */
	assert_false(may(o, 1, 7));
	assert_int_equal(put(o, 9, 3, "a"), 0); /* attached again */
	assert_int_equal(owners_of_name(o, SLICE("a")), 3);
	assert_int_equal(owners_of(o, 7), 0);
	/* What is none. */
	assert_int_equal(put(o, 9, 0, "a"), -1);
	assert_int_equal(put(o, 9, 3, ""), -1);
	assert_int_equal(owners_take(o, SLICE("abc"), NULL, NULL, &err), -1);
	assert_int_equal(err, ERR_MESSAGE);
	assert_int_equal(owners_of(o, 9), 3);
	owners_free(o);
}

static void
the_oldest_go_first(void **state)
{
	enum err err = ERR_NONE;
	struct owners *o = owners_new(&err);
	char name[16];

	(void)state;
	for (uint32_t i = 0; i <= OWNERS_MAX; i++) {
		snprintf(name, sizeof(name), "s-%u", i);
		assert_int_equal(put(o, i, 1, name), 0);
	}
	assert_int_equal(owners_of(o, 0), 0);
	assert_int_equal(owners_of(o, 1), 1);
	assert_int_equal(owners_of(o, OWNERS_MAX), 1);
	owners_free(o);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_worker_may_not_speak_of_anothers),
		cmocka_unit_test(a_name_or_number_has_one_owner),
		cmocka_unit_test(the_oldest_go_first),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
