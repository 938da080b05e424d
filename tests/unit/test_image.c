/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/attr.h"
#include "load/build.h"

static const uint32_t words[] = { 4, 1 };

static const struct image_check checks[] = {
	{ 0, 0, CHECK_STRING, 0 },
	{ 0, 2, CHECK_INDEX_OR_NONE, 1 },
	{ 0, 3, CHECK_BELOW, 5 },
	{ 1, 0, CHECK_INDEX, 0 },
};

static const struct image_form form = { 0x74657374, 2, words, checks,
	COUNT_OF(checks), 1 };

/* An image of one record in each table. */
static void
make(struct buf *out, struct slice text, const uint32_t more[3])
{
	static const uint8_t key[IMAGE_KEY_SIZE] = { 1, 2, 3 };
	struct build b;

	build_init(&b);
	build_string(&b, 0, text);
	build_word(&b, 0, more[0]);
	build_word(&b, 0, more[1]);
	build_word(&b, 1, more[2]);
	buf_init(out, 65536);
	assert_true(build_finish(&b, &form, SLICE("name"), key, out));
	build_release(&b);
}

static void
image_reads_what_was_built(void **state)
{
	const uint32_t more[] = { IMAGE_NONE, 4, 0 };
	struct image m;
	struct buf out;

	(void)state;
	make(&out, SLICE("text"), more);
	assert_true(image_open(buf_slice(&out), &form, &m));
	assert_int_equal(image_count(&m, 0), 1);
	assert_true(slice_eq_str(image_string(&m, 0, 0, 0), "text"));
	assert_int_equal(image_word(&m, 0, 0, 2), IMAGE_NONE);
	assert_int_equal(image_word(&m, 0, 0, 3), 4);
	buf_release(&out);
}

static void
image_refuses_references_that_lead_out(void **state)
{
	static const uint32_t bad[][3] = { { 1, 0, 0 }, { 0, 5, 0 },
		{ 0, 0, 1 }, { 0, 0, IMAGE_NONE } };
	struct image m;
	struct buf out;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		make(&out, SLICE("text"), bad[i]);
		assert_false(image_open(buf_slice(&out), &form, &m));
		buf_release(&out);
	}
}

static void
image_refuses_another_magic_version_or_size(void **state)
{
	const uint32_t more[] = { 0, 0, 0 };
	static const size_t at[] = { 3, 7, 11 }; /* last bytes of each word */
	struct image m;
	struct buf out;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(at); i++) {
		make(&out, SLICE("text"), more);
		assert_true(image_open(buf_slice(&out), &form, &m));
		out.p[at[i]] ^= 1;
		assert_false(image_open(buf_slice(&out), &form, &m));
		buf_release(&out);
	}
}

static void
image_refuses_flags_that_nobody_knows(void **state)
{
	const uint32_t more[] = { 0, 0, 0 };
	uint8_t *last;
	struct image m;
	struct buf out;

	(void)state;
	make(&out, SLICE("text"), more);
	last = out.p + HEAD_FLAG_BITS * 4 + 3;
	*last = 1;
	assert_true(image_open(buf_slice(&out), &form, &m));
	assert_int_equal(image_flags(&m), 1);
	*last = 2;
	assert_false(image_open(buf_slice(&out), &form, &m));
	buf_release(&out);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(image_reads_what_was_built),
		cmocka_unit_test(image_refuses_references_that_lead_out),
		cmocka_unit_test(image_refuses_another_magic_version_or_size),
		cmocka_unit_test(image_refuses_flags_that_nobody_knows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
