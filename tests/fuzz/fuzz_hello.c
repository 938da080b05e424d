/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Differential: the library that ends TLS for us reads the same hello.  Where
 * both accept they see one server name; where the library has a whole hello we
 * do not wait for more; and it never answers what we refused to read.
 */
#include <openssl/ssl.h>

#include "fuzz.h"
#include "wire/hello.h"

static struct slice seen; /* the server name extension, as OpenSSL found it */
static bool called;

static int
on_hello(SSL *ssl, int *alert, void *arg)
{
	const unsigned char *p;
	size_t n;

	(void)alert;
	(void)arg;
	called = true;
	seen = (struct slice){ 0 };
	if (SSL_client_hello_get0_ext(ssl, TLSEXT_TYPE_server_name, &p, &n))
		seen = slice_of(p, n);
	return SSL_CLIENT_HELLO_RETRY;
}

static SSL_CTX *
context(void)
{
	static SSL_CTX *ctx;

	if (ctx == NULL) {
		ctx = SSL_CTX_new(TLS_server_method());
		CHECK(ctx != NULL);
		SSL_CTX_set_client_hello_cb(ctx, on_hello, NULL);
		CHECK(SSL_CTX_set_min_proto_version(ctx, TLS1_2_VERSION));
	}
	return ctx;
}

/* `h` is set if ours was accepted. */
static void
compare(struct slice in, enum parse got, const struct hello *h,
    const struct parse_fail *fail)
{
	SSL *ssl = SSL_new(context());
	BIO *from = BIO_new_mem_buf(in.p, (int)in.n),
	    *to = BIO_new(BIO_s_mem());

	CHECK(ssl != NULL && from != NULL && to != NULL);
	BIO_set_mem_eof_return(from, -1);
	SSL_set_bio(ssl, from, to);
	called = false;
	int error = SSL_get_error(ssl, SSL_accept(ssl));
	if (called) {
		CHECK(error == SSL_ERROR_WANT_CLIENT_HELLO_CB);
		CHECK(got != PARSE_MORE);
		if (got == PARSE_DONE)
			CHECK(h->has_sni == (seen.p != NULL));
		/* Behind the list's length, the type and the name's length. */
		if (got == PARSE_DONE && h->has_sni)
			CHECK(slice_eq(slice_from(seen, 5), h->sni));
	} else if (got == PARSE_MORE) {
		CHECK(error == SSL_ERROR_WANT_READ || error == SSL_ERROR_SSL);
	} else if (error == SSL_ERROR_WANT_READ) {
		/* We see wrong what it has yet to read: nothing lost. */
		CHECK(got == PARSE_BAD && fail->detail != NULL);
	}
	SSL_free(ssl);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t scratch[LIMIT_HELLO_SIZE], second[LIMIT_HELLO_SIZE];
	struct slice in = { data, size }, rest, name;
	struct parse_fail fail = { 0 }, why;
	struct hello h = { 0 }, cut = { 0 };

	enum parse got = hello_take(in, scratch, &h, &fail);
	if (got == PARSE_DONE) {
		struct slice all = { scratch, sizeof(scratch) };
		CHECK(lies_in(h.sni, all) && lies_in(h.alpn, all));
		CHECK(h.version == HELLO_TLS12 || h.version == HELLO_TLS13);
		rest = h.alpn;
		while (hello_take_alpn(&rest, &name))
			CHECK(name.n != 0 && lies_in(name, all));
		CHECK(rest.n == 0);
	}
	compare(in, got, &h, &fail);

	/* The same in two pieces. */
	enum parse again =
	    hello_take(slice_first(in, size / 2), second, &cut, &why);
	if (again == PARSE_MORE)
		again = hello_take(in, second, &cut, &why);
	CHECK(again == got);
	if (got == PARSE_DONE)
		CHECK(slice_eq(h.sni, cut.sni));
	return 0;
}
