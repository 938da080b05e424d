/* SPDX-License-Identifier: Apache-2.0 */
/* Who is answered in JSON: what clients really send, and odd ranges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "wire/accept.h"

static bool
prefers(const char *value)
{
	static struct field_list list;

	list.n = 0;
	assert_true(field_add(&list, SLICE("aCCept"), slice_of_str(value)));
	return accept_prefers_json(&list);
}

static void
accept_goes_by_weight_then_place(void **state)
{
	static const struct {
		const char *value;
		bool json;
	} rows[] = {
		{ "*/*", false }, /* curl, git's info/refs */
		{ "", false },
		{ "application/problem+json", true },
		{ "application/json", true },
		{ "application/json, text/plain, */*", true },	   /* axios */
		{ "application/vnd.github+json", true },	   /* octokit */
		{ "application/vnd.git-lfs+json", true },	   /* git-lfs */
		{ "application/x-git-upload-pack-result", false }, /* git */
		{ "text/html,application/xml;q=0.9,*/*;q=0.8", false },
		{ "text/plain, application/json", false },
		{ "text/plain;q=0.5, application/json", true },
		{ "text/plain;q=0.5, application/json;q=0.4", false },
		{ "*/*, application/json", false },
		{ "*/*;q=0.1, application/json;q=0.9", true },
		{ "APPLICATION/JSON;charset=utf-8", true },
		{ "application/json ; q=0", false },
		{ "application/json;q=0.000", false },
		{ "application/json;Q=0.001", true },
		{ "application/json;q=1.001", false },
		{ "application/json;q=2", false },
		{ "application/json;q=0.1234", false },
		{ "application/json;q=", false },
		{ "application/json;q=.5", false },
		{ "application/jsonx, +json, application/+json", false },
		{ "image/png, application/json;q=0.2", true },
		{ ",, ,;q=1,application/json,", true },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		print_message("# %s\n", rows[i].value);
		assert_int_equal(prefers(rows[i].value), rows[i].json);
	}
}

static void
accept_reads_several_fields_as_one(void **state)
{
	static struct field_list list;

	(void)state;
	list.n = 0;
	assert_false(accept_prefers_json(&list));
	assert_true(
	    field_add(&list, SLICE("X-Accept"), SLICE("application/json")));
	assert_false(accept_prefers_json(&list));
	assert_true(field_add(&list, SLICE("Accept"), SLICE("text/*;q=0.3")));
	assert_true(field_add(&list, SLICE("Accept"),
	    SLICE("application/problem+json")));
	assert_true(accept_prefers_json(&list));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(accept_goes_by_weight_then_place),
		cmocka_unit_test(accept_reads_several_fields_as_one),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
