/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/buf.h"

static void
buf_grows_up_to_its_ceiling(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 1000);
	for (int i = 0; i < 100; i++)
		assert_true(buf_put(&b, SLICE("0123456789")));
	assert_int_equal(b.n, 1000);
	assert_false(buf_put_byte(&b, 'x'));
	assert_true(b.failed);
	/* Whatever fits later is refused as well: one check at the end. */
	buf_drop(&b, 500);
	assert_false(buf_put_byte(&b, 'x'));
	buf_clear(&b);
	assert_true(buf_put_byte(&b, 'x'));
	buf_release(&b);
}

static void
buf_text_is_terminated_at_the_ceiling(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 4);
	assert_string_equal(buf_text(&b), "");
	assert_true(buf_put_str(&b, "abcd"));
	assert_string_equal(buf_text(&b), "abcd");
	assert_int_equal(b.n, 4);
	buf_wipe(&b);
	assert_null(b.p);
}

static void
buf_putf_writes_and_counts(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 64);
	assert_true(buf_putf(&b, "%s-%d", "a", 7));
	assert_true(buf_putf(&b, "%s", ""));
	assert_true(slice_eq(buf_slice(&b), SLICE("a-7")));
	/* Where it just fits, and where the first try is cut. */
	for (int n = 1; n < 61; n++) {
		buf_clear(&b);
		assert_true(buf_putf(&b, "a-7%0*d", n, 1));
		assert_int_equal(b.n, 3 + n);
		assert_true(buf_text(&b)[n + 2] == '1');
	}
	buf_clear(&b);
	assert_true(buf_putf(&b, "%064d", 1));
	assert_int_equal(b.n, 64);
	assert_false(buf_putf(&b, "x"));
	buf_clear(&b);
	assert_false(buf_putf(&b, "%070d", 1));
	assert_true(b.failed);
	buf_release(&b);
}

static void
buf_put_number_is_decimal(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 64);
	buf_put_number(&b, 0);
	buf_put_byte(&b, ' ');
	buf_put_number(&b, 907);
	buf_put_byte(&b, ' ');
	buf_put_number(&b, UINT64_MAX);
	assert_string_equal(buf_text(&b), "0 907 18446744073709551615");
	buf_release(&b);
}

static void
buf_drop_moves_the_rest_to_the_front(void **state)
{
	struct buf b;

	(void)state;
	buf_init(&b, 64);
	buf_put_str(&b, "headbody");
	buf_drop(&b, 4);
	assert_true(slice_eq(buf_slice(&b), SLICE("body")));
	buf_drop(&b, 99);
	assert_int_equal(b.n, 0);
	buf_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(buf_grows_up_to_its_ceiling),
		cmocka_unit_test(buf_text_is_terminated_at_the_ceiling),
		cmocka_unit_test(buf_putf_writes_and_counts),
		cmocka_unit_test(buf_put_number_is_decimal),
		cmocka_unit_test(buf_drop_moves_the_rest_to_the_front),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
