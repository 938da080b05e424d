/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/limits.h"
#include "record/denials.h"

static void
denial(struct event *e, const char *sandbox, const char *host)
{
	event_init(e, EVENT_REQUEST_END);
	event_str(e, FIELD_SANDBOX, sandbox);
	event_str(e, FIELD_VERDICT, "deny");
	event_reason(e, REASON_HTTP_PATH_DENIED);
	event_str(e, FIELD_HOST, host);
	event_str(e, FIELD_METHOD, "GET");
}

static struct denials *
new_denials(void)
{
	enum err err = ERR_NONE;
	struct denials *d = denials_new(&err);

	assert_non_null(d);
	return d;
}

/* How many of `n` at that time are above the budget. */
static size_t
count(struct denials *d, const char *sandbox, const char *host, size_t n,
    uint64_t now_ms)
{
	size_t above = 0;
	struct event e;

	denial(&e, sandbox, host);
	for (size_t i = 0; i < n; i++)
		above += denials_count(d, &e, now_ms) ? 1 : 0;
	return above;
}

static void
denials_has_a_burst_and_then_a_rate(void **state UNUSED)
{
	struct denials *d = new_denials();
	const size_t burst = LIMIT_DENIALS_BURST, rate = LIMIT_DENIALS_PER_S;

	assert_int_equal(count(d, "s", "h", burst, 5000), 0);
	assert_true(denials_is_empty(d));
	assert_int_equal(count(d, "s", "h", 10, 5000), 10);
	assert_false(denials_is_empty(d));
	/* Another sandbox has its own. */
	assert_int_equal(count(d, "t", "h", burst, 5000), 0);
	assert_int_equal(count(d, "s", "h", rate + 3, 6000), 3);
	assert_int_equal(count(d, "s", "h", rate / 10 + 1, 6100), 1);
	/* A clock that stands still or is far ahead does no harm. */
	assert_int_equal(count(d, "s", "h", 1, 6000), 1);
	assert_int_equal(count(d, "s", "h", burst + 1, UINT64_MAX), 1);
	denials_free(d);
}

/* DO-11 */
static void
denials_adds_up_equal_ones_exactly(void **state UNUSED)
{
	struct denials *d = new_denials();
	struct event e;
	uint64_t a = 0, b = 0;

	count(d, "s", "a", LIMIT_DENIALS_BURST, 1);
	count(d, "s", "a", 7, 1);
	count(d, "s", "b", 5, 1);
	count(d, "s", "a", 2, 1);
	while (denials_take(d, &e)) {
		uint64_t n = event_number_of(&e, FIELD_COUNTED);
		assert_int_equal(e.kind, EVENT_REQUEST_END);
		assert_false(event_has(&e, FIELD_DETAIL));
		if (slice_eq_str(event_text_of(&e, FIELD_HOST), "a"))
			a += n;
		else
			b += n;
	}
	assert_int_equal(a, 9);
	assert_int_equal(b, 5);
	assert_true(denials_is_empty(d));
	denials_free(d);
	denials_free(NULL);
}

static void
denials_of_many_kinds_are_bounded_and_still_exact(void **state UNUSED)
{
	struct denials *d = new_denials();
	uint64_t total = 0, records = 0;
	char host[32];
	struct event e;

	count(d, "s", "h", LIMIT_DENIALS_BURST, 1);
	for (int i = 0; i < 20000; i++) {
		snprintf(host, sizeof(host), "h%d.test", i);
		assert_int_equal(count(d, "s", host, 1, 1), 1);
	}
	while (denials_take(d, &e)) {
		total += event_number_of(&e, FIELD_COUNTED);
		records++;
	}
	assert_int_equal(total, 20000);
	assert_int_equal(records, DENIALS_KINDS_MAX + 1);
	denials_free(d);
}

static void
denials_of_many_sandboxes_share_a_budget(void **state UNUSED)
{
	struct denials *d = new_denials();
	size_t above = 0;
	char name[32];

	for (int i = 0; i < DENIALS_SANDBOXES_MAX + LIMIT_DENIALS_BURST + 5;
	     i++) {
		snprintf(name, sizeof(name), "s%d", i);
		above += count(d, name, "h", 1, 1);
	}
	assert_int_equal(above, 5);
	denials_free(d);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(denials_has_a_burst_and_then_a_rate),
		cmocka_unit_test(denials_adds_up_equal_ones_exactly),
		cmocka_unit_test(
		    denials_of_many_kinds_are_bounded_and_still_exact),
		cmocka_unit_test(denials_of_many_sandboxes_share_a_budget),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
