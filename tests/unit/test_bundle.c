/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include "base/rd.h"
#include "certs/bundle.h"
#include "certs/ca.h"

static void
bundle_pem_is_what_openssl_reads(void **state)
{
	(void)state;
	enum err err;
	struct ca *ca = ca_make(SLICE("unit"), 10, &err);
	struct buf pem;

	assert_non_null(ca);
	buf_init(&pem, 65536);
	assert_true(bundle_put_pem(&pem, ca_cert(ca)));
	assert_true(bundle_put_pem(&pem, ca_cert(ca)));
	BIO *bio = BIO_new_mem_buf(pem.p, (int)pem.n);
	for (int i = 0; i < 2; i++) {
		X509 *cert = PEM_read_bio_X509(bio, NULL, NULL, NULL);
		uint8_t *der = NULL;
		assert_non_null(cert);
		int n = i2d_X509(cert, &der);
		assert_true(slice_eq(slice_of(der, (size_t)n), ca_cert(ca)));
		OPENSSL_free(der);
		X509_free(cert);
	}
	assert_null(PEM_read_bio_X509(bio, NULL, NULL, NULL));
	BIO_free(bio);
	buf_release(&pem);

	buf_init(&pem, 100);
	assert_false(bundle_put_pem(&pem, ca_cert(ca)));
	buf_release(&pem);
	ca_free(ca);
}

static void
bundle_reads_pem_back(void **state)
{
	(void)state;
	enum err err;
	struct ca *ca = ca_make(SLICE("unit"), 10, &err);
	struct buf pem, der;

	assert_non_null(ca);
	buf_init(&pem, 65536);
	buf_init(&der, 65536);
	buf_put_str(&pem, "# a comment\n");
	assert_true(bundle_put_pem(&pem, ca_cert(ca)));
	buf_put_str(&pem, "another\r\n");
	assert_true(bundle_put_pem(&pem, ca_cert(ca)));
	buf_put_str(&pem,
	    "-----BEGIN CERTIFICATE-----\n!!!!\n"
	    "-----END CERTIFICATE-----\n");
	struct slice rest = buf_slice(&pem);
	for (int i = 0; i < 2; i++) {
		assert_true(bundle_take_pem(&rest, &der));
		assert_true(slice_eq(buf_slice(&der), ca_cert(ca)));
		buf_clear(&der);
	}
	assert_false(bundle_take_pem(&rest, &der));
	assert_false(bundle_take_pem(&rest, &der));
	rest = slice_first(buf_slice(&pem), 100);
	assert_false(bundle_take_pem(&rest, &der));
	buf_release(&pem);
	buf_release(&der);
	ca_free(ca);
}

static void
bundle_hash_is_the_subject_s(void **state)
{
	(void)state;
	enum err err;
	struct ca *ca = ca_make(SLICE("unit"), 10, &err);
	char one[BUNDLE_HASH_SIZE], two[BUNDLE_HASH_SIZE];

	assert_non_null(ca);
	assert_true(bundle_hash(ca_cert(ca), one));
	assert_int_equal(strlen(one), 8);
	struct ca *same = ca_make(SLICE("unit"), 10, &err);
	struct ca *other = ca_make(SLICE("other"), 10, &err);
	assert_true(bundle_hash(ca_cert(same), two));
	assert_string_equal(one, two);
	assert_true(bundle_hash(ca_cert(other), two));
	assert_string_not_equal(one, two);
	assert_false(bundle_hash(SLICE("no certificate"), one));
	assert_false(bundle_hash((struct slice){ 0 }, one));
	ca_free(ca);
	ca_free(same);
	ca_free(other);
}

static void
bundle_jks_reads_back(void **state)
{
	(void)state;
	enum err err;
	struct ca *ca = ca_make(SLICE("unit"), 10, &err);
	struct buf jks;

	assert_non_null(ca);
	struct slice ders[] = { ca_cert(ca), ca_cert(ca) };
	buf_init(&jks, 65536);
	assert_true(bundle_put_jks(&jks, ders, 2));
	struct rd r = rd_of(buf_slice(&jks));
	assert_int_equal(rd_u32(&r), 0xfeedfeed);
	assert_int_equal(rd_u32(&r), 2);
	assert_int_equal(rd_u32(&r), 2);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(rd_u32(&r), 2);
		assert_true(slice_eq(rd_slice16(&r),
		    i == 0 ? SLICE("duenna-0") : SLICE("duenna-1")));
		assert_true(rd_u64(&r) > 0);
		assert_true(slice_eq(rd_slice16(&r), SLICE("X.509")));
		assert_true(slice_eq(rd_slice32(&r), ca_cert(ca)));
	}
	assert_int_equal(rd_bytes(&r, 20).n, 20);
	assert_true(rd_is_done(&r));
	buf_release(&jks);
	ca_free(ca);
}

static void
bundle_describes_a_certificate(void **state)
{
	(void)state;
	enum err err;
	struct ca *ca = ca_make(SLICE("unit"), 10, &err);
	struct buf text;

	assert_non_null(ca);
	buf_init(&text, 4096);
	assert_true(bundle_describe(&text, ca_cert(ca)));
	const char *t = buf_text(&text);
	assert_non_null(strstr(t, "subject: CN=duenna egress CA unit\n"));
	assert_non_null(strstr(t, "valid until: "));
	assert_non_null(strstr(t, "SHA-256: "));
	assert_false(bundle_describe(&text, SLICE("x")));
	buf_release(&text);
	ca_free(ca);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bundle_pem_is_what_openssl_reads),
		cmocka_unit_test(bundle_reads_pem_back),
		cmocka_unit_test(bundle_hash_is_the_subject_s),
		cmocka_unit_test(bundle_jks_reads_back),
		cmocka_unit_test(bundle_describes_a_certificate),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
