/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/socket.h>

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <event2/event.h>
#include <openssl/x509v3.h>

#include "base/attr.h"
#include "base/clock.h"
#include "certs/ca.h"
#include "certs/leaf.h"
#include "tests/unit/tls_bed.h"

int
bed_setup(void **state)
{
	struct bed *b = calloc(1, sizeof(*b));
	enum err err;

	b->loop = loop_new(&err);
	b->ca = ca_make(SLICE("unit"), 100, &err);
	b->server = ctx_server_new(&err);
	b->root = (struct ctx_root){ ca_cert(b->ca), CTX_ITEM_NONE };
	b->client = ctx_client_new(&b->root, 1, &err);
	*state = b;
	return b->loop == NULL || b->ca == NULL || b->server == NULL ||
	    b->client == NULL;
}

int
bed_teardown(void **state)
{
	struct bed *b = *state;

	ctx_client_free(b->client);
	ctx_server_free(b->server);
	ca_free(b->ca);
	loop_free(b->loop);
	free(b);
	return 0;
}

struct leaf *
bed_leaf(struct bed *b, struct slice name, bool literal)
{
	enum err err;
	struct buf der;

	buf_init(&der, 4096);
	assert_int_equal(leaf_mint(b->ca, name, literal,
			     ctx_server_spki(b->server), &der, &err),
	    0);
	struct leaf *leaf = leaf_from_der(buf_slice(&der), &err);
	assert_non_null(leaf);
	buf_release(&der);
	return leaf;
}

void
bed_pair(int fd[2])
{
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
			     fd),
	    0);
}

void
bed_turn(struct bed *b)
{
	for (int i = 0; i < 30; i++)
		event_base_loop(loop_base(b->loop), EVLOOP_NONBLOCK);
}

static void
add(X509 *cert, X509 *issuer, int nid, const char *value)
{
	X509V3_CTX ctx;

	X509V3_set_ctx(&ctx, issuer, cert, NULL, NULL, 0);
	X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	assert_non_null(e);
	X509_add_ext(cert, e, -1);
	X509_EXTENSION_free(e);
}

static void
add_names(X509 *cert, const struct bed_cert *how)
{
	char text[300];

	if (how->dns != NULL || how->ip != NULL) {
		snprintf(text, sizeof(text), "%s%s",
		    how->dns != NULL ? "DNS:" : "IP:",
		    how->dns != NULL ? how->dns : how->ip);
		add(cert, cert, NID_subject_alt_name, text);
	}
	if (how->common != NULL)
		X509_NAME_add_entry_by_txt(X509_get_subject_name(cert), "CN",
		    MBSTRING_ASC, (const unsigned char *)how->common, -1, -1,
		    0);
}

SSL_CTX *
bed_origin(struct bed *b, const struct bed_cert *how)
{
	SSL_CTX *ctx = SSL_CTX_new(TLS_server_method());
	EVP_PKEY *key = EVP_EC_gen("P-256");
	enum err err;
	struct ca *other = ca_make(SLICE("other"), 10, &err);
	struct ca *by = how->other_ca ? other : b->ca;
	struct secret raw = { 0 };
	struct slice der = ca_cert(by);
	const uint8_t *p = der.p;
	X509 *issuer = d2i_X509(NULL, &p, (long)der.n);

	assert_int_equal(ca_key(by, &raw, &err), 0);
	p = raw.p;
	EVP_PKEY *signer = d2i_AutoPrivateKey(NULL, &p, (long)raw.n);
	X509 *cert = X509_new();
	X509_set_version(cert, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(cert), 77);
	time_t now = (time_t)(clock_wall_us() / 1000000);
	/* OpenSSL asks time(2), whose second begins a tick behind the clock's:
	 * what is valid from now on would not be valid yet. */
	ASN1_TIME_adj(X509_getm_notBefore(cert), now, how->from_day, -60);
	ASN1_TIME_adj(X509_getm_notAfter(cert), now, how->to_day, 0);
	X509_set_pubkey(cert, key);
	add_names(cert, how);
	if (how->client_only)
		add(cert, cert, NID_ext_key_usage, "clientAuth");
	X509_set_issuer_name(cert,
	    how->self_signed ? X509_get_subject_name(cert) :
			       X509_get_subject_name(issuer));
	assert_true(X509_sign(cert, how->self_signed ? key : signer,
			how->sha1 ? EVP_sha1() : EVP_sha256()) > 0);
	SSL_CTX_set_security_level(ctx, 0);
	assert_int_equal(SSL_CTX_use_certificate(ctx, cert), 1);
	assert_int_equal(SSL_CTX_use_PrivateKey(ctx, key), 1);
	X509_free(cert);
	X509_free(issuer);
	EVP_PKEY_free(signer);
	EVP_PKEY_free(key);
	secret_release(&raw);
	ca_free(other);
	return ctx;
}
