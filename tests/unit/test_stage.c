/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "http/stage.h"

static unsigned n_freed;

/* Holds one byte back, and writes each in upper case. */
struct loud {
	struct stage stage;
	bool has;
	uint8_t held;
};

static bool
loud_take(struct stage *s, struct slice in, bool last, struct buf *out,
    struct parse_fail *fail)
{
	struct loud *l = (struct loud *)s;

	for (size_t i = 0; i < in.n; i++) {
		if (in.p[i] == '!') {
			*fail = (struct parse_fail){ REASON_CRED_LEAK,
				"it shouts", i };
			return false;
		}
		if (l->has)
			buf_put_byte(out, l->held);
		l->held = in.p[i] >= 'a' && in.p[i] <= 'z' ?
		    (uint8_t)(in.p[i] - 32) :
		    in.p[i];
		l->has = true;
	}
	if (last && l->has) {
		buf_put_byte(out, l->held);
		l->has = false;
	}
	return true;
}

static void
loud_free(struct stage *s)
{
	n_freed++;
	free(s);
}

static void
add_loud(struct stages *s)
{
	static const struct stage_ops ops = { loud_take, loud_free };
	struct loud *l = calloc(1, sizeof(*l));

	assert_non_null(l);
	l->stage.ops = &ops;
	stages_add(s, &l->stage);
}

static void
stages_hold_and_give_in_order(void **state)
{
	(void)state;
	struct stages s;
	struct slice out;
	struct parse_fail fail;

	n_freed = 0;
	stages_init(&s);
	assert_true(stages_is_empty(&s));
	assert_true(stages_run(&s, SLICE("as it is"), false, &out, &fail));
	assert_true(slice_eq(out, SLICE("as it is")));
	add_loud(&s);
	add_loud(&s);
	assert_false(stages_is_empty(&s));
	assert_true(stages_run(&s, SLICE("abc"), false, &out, &fail));
	assert_true(slice_eq(out, SLICE("A")));
	assert_true(stages_run(&s, SLICE(""), false, &out, &fail));
	assert_int_equal(out.n, 0);
	assert_true(stages_run(&s, SLICE("d"), true, &out, &fail));
	assert_true(slice_eq(out, SLICE("BCD")));
	stages_release(&s);
	assert_int_equal(n_freed, 2);
}

static void
stages_fail_with_a_reason(void **state)
{
	(void)state;
	struct stages s;
	struct slice out;
	struct parse_fail fail = { REASON_ALLOW, "", 0 };

	stages_init(&s);
	add_loud(&s);
	assert_false(stages_run(&s, SLICE("ab!"), false, &out, &fail));
	assert_int_equal(fail.reason, REASON_CRED_LEAK);
	assert_string_equal(fail.detail, "it shouts");
	stages_release(&s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stages_hold_and_give_in_order),
		cmocka_unit_test(stages_fail_with_a_reason),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
