/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/nearest.h"

static const struct {
	const char *text, *want; /* empty: too far */
} rows[] = {
	{ "methods", "methods" },
	{ "Methods", "methods" }, /* case is no slip */
	{ "method", "methods" },
	{ "methodsx", "methods" },
	{ "emthods", "methods" }, /* two exchanged: one slip */
	{ "emthosd", "methods" }, /* twice */
	{ "emthosdx", "" },	  /* and one more */
	{ "xmethxods", "methods" },
	{ "alloxw", "allow" },
	{ "naxe", "name" },
	{ "na", "" }, /* two of two would be every word */
	{ "n", "" },
	{ "", "" },
	{ "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrst", "" },
};

static void
nearest_is_at_most_two_slips_away(void **state)
{
	static const char *const known[] = { "name", "allow", "deny", "methods",
		"query" };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct nearest n = nearest_to(slice_of_str(rows[i].text));
		for (size_t k = 0; k < COUNT_OF(known); k++)
			nearest_look(&n, slice_of_str(known[k]));
		print_message("# %s\n", rows[i].text);
		assert_true(slice_eq_str(n.best, rows[i].want));
	}
}

static void
nearest_says_nothing_if_nothing_is_near(void **state)
{
	struct nearest n = nearest_to(SLICE("alloxw"));
	char text[64];

	(void)state;
	snprintf(text, sizeof(text), "x" NEAREST_FMT, NEAREST_ARG(n));
	assert_string_equal(text, "x");
	nearest_look(&n, SLICE("allow"));
	snprintf(text, sizeof(text), "x" NEAREST_FMT, NEAREST_ARG(n));
	assert_string_equal(text, "x; did you mean `allow`?");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nearest_is_at_most_two_slips_away),
		cmocka_unit_test(nearest_says_nothing_if_nothing_is_near),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
