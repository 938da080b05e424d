/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "policy/hostset.h"
#include "policy/inside.h"
#include "policy_bed.h"

static const char policy[] = "version: 1\n"
			     "policies:\n"
			     "  p:\n"
			     "    rules:\n"
			     "      - allow: https://a.test/\n"
			     "      - allow: https://*.a.test/\n"
			     "      - allow: https://**.a.test/\n"
			     "      - allow: https://x.a.test/\n"
			     "      - allow: https://**.b.c.test/\n"
			     "      - allow: https://10.0.0.1/\n"
			     "      - allow: https://[fd00::1]/\n"
			     "      - allow: https://**/\n";

static const struct {
	const char *name;
	const char *found; /* most specific first; `!` before what is for deny
			      rules alone */
} rows[] = {
	{ "a.test", "a.test **" },
	{ "x.a.test", "x.a.test *.a.test **.a.test **" },
	{ "y.a.test", "*.a.test **.a.test **" },
	{ "z.y.a.test", "**.a.test **" },
	{ "x.x.a.test", "**.a.test **" },
	{ "b.c.test", "**" },
	{ "q.b.c.test", "**.b.c.test **" },
	{ "test.a", "**" },
	{ "aa.test", "**" },
	{ "_x.a.test", "!*.a.test !**.a.test !**" },
	{ "xn--q.a.test", "!*.a.test !**.a.test !**" },
	{ "q.xn--q.a.test", "!**.a.test !**" },
	{ "10.0.0.1", "10.0.0.1" },
	{ "10.0.0.2", "" },
	{ "fd00::1", "fd00::1" },
	{ "::1", "" },
};

static void
put(struct buf *out, const struct image *m, const struct host_match *found)
{
	if (out->n != 0)
		buf_put_byte(out, ' ');
	buf_put_str(out, found->deny_only ? "!" : "");
	buf_put(out, image_string(m, TABLE_HOSTS, found->host, HOST_TEXT_S));
}

static void
hostset_finds_each_pattern(void **state)
{
	struct bed b;

	(void)state;
	bed_load_trusted(&b, NULL, policy);
	assert_non_null(b.program);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct host_matches found;
		struct buf out;
		buf_init(&out, 1024);
		hostset_match(&b.program->image, slice_of_str(rows[i].name),
		    &found);
		for (uint32_t k = 0; k < found.n; k++)
			put(&out, &b.program->image, &found.at[k]);
		print_message("# %s\n", rows[i].name);
		assert_string_equal(buf_text(&out), rows[i].found);
		buf_release(&out);
	}
	bed_release(&b);
}

/* The tree and the single pattern agree, whatever the name. */
static void
hostset_one_agrees_with_the_tree(void **state)
{
	struct bed b;

	(void)state;
	bed_load_trusted(&b, NULL, policy);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const struct image *m = &b.program->image;
		struct slice name = slice_of_str(rows[i].name);
		struct host_matches found;
		hostset_match(m, name, &found);
		for (uint32_t h = 0; h < image_count(m, TABLE_HOSTS); h++) {
			struct slice text =
			    image_string(m, TABLE_HOSTS, h, HOST_TEXT_S);
			enum host_kind kind = (enum host_kind)image_word(m,
			    TABLE_HOSTS, h, HOST_KIND);
			size_t skip = kind == HOST_STAR ? 2 :
			    kind == HOST_DOUBLE		? 3 :
							  0;
			bool in = false;
			for (uint32_t k = 0; k < found.n; k++)
				in = in ||
				    (found.at[k].host == h &&
					!found.at[k].deny_only);
			assert_int_equal(hostset_one(kind,
					     slice_from(text, skip), name),
			    in);
		}
	}
	bed_release(&b);
}

