/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "cred/search.h"
#include "cred/watch.h"

static void
watch_counts_at_every_cut(void **state)
{
	(void)state;
	struct placeholder_set set;
	struct placeholder a, b, other;
	enum err err;
	uint8_t text[1000];
	size_t n = 0;

	placeholder_set_init(&set);
	assert_true(placeholder_make(SLICE("ghp_"), 0, &a));
	assert_true(placeholder_make(SLICE("jwt"), 1, &b));
	assert_true(placeholder_make(SLICE("ghp_"), 0, &other));
	assert_int_equal(placeholder_set_add(&set, 0, slice_of(a.text, a.n),
			     &err),
	    0);
	assert_int_equal(placeholder_set_add(&set, 1, slice_of(b.text, b.n),
			     &err),
	    0);
	struct search *forms = watch_forms(&set);
	assert_non_null(forms);

	const struct placeholder *order[] = { &a, &a, &other, &b, &a, &b };
	memset(text, '.', sizeof(text));
	for (size_t i = 0; i < COUNT_OF(order); i++) {
		memcpy(text + n, order[i]->text, order[i]->n);
		n += order[i]->n;
		n += i % 2 == 0 ? 0 : 30; /* with and without a gap */
	}
	for (size_t piece = 1; piece <= n; piece++) {
		struct watch w;
		watch_init(&w, forms);
		for (size_t at = 0; at < n; at += piece)
			watch_take(&w,
			    slice_first(slice_from(slice_of(text, n), at),
				piece));
		assert_int_equal(w.hits, 5);
	}
	search_free(forms);
	placeholder_set_release(&set);
}

static void
watch_without_placeholders_sees_none(void **state)
{
	(void)state;
	struct placeholder_set set;
	struct watch w;

	placeholder_set_init(&set);
	struct search *forms = watch_forms(&set);
	assert_non_null(forms);
	watch_init(&w, forms);
	watch_take(&w, SLICE("ghp_dUeNnA7q0123456789"));
	watch_take(&w, (struct slice){ 0 });
	assert_int_equal(w.hits, 0);
	search_free(forms);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(watch_counts_at_every_cut),
		cmocka_unit_test(watch_without_placeholders_sees_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
