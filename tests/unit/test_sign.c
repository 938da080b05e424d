/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "crypto/digest.h"
#include "crypto/sign.h"

/* RFC 8032, 7.1, test 2. */
#define PRIVATE \
	"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb"
#define PUBLIC \
	"3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"
#define SIGNATURE                                                          \
	"92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da" \
	"085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00"

static void
sign_knows_rfc_8032(void **state UNUSED)
{
	uint8_t raw[SIGN_PRIVATE_SIZE], signature[SIGN_SIZE];
	char text[2 * SIGN_SIZE + 1];
	enum err err = ERR_NONE;
	struct secret secret = { 0 }, again = { 0 };
	struct sign_key *k;

	assert_true(digest_unhex(SLICE(PRIVATE), raw, sizeof(raw)));
	assert_int_equal(secret_init(&secret, slice_of(raw, 32), &err), 0);
	k = sign_key_open(&secret, &err);
	assert_non_null(k);
	digest_hex(sign_key_public(k), SIGN_PUBLIC_SIZE, text);
	assert_string_equal(text, PUBLIC);
	assert_int_equal(sign_make(k, SLICE("\x72"), signature, &err), 0);
	digest_hex(signature, sizeof(signature), text);
	assert_string_equal(text, SIGNATURE);
	assert_int_equal(sign_key_secret(k, &again, &err), 0);
	assert_true(slice_eq(secret_slice(&again), secret_slice(&secret)));
	secret_release(&again);
	secret_release(&secret);
	sign_key_free(k);
}

static void
sign_verify_refuses_another_message_key_or_signature(void **state UNUSED)
{
	enum err err = ERR_NONE;
	struct sign_key *a = sign_key_new(&err), *b = sign_key_new(&err);
	uint8_t signature[SIGN_SIZE];
	struct slice m = SLICE("message");

	assert_non_null(a);
	assert_non_null(b);
	assert_int_equal(sign_make(a, m, signature, &err), 0);
	assert_true(sign_verify(sign_key_public(a), m, signature));
	assert_false(sign_verify(sign_key_public(b), m, signature));
	assert_false(
	    sign_verify(sign_key_public(a), SLICE("massage"), signature));
	signature[7] ^= 1;
	assert_false(sign_verify(sign_key_public(a), m, signature));
	sign_key_free(a);
	sign_key_free(b);
	sign_key_free(NULL);
}

static void
sign_key_open_refuses_another_length(void **state UNUSED)
{
	enum err err = ERR_NONE;
	struct secret s = { 0 };

	assert_null(sign_key_open(&s, &err));
	assert_int_equal(err, ERR_CRYPTO);
	assert_int_equal(secret_init(&s,
			     SLICE("thirty-one bytes, one is amiss."), &err),
	    0);
	assert_null(sign_key_open(&s, &err));
	secret_release(&s);
}

static void
sign_key_message_has_label_nul_and_key(void **state UNUSED)
{
	uint8_t key[SIGN_PUBLIC_SIZE], message[SIGN_KEY_MESSAGE_SIZE];

	memset(key, 7, sizeof(key));
	sign_key_message(key, message);
	assert_memory_equal(message, "duenna audit key v1", 20);
	assert_memory_equal(message + 20, key, sizeof(key));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sign_knows_rfc_8032),
		cmocka_unit_test(
		    sign_verify_refuses_another_message_key_or_signature),
		cmocka_unit_test(sign_key_open_refuses_another_length),
		cmocka_unit_test(sign_key_message_has_label_nul_and_key),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
