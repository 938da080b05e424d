/* SPDX-License-Identifier: Apache-2.0 */
#include <openssl/crypto.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>

#include "base/log.h"
#include "tls/ctx_ssl.h"

#define SECURITY_LEVEL 2
#define CIPHERS_1_2 "ECDHE+AESGCM:ECDHE+CHACHA20"
#define CLASSES_MAX 64 /* kinds of hosts with a store of their own */

struct ctx_server {
	SSL_CTX *ssl;  /* owned */
	EVP_PKEY *key; /* owned; never leaves this process */
	uint8_t spki[CTX_SPKI_MAX];
	size_t spki_n;
};

/* Hosts that are verified against the same roots. */
struct class {
	uint32_t item;
	bool only;
	SSL_CTX *ssl; /* owned */
};

struct ctx_client {
	const struct ctx_root *roots; /* borrowed */
	X509 **parsed;		      /* owned; NULL until first needed */
	size_t n_roots;
	struct class classes[CLASSES_MAX];
	size_t n_classes;
};

/* What both sides have in common. */
static SSL_CTX *
new_ssl_ctx(const SSL_METHOD *method)
{
	static int groups[] = { NID_X25519, NID_X9_62_prime256v1,
		NID_secp384r1 };
	/* OPENSSL_CONF can name modules to load; a role opens no file. */
	OPENSSL_init_ssl(OPENSSL_INIT_NO_LOAD_CONFIG, NULL);
	SSL_CTX *ssl = SSL_CTX_new(method);

	if (ssl == NULL)
		return NULL;
	SSL_CTX_set_security_level(ssl, SECURITY_LEVEL);
	SSL_CTX_set_options(ssl,
	    SSL_OP_NO_TICKET | SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
		SSL_OP_CIPHER_SERVER_PREFERENCE);
	SSL_CTX_set_session_cache_mode(ssl, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_mode(ssl,
	    SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_NO_AUTO_CHAIN |
		SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
	if (SSL_CTX_set_min_proto_version(ssl, TLS1_2_VERSION) != 1 ||
	    SSL_CTX_set_cipher_list(ssl, CIPHERS_1_2) != 1 ||
	    SSL_CTX_set1_groups(ssl, groups, COUNT_OF(groups)) != 1) {
		SSL_CTX_free(ssl);
		return NULL;
	}
	return ssl;
}

/*
 * What was decided for this connection, or nothing.  A client that does not
 * offer it gets an alert (RFC 7301 3.2); one that offers nothing at all is not
 * asked here.
 */
static int
on_alpn(SSL *s, const unsigned char **out, unsigned char *n,
    const unsigned char *in, unsigned in_n, void *arg UNUSED)
{
	const enum alpn *alpn = SSL_get_app_data(s);
	struct slice want = alpn_name(*alpn);

	if (*alpn == ALPN_NONE)
		return SSL_TLSEXT_ERR_NOACK;
	for (unsigned at = 0; at < in_n && in[at] < in_n - at;
	     at += in[at] + 1u) {
		if (slice_eq(slice_of(in + at + 1, in[at]), want)) {
			*out = in + at + 1;
			*n = in[at];
			return SSL_TLSEXT_ERR_OK;
		}
	}
	return SSL_TLSEXT_ERR_ALERT_FATAL;
}

struct ctx_server *
ctx_server_new(enum err *err)
{
	struct ctx_server *ctx = calloc(1, sizeof(*ctx));
	uint8_t *p;
	int n;

	*err = ERR_MEMORY;
	if (ctx == NULL)
		return NULL;
	*err = ERR_CRYPTO;
	ctx->ssl = new_ssl_ctx(TLS_server_method());
	ctx->key = EVP_EC_gen("P-256");
	if (ctx->ssl == NULL || ctx->key == NULL ||
	    SSL_CTX_set_num_tickets(ctx->ssl, 0) != 1)
		goto fail;
	SSL_CTX_set_alpn_select_cb(ctx->ssl, on_alpn, NULL);
	n = i2d_PUBKEY(ctx->key, NULL);
	if (n <= 0 || (size_t)n > sizeof(ctx->spki))
		goto fail;
	p = ctx->spki;
	ctx->spki_n = (size_t)i2d_PUBKEY(ctx->key, &p);
	*err = ERR_NONE;
	return ctx;
fail:
	ctx_server_free(ctx);
	return NULL;
}

void
ctx_server_free(struct ctx_server *ctx)
{
	if (ctx == NULL)
		return;
	SSL_CTX_free(ctx->ssl);
	EVP_PKEY_free(ctx->key);
	free(ctx);
}

int
ctx_server_set_chain(struct ctx_server *ctx, const struct slice *certs,
    size_t n, enum err *err)
{
	SSL_CTX_clear_extra_chain_certs(ctx->ssl);
	for (size_t i = 0; i < n; i++) {
		const uint8_t *p = certs[i].p;
		X509 *cert = d2i_X509(NULL, &p, (long)certs[i].n);
		*err = ERR_INTEGRITY;
		if (cert == NULL)
			return -1;
		*err = ERR_MEMORY;
		/* It is the context's afterwards. */
		if (SSL_CTX_add_extra_chain_cert(ctx->ssl, cert) != 1) {
			X509_free(cert);
			return -1;
		}
	}
	*err = ERR_NONE;
	return 0;
}

struct slice
ctx_server_spki(const struct ctx_server *ctx)
{
	return slice_of(ctx->spki, ctx->spki_n);
}

SSL *
ctx_server_ssl(struct ctx_server *ctx, X509 *cert, const enum alpn *alpn)
{
	SSL *ssl = SSL_new(ctx->ssl);

	if (ssl == NULL)
		return NULL;
	/* It takes no pointer to const; on_alpn() reads it alone. */
	if (SSL_set_app_data(ssl, (void *)(uintptr_t)alpn) != 1 ||
	    SSL_use_certificate(ssl, cert) != 1 ||
	    SSL_use_PrivateKey(ssl, ctx->key) != 1 ||
	    SSL_check_private_key(ssl) != 1) {
		SSL_free(ssl);
		return NULL;
	}
	SSL_set_accept_state(ssl);
	return ssl;
}

struct ctx_client *
ctx_client_new(const struct ctx_root *roots, size_t n_roots, enum err *err)
{
	struct ctx_client *ctx = calloc(1, sizeof(*ctx));

	*err = ERR_MEMORY;
	if (ctx == NULL)
		return NULL;
	ctx->parsed = calloc(n_roots + 1, sizeof(X509 *));
	if (ctx->parsed == NULL) {
		free(ctx);
		return NULL;
	}
	ctx->roots = roots;
	ctx->n_roots = n_roots;
	*err = ERR_NONE;
	return ctx;
}

void
ctx_client_free(struct ctx_client *ctx)
{
	if (ctx == NULL)
		return;
	for (size_t i = 0; i < ctx->n_classes; i++)
		SSL_CTX_free(ctx->classes[i].ssl);
	for (size_t i = 0; i < ctx->n_roots; i++)
		X509_free(ctx->parsed[i]);
	free(ctx->parsed);
	free(ctx);
}

/* Parsed once and shared by all stores: 144 roots are 813 KiB. */
static X509 *
root_at(struct ctx_client *ctx, size_t i)
{
	const uint8_t *p = ctx->roots[i].der.p;

	if (ctx->parsed[i] == NULL && ctx->roots[i].der.n != 0) {
		ctx->parsed[i] = d2i_X509(NULL, &p, (long)ctx->roots[i].der.n);
		if (ctx->parsed[i] == NULL)
			log_warn("tls: root %zu is no certificate", i);
	}
	return ctx->parsed[i];
}

static X509_STORE *
new_store(struct ctx_client *ctx, uint32_t item, bool only)
{
	X509_STORE *store = X509_STORE_new();

	if (store == NULL)
		return NULL;
	for (size_t i = 0; i < ctx->n_roots; i++) {
		uint32_t of = ctx->roots[i].item;
		bool counts = of == CTX_ITEM_NONE ? !only : of == item;
		X509 *root = counts ? root_at(ctx, i) : NULL;
		/* Twice the same root is not an error to X509_STORE. */
		if (root != NULL && X509_STORE_add_cert(store, root) != 1) {
			X509_STORE_free(store);
			return NULL;
		}
	}
	return store;
}

static SSL_CTX *
new_client_ctx(struct ctx_client *ctx, uint32_t item, bool only)
{
	SSL_CTX *ssl = new_ssl_ctx(TLS_client_method());
	X509_STORE *store = new_store(ctx, item, only);

	if (ssl == NULL || store == NULL) {
		SSL_CTX_free(ssl);
		X509_STORE_free(store);
		return NULL;
	}
	SSL_CTX_set_cert_store(ssl, store);
	/* A fresh context verifies nothing at all. */
	SSL_CTX_set_verify(ssl, SSL_VERIFY_PEER, NULL);
	return ssl;
}

/* The context of a kind of hosts, made when first asked for. */
static SSL_CTX *
class_ctx(struct ctx_client *ctx, uint32_t item, bool only)
{
	struct class *c;

	for (size_t i = 0; i < ctx->n_classes; i++) {
		c = &ctx->classes[i];
		if (c->item == item && c->only == only)
			return c->ssl;
	}
	if (ctx->n_classes == CLASSES_MAX) {
		c = &ctx->classes[CLASSES_MAX - 1];
		SSL_CTX_free(c->ssl);
		ctx->n_classes--;
	}
	c = &ctx->classes[ctx->n_classes];
	*c = (struct class){ item, only, new_client_ctx(ctx, item, only) };
	if (c->ssl != NULL)
		ctx->n_classes++;
	return c->ssl;
}

SSL *
ctx_client_ssl(struct ctx_client *ctx, uint32_t item, bool only)
{
	SSL_CTX *of = class_ctx(ctx, item, only);
	SSL *ssl = of == NULL ? NULL : SSL_new(of);

	if (ssl != NULL)
		SSL_set_connect_state(ssl);
	return ssl;
}
