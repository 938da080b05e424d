/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/x509v3.h>

#include "base/attr.h"
#include "base/clock.h"
#include "base/ip.h"
#include "certs/leaf.h"

struct fixture {
	struct ca *ca;
	EVP_PKEY *key;
	uint8_t *spki;
	struct slice asked;
};

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	enum err err;

	f->ca = ca_make(SLICE("unit"), 100, &err);
	f->key = EVP_EC_gen("P-256");
	f->asked = slice_of(NULL, (size_t)i2d_PUBKEY(f->key, &f->spki));
	f->asked.p = f->spki;
	*state = f;
	return f->ca == NULL;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	ca_free(f->ca);
	EVP_PKEY_free(f->key);
	OPENSSL_free(f->spki);
	free(f);
	return 0;
}

static X509 *
mint(struct fixture *f, struct slice name, bool literal)
{
	enum err err;
	struct buf der;
	const uint8_t *p;

	buf_init(&der, 4096);
	assert_int_equal(leaf_mint(f->ca, name, literal, f->asked, &der, &err),
	    0);
	p = der.p;
	X509 *cert = d2i_X509(NULL, &p, (long)der.n);
	assert_non_null(cert);
	assert_ptr_equal(p, der.p + der.n);
	buf_release(&der);
	return cert;
}

/* As a strict client does: chain, name, purpose, X509_V_FLAG_X509_STRICT. */
static int
verify_at(struct fixture *f, X509 *leaf, const char *host, const char *ip,
    time_t at)
{
	struct slice der = ca_cert(f->ca);
	const uint8_t *p = der.p;
	X509 *root = d2i_X509(NULL, &p, (long)der.n);
	X509_STORE *store = X509_STORE_new();
	X509_STORE_CTX *ctx = X509_STORE_CTX_new();

	assert_int_equal(X509_STORE_add_cert(store, root), 1);
	assert_int_equal(X509_STORE_CTX_init(ctx, store, leaf, NULL), 1);
	X509_VERIFY_PARAM *param = X509_STORE_CTX_get0_param(ctx);
	X509_VERIFY_PARAM_set_flags(param, X509_V_FLAG_X509_STRICT);
	X509_VERIFY_PARAM_set_purpose(param, X509_PURPOSE_SSL_SERVER);
	X509_VERIFY_PARAM_set_time(param, at);
	if (host != NULL)
		X509_VERIFY_PARAM_set1_host(param, host, 0);
	if (ip != NULL)
		X509_VERIFY_PARAM_set1_ip_asc(param, ip);
	X509_verify_cert(ctx);
	int result = X509_STORE_CTX_get_error(ctx);
	X509_STORE_CTX_free(ctx);
	X509_STORE_free(store);
	X509_free(root);
	return result;
}

