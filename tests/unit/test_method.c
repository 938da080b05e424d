/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/attr.h"
#include "policy/method.h"

static void
method_finds_each_by_its_name(void **state)
{
	(void)state;
	for (unsigned i = 0; i < METHOD_COUNT; i++) {
		struct slice name = slice_of_str(method_name((enum method)i));
		assert_int_equal(method_bit(name), METHOD_BIT(i));
		assert_true((METHODS_ANY & METHOD_BIT(i)) != 0);
	}
	assert_int_equal(METHODS_DEFAULT,
	    method_bit(SLICE("GET")) | method_bit(SLICE("HEAD")));
}

/* PT-21 */
static void
method_knows_no_other(void **state)
{
	static const char *const none[] = { "", "get", "Get", "GETX", "GE",
		"G=ET", "GET ", "TRACE", "CONNECT", "PRI" };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(none); i++)
		assert_int_equal(method_bit(slice_of_str(none[i])), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(method_finds_each_by_its_name),
		cmocka_unit_test(method_knows_no_other),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