static void
hostset_finds_what_covers_a_pattern(void **state)
{
	struct host_matches found;
	struct bed b;

	(void)state;
	bed_load_trusted(&b, NULL, policy);
	const struct image *m = &b.program->image;
	for (uint32_t h = 0; h < image_count(m, TABLE_HOSTS); h++) {
		hostset_covering(m, h, &found);
		assert_true(found.n >= 1);
		assert_int_equal(found.at[0].host, h);
		struct slice text =
		    image_string(m, TABLE_HOSTS, h, HOST_TEXT_S);
		if (slice_eq_str(text, "*.a.test"))
			assert_int_equal(found.n, 3);
		if (slice_eq_str(text, "**.b.c.test"))
			assert_int_equal(found.n, 2);
	}
	bed_release(&b);
}

/* No number of labels makes a walk long or writes past its room. */
static void
hostset_bears_127_labels(void **state)
{
	char name[254];
	struct buf yaml;
	struct bed b;
	struct host_matches found;

	(void)state;
	for (size_t i = 0; i < sizeof(name) - 1; i++)
		name[i] = i % 2 == 0 ? 'a' : '.';
	name[sizeof(name) - 1] = '\0';
	buf_init(&yaml, 1 << 20);
	buf_put_str(&yaml,
	    "version: 1\npolicies:\n  p:\n    rules:\n"
	    "      - allow: https://**/\n");
	for (size_t at = sizeof(name) - 4; at >= 2; at -= 2)
		buf_putf(&yaml, "      - allow: https://**.%s/\n", name + at);
	buf_putf(&yaml, "      - allow: https://*.%s/\n", name + 2);
	buf_putf(&yaml, "      - allow: https://%s/\n", name);
	bed_load(&b, NULL, buf_text(&yaml));
	if (b.program == NULL)
		print_message("# %s", buf_text(&b.text));
	assert_non_null(b.program);
	hostset_match(&b.program->image, slice_of_str(name), &found);
	assert_int_equal(found.n, 128);
	bed_release(&b);
	buf_release(&yaml);
}

#define MANY 3000

/* Label `i` of those whose hashes are below `below`, or of all. */
static unsigned
label_below(unsigned i, uint32_t below)
{
	char label[16];

	for (;; i++) {
		snprintf(label, sizeof(label), "h%u", i);
		if (hostset_hash(slice_of_str(label)) <= below)
			return i;
	}
}

/* Names whose hashes lie anywhere, or all in one corner but for one. */
static void
find_many(uint32_t below, unsigned n)
{
	struct buf yaml;
	struct bed b;
	unsigned label = 0;

	buf_init(&yaml, 1 << 20);
	buf_put_str(&yaml, "version: 1\npolicies:\n  p:\n    rules:\n");
	for (unsigned i = 0; i < n; i++, label++) {
		label = label_below(label, below);
		buf_putf(&yaml, "      - allow: https://h%u.test/\n", label);
	}
	buf_put_str(&yaml, "      - allow: https://h.test/\n");
	bed_load(&b, NULL, buf_text(&yaml));
	assert_non_null(b.program);
	for (unsigned i = 0; i <= label; i++) {
		const struct image *m = &b.program->image;
		struct host_matches found;
		char name[32];
		struct ip ip;
		snprintf(name, sizeof(name), "h%u.test", i);
		hostset_match(m, slice_of_str(name), &found);
		bool wanted = i < label && label_below(i, below) == i;
		assert_int_equal(found.n, wanted ? 1 : 0);
		if (!wanted)
			continue;
		assert_true(slice_eq_str(image_string(m, TABLE_HOSTS,
					     found.at[0].host, HOST_TEXT_S),
		    name));
		assert_true(
		    program_address(b.program, slice_of_str(name), &ip));
		assert_int_equal(hostset_by_address(m, &ip), found.at[0].host);
	}
	bed_release(&b);
	buf_release(&yaml);
}

static void
hostset_finds_one_of_many(void **state)
{
	(void)state;
	find_many(UINT32_MAX, MANY);
	find_many(UINT32_MAX / 64, MANY / 10);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hostset_finds_each_pattern),
		cmocka_unit_test(hostset_one_agrees_with_the_tree),
		cmocka_unit_test(hostset_finds_what_covers_a_pattern),
		cmocka_unit_test(hostset_bears_127_labels),
		cmocka_unit_test(hostset_finds_one_of_many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