static int
verify(struct fixture *f, X509 *leaf, const char *host, const char *ip)
{
	return verify_at(f, leaf, host, ip, time(NULL));
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
leaf_has_the_profile_that_clients_accept(void **state)
{
	struct fixture *f = *state;
	X509 *cert = mint(f, SLICE("api.example.test"), false);
	int days = 0, seconds = 0;

	assert_int_equal(X509_get_version(cert), X509_VERSION_3);
	assert_int_equal(X509_get_signature_nid(cert), NID_ecdsa_with_SHA256);
	assert_int_equal(X509_NAME_entry_count(X509_get_subject_name(cert)), 0);
	assert_int_equal(X509_check_ca(cert), 0);
	assert_true(is_critical(cert, NID_basic_constraints));
	assert_true(is_critical(cert, NID_key_usage));
	assert_int_equal(X509_get_key_usage(cert), KU_DIGITAL_SIGNATURE);
	assert_false(is_critical(cert, NID_ext_key_usage));
	assert_int_equal(X509_get_extended_key_usage(cert), XKU_SSL_SERVER);
	assert_true(is_critical(cert, NID_subject_alt_name));
	assert_non_null(X509_get0_subject_key_id(cert));
	assert_non_null(X509_get0_authority_key_id(cert));
	assert_int_equal(X509_get_ext_count(cert), 6);
	assert_int_equal(ASN1_TIME_diff(&days, &seconds,
			     X509_get0_notBefore(cert),
			     X509_get0_notAfter(cert)),
	    1);
	assert_int_equal(days, 7);
	assert_int_equal(seconds, 0);
	assert_int_equal(EVP_PKEY_eq(X509_get0_pubkey(cert), f->key), 1);
	X509_free(cert);
}

static void
leaf_names_the_bytes_of_the_ca_as_its_issuer(void **state)
{
	struct fixture *f = *state;
	X509 *cert = mint(f, SLICE("a.test"), false);
	struct slice der = ca_cert(f->ca);
	const uint8_t *p = der.p;
	X509 *ca = d2i_X509(NULL, &p, (long)der.n);

	assert_int_equal(ASN1_OCTET_STRING_cmp(X509_get0_authority_key_id(cert),
			     X509_get0_subject_key_id(ca)),
	    0);
	X509_free(ca);
	X509_free(cert);
}

static void
leaf_verifies_for_its_name_alone(void **state)
{
	struct fixture *f = *state;
	X509 *cert = mint(f, SLICE("a_b.xn--bcher-kva.test"), false);

	assert_int_equal(verify(f, cert, "a_b.xn--bcher-kva.test", NULL),
	    X509_V_OK);
	assert_int_equal(verify(f, cert, "other.test", NULL),
	    X509_V_ERR_HOSTNAME_MISMATCH);
	assert_int_equal(verify(f, cert, NULL, "192.0.2.1"),
	    X509_V_ERR_IP_ADDRESS_MISMATCH);
	X509_free(cert);
}

/*
 * DO-15: whenever it was minted, before or after the clock was set by a day, it
 * is valid then and now, and so is its CA.
 */
static void
leaf_is_valid_when_the_clock_is_set_by_a_day(void **state)
{
	static const int64_t set_s[] = { -86400 + 60, 0, 86400 };
	struct fixture *f = *state;
	const int64_t now_s = (int64_t)(clock_wall_us() / 1000000);
	const struct slice name = SLICE("ok.test");

	for (size_t i = 0; i < COUNT_OF(set_s); i++) {
		clock_set(0, (uint64_t)(now_s + set_s[i]) * 1000000);
		X509 *cert = mint(f, name, false);
		for (size_t j = 0; j < COUNT_OF(set_s); j++) {
			time_t at = (time_t)(now_s + set_s[j]);
			/* Minted on the morrow, it was not there a day ago. */
			bool early = set_s[j] < set_s[i] - 86400;
			assert_int_equal(verify_at(f, cert, "ok.test", NULL,
					     at),
			    early ? X509_V_ERR_CERT_NOT_YET_VALID : X509_V_OK);
		}
		X509_free(cert);
	}
	clock_set(0, 0);
}

static void
leaf_of_a_literal_has_an_address(void **state)
{
	struct fixture *f = *state;
	X509 *cert = mint(f, SLICE("192.0.2.1"), true);
	assert_int_equal(verify(f, cert, NULL, "192.0.2.1"), X509_V_OK);
	assert_int_equal(verify(f, cert, NULL, "192.0.2.2"),
	    X509_V_ERR_IP_ADDRESS_MISMATCH);
	X509_free(cert);

	cert = mint(f, SLICE("2001:db8::5"), true);
	assert_int_equal(verify(f, cert, NULL, "2001:db8::5"), X509_V_OK);
	X509_free(cert);
}

static const struct {
	const char *name, *text;
	bool may;
} names[] = {
	{ "plain", "ok.test", true },
	{ "digit first", "1und1.test", true },
	{ "underscore", "_dmarc.a_b.test", true },
	{ "single label", "localhost", true },
	{ "label of 63",
	    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.t",
	    true },
	{ "label of 64",
	    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa.t",
	    false },
	{ "empty", "", false },
	{ "comma adds a name", "ok.test,DNS:evil.test", false },
	{ "upper case", "OK.test", false },
	{ "dot at the end", "ok.test.", false },
	{ "dot first", ".ok.test", false },
	{ "two dots", "ok..test", false },
	{ "hyphen first", "-ok.test", false },
	{ "hyphen last", "ok-.test", false },
	{ "wildcard", "*.test", false },
	{ "blank", "o k.test", false },
	{ "line feed", "ok.test\n", false },
	{ "high byte", "ok\xc3\xbc.test", false },
	{ "IPv4 address", "192.0.2.1", false },
	{ "IPv6 address", "2001:db8::1", false },
};

static void
leaf_is_minted_for_clean_names_only(void **state)
{
	struct fixture *f = *state;
	struct buf der;
	enum err err;

	buf_init(&der, 4096);
	for (size_t i = 0; i < COUNT_OF(names); i++) {
		struct slice name = slice_of_str(names[i].text);
		print_message("# %s\n", names[i].name);
		assert_int_equal(leaf_may_name(name), names[i].may);
		assert_int_equal(leaf_mint(f->ca, name, false, f->asked, &der,
				     &err),
		    names[i].may ? 0 : -1);
	}
	assert_false(leaf_may_name(SLICE("a\0.test")));
	assert_int_equal(leaf_mint(f->ca, SLICE("ok.test"), true, f->asked,
			     &der, &err),
	    -1);
	assert_int_equal(err, ERR_MESSAGE);
	buf_release(&der);
}

static void
refuse_key(struct fixture *f, EVP_PKEY *key)
{
	uint8_t *spki = NULL;
	int n = i2d_PUBKEY(key, &spki);
	struct buf der;
	enum err err;

	assert_true(n > 0);
	buf_init(&der, 4096);
	assert_int_equal(leaf_mint(f->ca, SLICE("ok.test"), false,
			     slice_of(spki, (size_t)n), &der, &err),
	    -1);
	assert_int_equal(err, ERR_MESSAGE);
	assert_int_equal(der.n, 0);
	OPENSSL_free(spki);
}

static void
leaf_is_minted_for_p256_keys_of_others_only(void **state)
{
	struct fixture *f = *state;
	EVP_PKEY *p384 = EVP_EC_gen("P-384");
	EVP_PKEY *ed = EVP_PKEY_Q_keygen(NULL, NULL, "ED25519");
	struct slice der = ca_cert(f->ca);
	const uint8_t *p = der.p;
	X509 *ca = d2i_X509(NULL, &p, (long)der.n);
	struct buf out;
	enum err err;

	refuse_key(f, p384);
	refuse_key(f, ed);
	refuse_key(f, X509_get0_pubkey(ca));
	buf_init(&out, 4096);
	for (size_t n = 0; n < f->asked.n; n++)
		assert_int_equal(leaf_mint(f->ca, SLICE("ok.test"), false,
				     slice_first(f->asked, n), &out, &err),
		    -1);
	buf_put(&out, f->asked);
	buf_put_byte(&out, 0);
	struct buf minted;
	buf_init(&minted, 4096);
	assert_int_equal(leaf_mint(f->ca, SLICE("ok.test"), false,
			     buf_slice(&out), &minted, &err),
	    -1);
	buf_release(&minted);
	buf_release(&out);
	EVP_PKEY_free(p384);
	EVP_PKEY_free(ed);
	X509_free(ca);
}

static void
leaf_fits_or_is_not_there(void **state)
{
	struct fixture *f = *state;
	struct buf der;
	enum err err;

	buf_init(&der, 100);
	assert_int_equal(leaf_mint(f->ca, SLICE("ok.test"), false, f->asked,
			     &der, &err),
	    -1);
	assert_int_equal(err, ERR_MEMORY);
	buf_release(&der);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(leaf_has_the_profile_that_clients_accept),
		cmocka_unit_test(leaf_names_the_bytes_of_the_ca_as_its_issuer),
		cmocka_unit_test(leaf_verifies_for_its_name_alone),
		cmocka_unit_test(leaf_is_valid_when_the_clock_is_set_by_a_day),
		cmocka_unit_test(leaf_of_a_literal_has_an_address),
		cmocka_unit_test(leaf_is_minted_for_clean_names_only),
		cmocka_unit_test(leaf_is_minted_for_p256_keys_of_others_only),
		cmocka_unit_test(leaf_fits_or_is_not_there),
	};
	return cmocka_run_group_tests(tests, setup, teardown);
}
