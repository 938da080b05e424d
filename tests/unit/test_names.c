/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "dial/names.h"
#include "policy/verdict.h"

static bool
spend(struct names *names, unsigned i, uint64_t now_ms)
{
	char text[32];
	int n = snprintf(text, sizeof(text), "n%u.wild.test", i);

	return names_spend(names, LIMIT_NAMES_PER_HOUR,
	    slice_of(text, (size_t)n), now_ms);
}

static void
names_count_distinct_ones_within_an_hour(void **state)
{
	static struct names names;
	uint64_t now = 5;
	(void)state;

	for (unsigned i = 0; i < LIMIT_NAMES_PER_HOUR; i++)
		assert_true(spend(&names, i, now + i));
	assert_false(spend(&names, 1000, now + 100));
	for (unsigned i = 0; i < LIMIT_NAMES_PER_HOUR; i++)
		assert_true(spend(&names, i, now + 100 + i));

	/* An hour after the last use of the first, one more has its place. */
	now += 100 + NAMES_MS;
	assert_false(spend(&names, 1000, now - 1));
	assert_true(spend(&names, 1000, now));
	assert_false(spend(&names, 1001, now));
	assert_false(spend(&names, 0, now));
	assert_true(spend(&names, 1, now));
	/* That one was used again; the next in age gives up its place. */
	assert_false(spend(&names, 0, now + 1));
	assert_true(spend(&names, 0, now + 2));
	names_release(&names);
}

static void
names_refuse_what_is_too_long(void **state)
{
	static struct names names;
	uint8_t text[NAMES_TEXT_MAX + 1] = { 'a' };
	(void)state;

	assert_false(names_spend(&names, LIMIT_NAMES_PER_HOUR,
	    slice_of(text, sizeof(text)), 1));
	assert_true(names_spend(&names, LIMIT_NAMES_PER_HOUR,
	    slice_of(text, NAMES_TEXT_MAX), 1));
	assert_true(names_spend(&names, LIMIT_NAMES_PER_HOUR,
	    slice_of(text, NAMES_TEXT_MAX), 2));
	assert_int_equal(names.n, 1);
	names_release(&names);
}

static void
names_of_a_rule_are_its_own(void **state)
{
	struct names_list list = SLIST_HEAD_INITIALIZER(list);
	struct slice name = SLICE("a.test"), other = SLICE("b.test");
	(void)state;

	assert_true(names_spend(names_of(&list, 3), 1, name, 1));
	assert_true(names_spend(names_of(&list, 3), 1, name, 2));
	assert_false(names_spend(names_of(&list, 3), 1, other, 2));
	assert_true(names_spend(names_of(&list, 4), 1, other, 2));
	assert_true(names_of(&list, 3) == names_of(&list, 3));
	assert_true(names_spend(names_of(&list, 3), 1, other, 2 + NAMES_MS));
	names_list_release(&list);
	assert_true(SLIST_EMPTY(&list));
}

static uint32_t
one_more_or_gone(uint32_t rule, void *arg)
{
	(void)arg;
	return rule == 4 ? VERDICT_NONE : rule + 1;
}

static void
names_of_a_rule_follow_its_number(void **state)
{
	struct names_list list = SLIST_HEAD_INITIALIZER(list);
	struct slice name = SLICE("a.test"), other = SLICE("b.test");
	(void)state;

	assert_true(names_spend(names_of(&list, 3), 1, name, 1));
	assert_true(names_spend(names_of(&list, 4), 1, name, 1));
	assert_true(names_spend(names_of(&list, 9), 1, name, 1));
	names_list_renumber(&list, one_more_or_gone, NULL);
	assert_false(names_spend(names_of(&list, 4), 1, other, 2));
	assert_false(names_spend(names_of(&list, 10), 1, other, 2));
	assert_true(names_spend(names_of(&list, 3), 1, other, 2));
	names_list_release(&list);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_count_distinct_ones_within_an_hour),
		cmocka_unit_test(names_refuse_what_is_too_long),
		cmocka_unit_test(names_of_a_rule_are_its_own),
		cmocka_unit_test(names_of_a_rule_follow_its_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
