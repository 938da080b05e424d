/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <openssl/crypto.h>

#include "tls/blocks.h"

/* What OpenSSL 3.0 asks for: to read into, to write from. */
static const size_t sizes[] = { 16384, 16640, 16717, BLOCKS_SIZE };

static int
use(void **state)
{
	(void)state;
	return blocks_use() ? 0 : -1;
}

static void
blocks_are_used_again(void **state)
{
	(void)state;
	uint8_t *first = OPENSSL_malloc(16717);

	assert_non_null(first);
	OPENSSL_free(first);
	size_t before = blocks_kept();
	assert_true(before >= 1);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uint8_t *p = OPENSSL_malloc(sizes[i]);
		assert_ptr_equal(p, first);
		assert_int_equal(blocks_kept(), before - 1);
		p[0] = p[sizes[i] - 1] = 1; /* all of it is there */
		OPENSSL_free(p);
		assert_int_equal(blocks_kept(), before);
	}
}

static void
blocks_keeps_no_more_than_its_limit(void **state)
{
	(void)state;
	void *p[2 * BLOCKS_KEPT_MAX];

	for (size_t i = 0; i < 2 * BLOCKS_KEPT_MAX; i++)
		assert_non_null(p[i] = OPENSSL_malloc(16717));
	assert_int_equal(blocks_kept(), 0);
	for (size_t i = 0; i < 2 * BLOCKS_KEPT_MAX; i++)
		OPENSSL_free(p[i]);
	assert_int_equal(blocks_kept(), BLOCKS_KEPT_MAX);
}

static void
other_sizes_are_not_kept(void **state)
{
	(void)state;
	static const size_t others[] = { 1, 16383, BLOCKS_SIZE + 64, 65536 };

	/* Room for one more: were it kept, the count would say so. */
	void *block = OPENSSL_malloc(16717);
	size_t before = blocks_kept();
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		uint8_t *p = OPENSSL_malloc(others[i]);
		assert_non_null(p);
		assert_int_equal(blocks_kept(), before);
		OPENSSL_free(p);
		assert_int_equal(blocks_kept(), before);
	}
	OPENSSL_free(block);
	OPENSSL_free(NULL);
	assert_null(OPENSSL_malloc(0));
}

static void
a_block_that_grows_keeps_its_bytes(void **state)
{
	(void)state;
	uint8_t *p = OPENSSL_realloc(NULL, 16384);

	assert_non_null(p);
	for (size_t i = 0; i < 16384; i++)
		p[i] = (uint8_t)i;
	p = OPENSSL_realloc(p, 70000);
	assert_non_null(p);
	for (size_t i = 0; i < 16384; i++)
		assert_int_equal(p[i], (uint8_t)i);
	assert_null(OPENSSL_realloc(p, 0));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_are_used_again),
		cmocka_unit_test(blocks_keeps_no_more_than_its_limit),
		cmocka_unit_test(other_sizes_are_not_kept),
		cmocka_unit_test(a_block_that_grows_keeps_its_bytes),
	};
	return cmocka_run_group_tests(tests, use, NULL);
}
