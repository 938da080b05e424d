/* SPDX-License-Identifier: Apache-2.0 */
/* An operator's CA: what is taken, and what is said of the rest. */
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/buf.h"
#include "base/clock.h"
#include "certs/given.h"
#include "certs/leaf.h"

#define DAY 86400

/* A CA as others make them. */
struct made {
	EVP_PKEY *key;
	X509 *cert;
	uint8_t *der;
	struct slice slice;
};

struct want {
	const char *basic, *usage, *id; /* NULL: not there */
	int from, to;			/* days from now */
};

static const struct want usual = { "critical,CA:TRUE",
	"critical,keyCertSign,cRLSign", "hash", -1, 10 };

static void
extend(struct made *m, int nid, const char *value)
{
	X509V3_CTX ctx;

	if (value == NULL)
		return;
	X509V3_set_ctx(&ctx, m->cert, m->cert, NULL, NULL, 0);
	X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	assert_non_null(e);
	assert_int_equal(X509_add_ext(m->cert, e, -1), 1);
	X509_EXTENSION_free(e);
}

/* Signed by `by`, or by itself if that is NULL. */
static struct made
make(const char *name, EVP_PKEY *key, const struct made *by,
    const struct want *w)
{
	struct made m = { .key = key, .cert = X509_new() };
	X509_NAME *subject = X509_get_subject_name(m.cert);

	X509_set_version(m.cert, X509_VERSION_3);
	ASN1_INTEGER_set(X509_get_serialNumber(m.cert), 7);
	X509_gmtime_adj(X509_getm_notBefore(m.cert), (long)w->from * DAY);
	X509_gmtime_adj(X509_getm_notAfter(m.cert), (long)w->to * DAY);
	X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
	    (const unsigned char *)name, -1, -1, 0);
	X509_set_issuer_name(m.cert,
	    by == NULL ? subject : X509_get_subject_name(by->cert));
	X509_set_pubkey(m.cert, key);
	extend(&m, NID_basic_constraints, w->basic);
	extend(&m, NID_key_usage, w->usage);
	extend(&m, NID_subject_key_identifier, w->id);
	assert_true(
	    X509_sign(m.cert, by == NULL ? key : by->key, EVP_sha256()) > 0);
	int n = i2d_X509(m.cert, &m.der);
	m.slice = slice_of(m.der, (size_t)n);
	return m;
}

static void
drop(struct made *m)
{
	EVP_PKEY_free(m->key);
	X509_free(m->cert);
	OPENSSL_free(m->der);
}

static struct slice
pem_of(EVP_PKEY *key, BIO **bio)
{
	char *text;

	*bio = BIO_new(BIO_s_mem());
	assert_int_equal(PEM_write_bio_PKCS8PrivateKey(*bio, key, NULL, NULL, 0,
			     NULL, NULL),
	    1);
	long n = BIO_get_mem_data(*bio, &text);
	return slice_of(text, (size_t)n);
}

static void
given_signs_leaves(void **state)
{
	(void)state;
	struct made root = make("root", EVP_EC_gen("P-384"), NULL, &usual);
	struct made mid = make("mid", EVP_RSA_gen(2048), &root, &usual);
	struct made own = make("own", EVP_EC_gen("P-256"), NULL, &usual);
	struct slice chain[] = { mid.slice, root.slice };
	const char *why = NULL;
	BIO *bio, *other;
	struct slice key = pem_of(mid.key, &bio), no = pem_of(own.key, &other);
	struct buf leaf;
	enum err err;

	assert_null(given_check(chain, 2, false));
	struct ca *ca = given_load(chain, 2, key, &why);
	assert_non_null(ca);
	assert_true(slice_eq(ca_cert(ca), mid.slice));
	uint8_t *spki = NULL;
	int n = i2d_PUBKEY(own.key, &spki);
	buf_init(&leaf, 65536);
	assert_int_equal(leaf_mint(ca, SLICE("a.test"), false,
			     slice_of(spki, (size_t)n), &leaf, &err),
	    0);
	const uint8_t *p = leaf.p;
	X509 *cert = d2i_X509(NULL, &p, (long)leaf.n);
	assert_int_equal(X509_check_issued(mid.cert, cert), X509_V_OK);
	assert_int_equal(X509_verify(cert, mid.key), 1);
	X509_free(cert);
	OPENSSL_free(spki);
	buf_release(&leaf);
	ca_free(ca);
	/* A root that signs itself. */
	ca = given_load(&own.slice, 1, no, &why);
	assert_non_null(ca);
	ca_free(ca);
	assert_null(given_load(chain, 2, no, &why));
	assert_string_equal(why,
	    "the key is not that of its first certificate");
	assert_null(given_load(chain, 2, SLICE("no key"), &why));
	assert_non_null(strstr(why, "no private key"));
	assert_null(given_load(chain, 2, (struct slice){ 0 }, &why));
	BIO_free(bio);
	BIO_free(other);
	drop(&root);
	drop(&mid);
	drop(&own);
}

