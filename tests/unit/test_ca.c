/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <openssl/evp.h>
#include <openssl/x509v3.h>

#include "base/clock.h"
#include "certs/ca.h"

static X509 *
decode(struct slice der)
{
	const uint8_t *p = der.p;
	X509 *cert = d2i_X509(NULL, &p, (long)der.n);

	assert_non_null(cert);
	assert_ptr_equal(p, der.p + der.n);
	return cert;
}

static bool
is_critical(X509 *cert, int nid)
{
	int at = X509_get_ext_by_NID(cert, nid, -1);

	assert_true(at >= 0);
	assert_int_equal(X509_get_ext_by_NID(cert, nid, at), -1);
	return X509_EXTENSION_get_critical(X509_get_ext(cert, at)) == 1;
}

static void
ca_has_the_profile_that_clients_accept(void **state)
{
	(void)state;
	enum err err;
	struct ca *ca = ca_make(SLICE("host.test"), 3650, &err);
	char text[80];
	int days = 0, seconds = 0;

	assert_non_null(ca);
	X509 *cert = decode(ca_cert(ca));
	assert_int_equal(X509_get_version(cert), X509_VERSION_3);
	assert_int_equal(X509_get_signature_nid(cert), NID_ecdsa_with_SHA256);
	X509_NAME_get_text_by_NID(X509_get_subject_name(cert), NID_commonName,
	    text, sizeof(text));
	assert_string_equal(text, "duenna egress CA host.test");
	assert_int_equal(X509_check_ca(cert), 1);
	assert_int_equal(X509_get_pathlen(cert), 0);
	assert_true(is_critical(cert, NID_basic_constraints));
	/* SEQUENCE { BOOLEAN TRUE, INTEGER 0 }, and DER has one TRUE */
	const ASN1_OCTET_STRING *basic =
	    X509_EXTENSION_get_data(X509_get_ext(cert,
		X509_get_ext_by_NID(cert, NID_basic_constraints, -1)));
	assert_int_equal(ASN1_STRING_length(basic), 8);
	assert_memory_equal(ASN1_STRING_get0_data(basic),
	    "\x30\x06\x01\x01\xff\x02\x01\x00", 8);
	assert_true(is_critical(cert, NID_key_usage));
	assert_int_equal(X509_get_key_usage(cert),
	    KU_KEY_CERT_SIGN | KU_CRL_SIGN);
	assert_false(is_critical(cert, NID_subject_key_identifier));
	assert_int_equal(X509_get_ext_count(cert), 3);
	assert_int_equal(X509_verify(cert, X509_get0_pubkey(cert)), 1);
	assert_int_equal(ASN1_TIME_diff(&days, &seconds,
			     X509_get0_notBefore(cert),
			     X509_get0_notAfter(cert)),
	    1);
	assert_int_equal(days, 3651);
	X509_free(cert);
	ca_free(ca);
}

static void
ca_serials_are_positive_and_never_the_same(void **state)
{
	(void)state;
	enum err err;
	BIGNUM *last = NULL;

	for (int i = 0; i < 20; i++) {
		struct ca *ca = ca_make(SLICE("h"), 10, &err);
		assert_non_null(ca);
		X509 *cert = decode(ca_cert(ca));
		BIGNUM *number =
		    ASN1_INTEGER_to_BN(X509_get0_serialNumber(cert), NULL);
		assert_false(BN_is_negative(number));
		assert_int_equal(BN_num_bytes(number), 16);
		assert_true(last == NULL || BN_cmp(last, number) != 0);
		BN_free(last);
		last = number;
		X509_free(cert);
		ca_free(ca);
	}
	BN_free(last);
}

static void
ca_keeps_odd_bytes_out_of_its_subject(void **state)
{
	(void)state;
	enum err err;
	char text[80];
	struct ca *ca = ca_make(SLICE("a\nb\x80 c,CN=x-0123456789012345678901"
				      "2345678901234567890123456789"),
	    10, &err);

	assert_non_null(ca);
	X509 *cert = decode(ca_cert(ca));
	assert_int_equal(X509_NAME_entry_count(X509_get_subject_name(cert)), 1);
	assert_int_equal(X509_NAME_get_text_by_NID(X509_get_subject_name(cert),
			     NID_commonName, text, sizeof(text)),
	    sizeof("duenna egress CA ") - 1 + CA_HOST_MAX);
	assert_memory_equal(text, "duenna egress CA a-b--c,CN=x-0123", 33);
	X509_free(cert);
	ca_free(ca);
}

static void
ca_loads_what_it_made(void **state)
{
	(void)state;
	enum err err;
	struct ca *a = ca_make(SLICE("one"), 10, &err);
	struct ca *b = ca_make(SLICE("two"), 10, &err);
	struct secret key = { 0 }, other = { 0 };

	assert_non_null(a);
	assert_non_null(b);
	assert_int_equal(ca_key(a, &key, &err), 0);
	assert_int_equal(ca_key(b, &other, &err), 0);
	struct ca *again = ca_load(ca_cert(a), secret_slice(&key), &err);
	assert_non_null(again);
	assert_true(slice_eq(ca_cert(a), ca_cert(again)));
	ca_free(again);

	assert_null(ca_load(ca_cert(a), secret_slice(&other), &err));
	assert_int_equal(err, ERR_INTEGRITY);
	assert_null(ca_load(slice_first(ca_cert(a), ca_cert(a).n - 1),
	    secret_slice(&key), &err));
	assert_int_equal(err, ERR_INTEGRITY);
	assert_null(ca_load((struct slice){ 0 }, secret_slice(&key), &err));
	assert_null(ca_load(ca_cert(a), (struct slice){ 0 }, &err));

	/* Years later it has expired, and is not used in silence. */
	clock_set(1, clock_wall_us() + 11 * 86400ULL * 1000000);
	assert_null(ca_load(ca_cert(a), secret_slice(&key), &err));
	assert_int_equal(err, ERR_INTEGRITY);
	clock_set(0, 0);

	secret_release(&key);
	secret_release(&other);
	ca_free(a);
	ca_free(b);
	ca_free(NULL);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ca_has_the_profile_that_clients_accept),
		cmocka_unit_test(ca_serials_are_positive_and_never_the_same),
		cmocka_unit_test(ca_keeps_odd_bytes_out_of_its_subject),
		cmocka_unit_test(ca_loads_what_it_made),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
