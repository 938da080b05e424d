/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "crypto/digest.h"

static void
hex_of(struct slice in, char text[DIGEST_HEX_SIZE])
{
	uint8_t sum[DIGEST_SIZE];

	digest_sha256(in, sum);
	digest_hex(sum, sizeof(sum), text);
}

/* FIPS 180-4's own examples. */
static void
digest_knows_the_standards_examples(void **state UNUSED)
{
	char text[DIGEST_HEX_SIZE], name[DIGEST_NAME_SIZE];

	hex_of(SLICE("abc"), text);
	assert_string_equal(text,
	    "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
	hex_of((struct slice){ 0 }, text);
	assert_string_equal(text,
	    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
	digest_name(SLICE("abc"), name);
	assert_memory_equal(name, "sha256:ba7816bf", 15);
}

static void
digest_in_pieces_is_the_same(void **state UNUSED)
{
	enum err err = ERR_NONE;
	struct digest *d = digest_new(&err);
	uint8_t whole[DIGEST_SIZE], pieces[DIGEST_SIZE];

	assert_non_null(d);
	for (int round = 0; round < 2; round++) {
		digest_put(d, SLICE("a"));
		digest_put(d, (struct slice){ 0 });
		digest_put(d, SLICE("bc"));
		digest_end(d, pieces);
		digest_sha256(SLICE("abc"), whole);
		assert_true(digest_eq(whole, pieces, DIGEST_SIZE));
	}
	pieces[DIGEST_SIZE - 1] ^= 1;
	assert_false(digest_eq(whole, pieces, DIGEST_SIZE));
	digest_free(d);
	digest_free(NULL);
}

static void
digest_sha1_knows_the_standards_examples(void **state UNUSED)
{
	enum err err = ERR_NONE;
	struct digest *d = digest_new_sha1(&err);
	uint8_t sum[DIGEST_SIZE];
	char text[2 * DIGEST_SHA1_SIZE + 1];

	assert_non_null(d);
	for (int round = 0; round < 2; round++) {
		digest_put(d, SLICE("ab"));
		digest_put(d, SLICE("c"));
		digest_end(d, sum);
		digest_hex(sum, DIGEST_SHA1_SIZE, text);
		assert_string_equal(text,
		    "a9993e364706816aba3e25717850c26c9cd0d89d");
	}
	digest_free(d);
}

/* RFC 4231, case 2; and an empty key, which OpenSSL would take for "again". */
static void
digest_hmac_knows_rfc_4231(void **state UNUSED)
{
	uint8_t sum[DIGEST_SIZE];
	char text[DIGEST_HEX_SIZE];

	digest_hmac(SLICE("Jefe"), SLICE("what do ya want for nothing?"), sum);
	digest_hex(sum, sizeof(sum), text);
	assert_string_equal(text,
	    "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
	digest_hmac((struct slice){ 0 }, (struct slice){ 0 }, sum);
	digest_hex(sum, sizeof(sum), text);
	assert_string_equal(text,
	    "b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad");
}

static void
digest_unhex_takes_lower_case_of_the_right_length_only(void **state UNUSED)
{
	uint8_t out[2];

	assert_true(digest_unhex(SLICE("0aff"), out, 2));
	assert_int_equal(out[0], 0x0a);
	assert_int_equal(out[1], 0xff);
	assert_false(digest_unhex(SLICE("0aFf"), out, 2));
	assert_false(digest_unhex(SLICE("0aFF"), out, 2));
	assert_false(digest_unhex(SLICE("0ag0"), out, 2));
	assert_false(digest_unhex(SLICE("0af"), out, 2));
	assert_false(digest_unhex(SLICE("0aff0"), out, 2));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(digest_knows_the_standards_examples),
		cmocka_unit_test(digest_in_pieces_is_the_same),
		cmocka_unit_test(digest_sha1_knows_the_standards_examples),
		cmocka_unit_test(digest_hmac_knows_rfc_4231),
		cmocka_unit_test(
		    digest_unhex_takes_lower_case_of_the_right_length_only),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