static void
given_key_has_no_password(void **state)
{
	(void)state;
	struct made own = make("own", EVP_EC_gen("P-256"), NULL, &usual);
	BIO *bio = BIO_new(BIO_s_mem());
	const char *why = NULL;
	char word[] = "secret", *text;

	assert_int_equal(PEM_write_bio_PKCS8PrivateKey(bio, own.key,
			     EVP_aes_128_cbc(), word, 6, NULL, NULL),
	    1);
	long n = BIO_get_mem_data(bio, &text);
	assert_null(given_load(&own.slice, 1, slice_of(text, (size_t)n), &why));
	assert_non_null(strstr(why, "with a password"));
	BIO_free(bio);
	drop(&own);
}

/* CF-24: each fault, and what is said of it. */
static void
given_is_checked(void **state)
{
	static const struct {
		const char *name, *says;
		struct want want;
		unsigned rsa; /* bits; 0: P-256 */
	} rows[] = {
		{ "no CA", "is no CA's",
		    { "critical,CA:FALSE", NULL, "hash", -1, 10 }, 0 },
		{ "usage", "is no CA's",
		    { "critical,CA:TRUE", "critical,digitalSignature", "hash",
			-1, 10 },
		    0 },
		{ "old", "has expired",
		    { "critical,CA:TRUE", "critical,keyCertSign", "hash", -9,
			-1 },
		    0 },
		{ "early", "not valid yet",
		    { "critical,CA:TRUE", "critical,keyCertSign", "hash", 1,
			9 },
		    0 },
		{ "weak", "is weak",
		    { "critical,CA:TRUE", "critical,keyCertSign", "hash", -1,
			9 },
		    1024 },
		{ "no id", "no subject key identifier",
		    { "critical,CA:TRUE", "critical,keyCertSign", NULL, -1, 9 },
		    0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		EVP_PKEY *key = rows[i].rsa != 0 ? EVP_RSA_gen(rows[i].rsa) :
						   EVP_EC_gen("P-256");
		struct made m = make("m", key, NULL, &rows[i].want);
		print_message("# %s\n", rows[i].name);
		const char *says = given_check(&m.slice, 1, false);
		assert_non_null(says);
		assert_non_null(strstr(says, rows[i].says));
		/* One that signs later may be of later. */
		says = given_check(&m.slice, 1, true);
		assert_int_equal(says == NULL,
		    strcmp(rows[i].name, "early") == 0);
		drop(&m);
	}
}

static void
given_chain_is_in_order_and_ends_in_a_root(void **state)
{
	static const struct want flat = { "critical,CA:TRUE,pathlen:0",
		"critical,keyCertSign", "hash", -1, 10 };
	(void)state;
	struct made root = make("root", EVP_EC_gen("P-256"), NULL, &usual);
	struct made low = make("low", EVP_EC_gen("P-256"), NULL, &flat);
	struct made mid = make("mid", EVP_EC_gen("P-256"), &root, &usual);
	struct made other = make("root", EVP_EC_gen("P-256"), NULL, &usual);
	struct made under = make("under", EVP_EC_gen("P-256"), &low, &usual);
	const struct {
		const char *says;
		struct slice chain[2];
		size_t n;
	} rows[] = {
		{ "ends in no root", { mid.slice }, 1 },
		{ "not signed by the one behind it", { root.slice, mid.slice },
		    2 },
		{ "not signed by the one behind it", { mid.slice, other.slice },
		    2 },
		{ "no CA that far below it", { under.slice, low.slice }, 2 },
		{ "cannot be read", { mid.slice, SLICE("0") }, 2 },
		{ "no certificate", { { 0 } }, 0 },
		{ "more than 8", { { 0 } }, 9 },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		print_message("# %s\n", rows[i].says);
		const char *says = given_check(rows[i].chain, rows[i].n, false);
		assert_non_null(says);
		assert_non_null(strstr(says, rows[i].says));
	}
	drop(&root);
	drop(&low);
	drop(&mid);
	drop(&under);
	drop(&other);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(given_signs_leaves),
		cmocka_unit_test(given_key_has_no_password),
		cmocka_unit_test(given_is_checked),
		cmocka_unit_test(given_chain_is_in_order_and_ends_in_a_root),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
