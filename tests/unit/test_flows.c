/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "audit/flows.h"

static void
make(struct event *e, enum event_kind kind, const char *sandbox,
    const char *flow)
{
	event_init(e, kind);
	event_str(e, FIELD_SANDBOX, sandbox);
	event_str(e, FIELD_FLOW, flow);
}

static struct flows *
flows_of(const char *const *names, size_t n, const void *owner)
{
	enum err err = ERR_NONE;
	struct flows *f = flows_new(&err);
	struct event e;

	assert_non_null(f);
	for (size_t i = 0; i < n; i++) {
		make(&e, EVENT_FLOW_BEGIN, "s", names[i]);
		assert_true(flows_put(f, &e, owner));
	}
	return f;
}

static void
flows_gives_those_that_did_not_end(void **state UNUSED)
{
	static const char *const names[] = { "a", "b", "c" };
	int owner = 0, other = 0;
	struct flows *f = flows_of(names, 3, &owner);
	struct event e;

	make(&e, EVENT_FLOW_END, "s", "b");
	assert_true(flows_put(f, &e, &owner));
	/* Of another sandbox, and one that nobody began. */
	make(&e, EVENT_FLOW_END, "t", "a");
	assert_true(flows_put(f, &e, &owner));
	make(&e, EVENT_REQUEST_END, "s", "a");
	assert_true(flows_put(f, &e, &owner));
	assert_false(flows_take(f, &other, &e));
	assert_true(flows_take(f, &owner, &e));
	assert_int_equal(e.kind, EVENT_FLOW_END);
	assert_true(slice_eq_str(event_text_of(&e, FIELD_FLOW), "a"));
	assert_true(slice_eq_str(event_text_of(&e, FIELD_SANDBOX), "s"));
	assert_true(slice_eq_str(event_text_of(&e, FIELD_REASON), "internal"));
	assert_true(flows_take(f, &owner, &e));
	assert_true(slice_eq_str(event_text_of(&e, FIELD_FLOW), "c"));
	assert_false(flows_take(f, &owner, &e));
	assert_true(flows_is_empty(f));
	flows_free(f);
}

static void
flows_gives_what_was_nobodys_to_one(void **state UNUSED)
{
	static const char *const names[] = { "a", "b" };
	int owner = 0;
	struct flows *f = flows_of(names, 2, NULL);
	struct event e;

	assert_false(flows_take(f, &owner, &e));
	flows_give(f, &owner);
	assert_true(flows_take(f, &owner, &e));
	assert_true(flows_take_any(f, &e));
	assert_false(flows_take_any(f, &e));
	flows_free(f);
}

static void
flows_announced_twice_is_one(void **state UNUSED)
{
	static const char *const names[] = { "a", "a" };
	int owner = 0;
	struct flows *f = flows_of(names, 2, &owner);
	struct event e;

	assert_true(flows_take(f, &owner, &e));
	assert_true(flows_is_empty(f));
	flows_free(f);
	flows_free(NULL);
}

static void
flows_has_a_ceiling(void **state UNUSED)
{
	enum err err = ERR_NONE;
	struct flows *f = flows_new(&err);
	char name[16];
	struct event e;

	for (int i = 0; i < FLOWS_MAX; i++) {
		snprintf(name, sizeof(name), "%d", i);
		make(&e, EVENT_FLOW_BEGIN, "s", name);
		assert_true(flows_put(f, &e, NULL));
	}
	make(&e, EVENT_FLOW_BEGIN, "s", "more");
	assert_false(flows_put(f, &e, NULL));
	flows_free(f);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(flows_gives_those_that_did_not_end),
		cmocka_unit_test(flows_gives_what_was_nobodys_to_one),
		cmocka_unit_test(flows_announced_twice_is_one),
		cmocka_unit_test(flows_has_a_ceiling),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
