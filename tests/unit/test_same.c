/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "policy/same.h"
#include "policy_bed.h"

#define CONFIG                               \
	"version: 1\n"                       \
	"credentials:\n"                     \
	"  one:\n"                           \
	"    kind: token\n"                  \
	"    secret: {file: /run/s/one}\n"   \
	"    only: [\"https://a.test/**\", " \
	"\"git+https://g.test/**\"]\n"       \
	"  two:\n"                           \
	"    kind: header\n"                 \
	"    header: X-Two\n"                \
	"    secret: {file: /run/s/two}\n"   \
	"    only: [\"https://a.test/**\"]\n"
#define HEAD "version: 1\npolicies:\n  p:\n    rules:\n"

static void
load(struct bed *b, const char *rules)
{
	char text[1024];

	snprintf(text, sizeof(text), HEAD "%s", rules);
	bed_load(b, CONFIG, text);
	if (b->program == NULL)
		print_error("%s", buf_text(&b->text));
	assert_non_null(b->program);
}

static void
same_rule_is_found_by_its_urls(void **state UNUSED)
{
	struct bed one, two;
	uint32_t near = 0;

	load(&one,
	    "      - allow: https://a.test/**\n"
	    "      - allow: [https://b.test/x, https://c.test/**]\n"
	    "      - allow: https://d.test/**\n");
	load(&two,
	    "      - allow: https://new.test/**\n"
	    "      - {name: other, allow: https://a.test/**, methods: [PUT]}\n"
	    "      - allow: [https://c.test/**, https://b.test/x]\n"
	    "      - allow: https://b.test/x\n"
	    "      - allow: https://d.test/**\n");
	assert_int_equal(same_rule(one.program, 0, two.program, &near), 1);
	assert_int_equal(near, 2);
	assert_int_equal(same_rule(one.program, 1, two.program, &near),
	    VERDICT_NONE);
	assert_int_equal(same_rule(one.program, 2, two.program, &near), 4);
	assert_int_equal(same_rule(one.program, 0, two.program, &near), 1);
	bed_release(&one);
	bed_release(&two);
}

/* clang-format off */
static const struct {
	const char *name, *rule; /* NULL: as the first */
	bool same;
} treatments[] = {
	{ "the same", "{allow: 'https://a.test/**', credential: one}", true },
	{ "other methods", "{allow: 'https://a.test/**', credential: one, methods: [GET, PUT]}", true },
	{ "a narrower path", "{allow: 'https://a.test/x/**', credential: one}", true },
	{ "no credential", "{allow: 'https://a.test/**'}", false },
	{ "another", "{allow: 'https://a.test/**', credential: two}", false },
	{ "one more", "{allow: 'https://a.test/**', credential: [one, two]}", false },
	{ "what the client has is stripped", "{allow: 'https://a.test/**', credential: one, foreign_credentials: strip}", true },
	{ "only reported", "{allow: 'https://a.test/**', report: true}", false },
};
/* clang-format on */

static void
same_treatment_is_told_from_another(void **state UNUSED)
{
	struct bed one, two;
	char rule[256];

	load(&one, "      - {allow: 'https://a.test/**', credential: one}\n");
	for (size_t i = 0; i < COUNT_OF(treatments); i++) {
		print_message("# %s\n", treatments[i].name);
		snprintf(rule, sizeof(rule),
		    "      - allow: https://first.test/**\n      - %s\n",
		    treatments[i].rule);
		load(&two, rule);
		struct facts f =
		    bed_request(one.program, "GET", "https://a.test/x/y");
		struct verdict v = policy_decide(one.program, &f);
		assert_true(v.allow);
		f = bed_request(two.program, "GET", "https://a.test/x/y");
		struct verdict w = policy_decide(two.program, &f);
		assert_true(w.allow);
		assert_int_equal(same_treatment(one.program, &v, two.program,
				     &w),
		    treatments[i].same);
		bed_release(&two);
	}
	bed_release(&one);
}

/* clang-format off */
static const struct {
	const char *name, *rule;
	bool same;
} gits[] = {
	{ "the same", "{allow: 'git+https://g.test/**', fetch: true, forge: none, push: {branches: ['a/**']}}", true },
	{ "other branches", "{allow: 'git+https://g.test/**', fetch: true, forge: none, push: {branches: ['b/**']}}", false },
	{ "one more", "{allow: 'git+https://g.test/**', fetch: true, forge: none, push: {branches: ['a/**', 'b/**']}}", false },
	{ "force", "{allow: 'git+https://g.test/**', fetch: true, forge: none, push: {branches: ['a/**'], force: true}}", false },
	{ "files that stay", "{allow: 'git+https://g.test/**', fetch: true, forge: none, push: {branches: ['a/**'], keep: [x]}}", false },
	{ "no git", "{allow: 'https://g.test/**', methods: any}", false },
};
/* clang-format on */

static void
same_leave_of_git_is_told_from_another(void **state UNUSED)
{
	struct bed one, two;
	char rule[256];

	load(&one,
	    "      - {allow: 'git+https://g.test/**', fetch: true, forge: none, push: "
	    "{branches: ['a/**']}}\n");
	for (size_t i = 0; i < COUNT_OF(gits); i++) {
		const struct verdict v = { .allow = true, .rule = 0 };
		const struct verdict w = { .allow = true, .rule = 1 };

		print_message("# %s\n", gits[i].name);
		snprintf(rule, sizeof(rule),
		    "      - allow: https://first.test/**\n      - %s\n",
		    gits[i].rule);
		load(&two, rule);
		assert_int_equal(same_treatment(one.program, &v, two.program,
				     &w),
		    gits[i].same);
		bed_release(&two);
	}
	bed_release(&one);
}

static void
same_credentials_have_the_same_places(void **state UNUSED)
{
	static const char other[] = "version: 1\n"
				    "credentials:\n"
				    "  one:\n"
				    "    kind: token\n"
				    "    secret: {file: /run/s/one}\n"
				    "    only: [\"https://a.test/**\"]\n";
	struct bed one, two, three;

	load(&one, "      - allow: https://a.test/**\n");
	load(&two, "      - allow: https://b.test/**\n");
	bed_load(&three, other, HEAD "      - allow: https://a.test/**\n");
	assert_non_null(three.program);
	assert_true(same_credentials(one.program, two.program));
	assert_false(same_credentials(one.program, three.program));
	bed_release(&one);
	bed_release(&two);
	bed_release(&three);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(same_rule_is_found_by_its_urls),
		cmocka_unit_test(same_treatment_is_told_from_another),
		cmocka_unit_test(same_leave_of_git_is_told_from_another),
		cmocka_unit_test(same_credentials_have_the_same_places),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
