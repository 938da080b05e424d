/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenSSL reads and writes through a BIO of ours (tls/bio.h), which does no
 * waiting; each operation says what it wants next, and net/stream does the rest.
 */
#include <sys/socket.h>

#include <assert.h>
#include <errno.h>
#include <unistd.h>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include "tls/bio.h"
#include "tls/ctx_ssl.h"
#include "tls/stream_tls.h"
#include "tls/verify.h"

/* So many calls in a row that used up their reads for nothing are an attack. */
#define VAIN_CALLS_MAX 64

struct stream_tls {
	struct stream stream; /* first */
	SSL *ssl;	      /* owned; NULL only while being made */
	bool client;	      /* we are the client: it is an upstream */
	struct bio bio;	      /* owned; the SSL reads and writes there */
	unsigned vain;	/* calls in a row that used theirs up for nothing */
	enum alpn alpn; /* a server's: to be chosen */
	enum alpn_offer offer; /* a client's */
	bool speaks_none;      /* the peer's alert: nothing of that */
	uint8_t host[VERIFY_HOST_MAX];
	size_t host_n;
	bool literal;
};

static const struct stream_ops ops;

/* What a failed handshake means, by OpenSSL's reason for it. */
static const struct {
	int code;
	enum reason server, client;
	const char *text;
} causes[] = {
	{ SSL_R_UNSUPPORTED_PROTOCOL, REASON_TLS_VERSION, REASON_UP_CERT,
	    "no TLS version that both speak" },
	{ SSL_R_VERSION_TOO_LOW, REASON_TLS_VERSION, REASON_UP_CERT,
	    "TLS version is too old" },
	{ SSL_R_WRONG_VERSION_NUMBER, REASON_TLS_NOT_TLS, REASON_UP_CERT,
	    "the peer does not speak TLS" },
	{ SSL_R_HTTP_REQUEST, REASON_TLS_NOT_TLS, REASON_UP_CERT,
	    "plain HTTP where TLS was expected" },
	{ SSL_R_NO_SHARED_CIPHER, REASON_TLS_VERSION, REASON_UP_CERT,
	    "no cipher suite that both speak" },
	{ SSL_R_NO_SHARED_SIGNATURE_ALGORITHMS, REASON_TLS_VERSION,
	    REASON_UP_CERT, "no signature algorithm that both speak" },
	{ SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM, REASON_TLS_VERSION,
	    REASON_UP_CERT, "no signature algorithm that both speak" },
	{ SSL_R_NO_SUITABLE_KEY_SHARE, REASON_TLS_VERSION, REASON_UP_CERT,
	    "no key exchange group that both speak" },
	{ SSL_R_NO_SUITABLE_GROUPS, REASON_TLS_VERSION, REASON_UP_CERT,
	    "no key exchange group that both speak" },
	{ SSL_R_NO_APPLICATION_PROTOCOL, REASON_TLS_VERSION, REASON_UP_CERT,
	    "no application protocol (ALPN) that both speak" },
	{ SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL, REASON_CLIENT_ABORT,
	    REASON_UP_CERT,
	    "the peer speaks no protocol that was offered (ALPN)" },
	{ SSL_R_TLSV1_ALERT_PROTOCOL_VERSION, REASON_CLIENT_ABORT,
	    REASON_UP_CERT, "no TLS version that both speak" },
	{ SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE, REASON_CLIENT_ABORT,
	    REASON_UP_CERT, "the peer refused the handshake" },
	{ SSL_R_TLSV1_ALERT_UNKNOWN_CA, REASON_CLIENT_ABORT, REASON_UP_CERT,
	    "the peer does not trust our certificate's issuer" },
	{ SSL_R_SSLV3_ALERT_BAD_CERTIFICATE, REASON_CLIENT_ABORT,
	    REASON_UP_CERT, "the peer refused our certificate" },
	{ SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN, REASON_CLIENT_ABORT,
	    REASON_UP_CERT, "the peer refused our certificate" },
	{ SSL_R_TLSV13_ALERT_CERTIFICATE_REQUIRED, REASON_CLIENT_ABORT,
	    REASON_UP_CERT, "the origin wants a client certificate" },
	{ SSL_R_UNSAFE_LEGACY_RENEGOTIATION_DISABLED, REASON_TLS_VERSION,
	    REASON_UP_CERT, "the peer lacks secure renegotiation" },
	{ SSL_R_DH_KEY_TOO_SMALL, REASON_TLS_VERSION, REASON_UP_CERT,
	    "the peer's key exchange is too weak" },
};

static enum reason
other_reason(const struct stream_tls *t)
{
	if (t->client)
		return t->stream.ready ? REASON_UP_RESPONSE : REASON_UP_CERT;
	return t->stream.ready || t->bio.ended || t->bio.failed != 0 ?
	    REASON_CLIENT_ABORT :
	    REASON_TLS_NOT_TLS;
}

/* The descriptor failed or ended, without a word of TLS. */
static enum stream_io
fail_cut(struct stream_tls *t)
{
	const char *text = t->stream.ready ?
	    "connection was cut without TLS's close_notify" :
	    "connection was closed during the TLS handshake";

	if (t->bio.failed == ECONNRESET || t->bio.failed == EPIPE)
		text = "connection was reset";
	else if (t->bio.failed != 0)
		text = strerror(t->bio.failed);
	stream_fail(&t->stream, other_reason(t), text);
	return STREAM_IO_BROKEN;
}

/* OpenSSL ended it: find out why, for the record and for people. */
static enum stream_io
fail_tls(struct stream_tls *t)
{
	unsigned long error = ERR_peek_error();
	const char *text = t->client ? verify_text(t->ssl) : NULL;

	if (text != NULL) {
		stream_fail(&t->stream, REASON_UP_CERT, text);
		return STREAM_IO_BROKEN;
	}
	if (ERR_GET_LIB(error) != ERR_LIB_SSL)
		return fail_cut(t);
	t->speaks_none = t->client &&
	    ERR_GET_REASON(error) == SSL_R_TLSV1_ALERT_NO_APPLICATION_PROTOCOL;
	if (ERR_GET_REASON(error) == SSL_R_UNEXPECTED_EOF_WHILE_READING)
		return fail_cut(t);
	for (size_t i = 0; i < COUNT_OF(causes); i++) {
		if (causes[i].code != ERR_GET_REASON(error))
			continue;
		stream_fail(&t->stream,
		    t->client ? causes[i].client : causes[i].server,
		    causes[i].text);
		return STREAM_IO_BROKEN;
	}
	text = ERR_reason_error_string(error);
	stream_fail(&t->stream, other_reason(t),
	    text == NULL ? "TLS failed" : text);
	return STREAM_IO_BROKEN;
}

static enum stream_io
want_read(struct stream_tls *t)
{
	if (t->bio.reads <= BIO_READS_PER_CALL || ++t->vain <= VAIN_CALLS_MAX)
		return STREAM_IO_READ;
	stream_fail(&t->stream, other_reason(t),
	    "too many TLS records without data");
	return STREAM_IO_BROKEN;
}

/* What OpenSSL's refusal `result` means for the stream. */
static enum stream_io
outcome(struct stream_tls *t, int result)
{
	switch (SSL_get_error(t->ssl, result)) {
	case SSL_ERROR_WANT_READ:
		return want_read(t);
	case SSL_ERROR_WANT_WRITE:
		return STREAM_IO_WRITE;
	case SSL_ERROR_ZERO_RETURN:
		return STREAM_IO_EOF;
	case SSL_ERROR_SYSCALL:
		return fail_cut(t);
	default:
		return fail_tls(t);
	}
}

/* OpenSSL's list of errors is the process's; clearing an empty one is slow. */
static void
begin_call(struct stream_tls *t)
{
	if (ERR_peek_error() != 0)
		ERR_clear_error();
	t->bio.reads = 0;
}

/* The upstream may answer ALPN with what was offered, or not at all; newer
 * libraries see to that themselves. */
static bool
alpn_is_fine(struct stream_tls *t)
{
	const unsigned char *got = NULL;
	enum alpn alpn;
	unsigned n = 0;

	SSL_get0_alpn_selected(t->ssl, &got, &n);
	return n == 0 ||
	    (alpn_read(slice_of(got, n), &alpn) &&
		alpn_offer_has(t->offer, alpn));
}

static enum stream_io
tls_start(struct stream *s)
{
	struct stream_tls *t = (struct stream_tls *)s;
	int result;

	begin_call(t);
	result = SSL_do_handshake(t->ssl);
	if (result != 1) {
		enum stream_io io = outcome(t, result);
		/* close_notify before Finished: given up, not ended. */
		return io == STREAM_IO_EOF ? fail_cut(t) : io;
	}
	if (!t->client)
		return STREAM_IO_OK;
	if (!verify_is_good(t->ssl, slice_of(t->host, t->host_n), t->literal)) {
		stream_fail(s, REASON_UP_CERT, "certificate does not verify");
		return STREAM_IO_BROKEN;
	}
	if (!alpn_is_fine(t)) {
		stream_fail(s, REASON_UP_CERT,
		    "the origin chose a protocol that was not offered");
		return STREAM_IO_BROKEN;
	}
	return STREAM_IO_OK;
}

static enum stream_io
tls_read(struct stream *s, uint8_t *p, size_t max, size_t *n)
{
	struct stream_tls *t = (struct stream_tls *)s;
	int result;

	/* A call that would only find this out costs as much as a record. */
	if (bio_is_drained(&t->bio) && SSL_has_pending(t->ssl) == 0) {
		t->bio.drained = false;
		return STREAM_IO_READ;
	}
	begin_call(t);
	result = SSL_read_ex(t->ssl, p, max, n);
	if (result != 1)
		return outcome(t, result);
	t->vain = 0;
	return STREAM_IO_OK;
}

static enum stream_io
tls_write(struct stream *s, const uint8_t *p, size_t n, size_t *done)
{
	struct stream_tls *t = (struct stream_tls *)s;
	int result;

	begin_call(t);
	result = SSL_write_ex(t->ssl, p, n, done);
	return result == 1 ? STREAM_IO_OK : outcome(t, result);
}

static enum stream_io
tls_shut(struct stream *s)
{
	struct stream_tls *t = (struct stream_tls *)s;
	int result = 0;

	begin_call(t);
	if ((SSL_get_shutdown(t->ssl) & SSL_SENT_SHUTDOWN) == 0)
		result = SSL_shutdown(t->ssl);
	/* 0: ours is sent, the peer's has not come; that is all we want. */
	if (result < 0)
		return outcome(t, result);
	(void)shutdown(s->fd, SHUT_WR);
	return STREAM_IO_OK;
}

static void
tls_free(struct stream *s)
{
	struct stream_tls *t = (struct stream_tls *)s;

	SSL_free(t->ssl); /* and the BIO */
	bio_release(&t->bio);
	free(t);
}

static const struct stream_ops ops = {
	.start = tls_start,
	.read = tls_read,
	.write = tls_write,
	.shut = tls_shut,
	.free = tls_free,
};

/* The last steps of both constructors; frees what failed. */
static struct stream *
finish(struct stream_tls *t, struct loop *l, int fd, enum err *err)
{
	if (bio_attach(&t->bio, fd, t->ssl)) {
		if (stream_init(&t->stream, &ops, l, fd, err) == 0)
			return &t->stream;
	} else {
		close(fd);
		*err = ERR_MEMORY;
	}
	tls_free(&t->stream);
	return NULL;
}

struct stream *
stream_tls_accept(struct loop *l, int fd, struct ctx_server *ctx,
    const struct stream_tls_answer *answer, enum err *err)
{
	struct stream_tls *t = calloc(1, sizeof(*t));

	*err = ERR_MEMORY;
	if (t == NULL)
		goto fail;
	if (!bio_put_ahead(&t->bio, answer->kept))
		goto fail;
	/* The SSL shares the certificate; the leaf itself is not kept. */
	t->alpn = answer->alpn;
	t->ssl = ctx_server_ssl(ctx, leaf_cert(answer->leaf), &t->alpn);
	if (t->ssl == NULL) {
		*err = ERR_CRYPTO;
		goto fail;
	}
	return finish(t, l, fd, err);
fail:
	if (t != NULL)
		tls_free(&t->stream);
	close(fd);
	return NULL;
}

static bool
set_peer(struct stream_tls *t, const struct stream_tls_peer *peer)
{
	struct slice list = alpn_offer_list(peer->alpn);

	if (!verify_host(t->ssl, peer->host, peer->literal))
		return false;
	memcpy(t->host, peer->host.p, peer->host.n);
	t->host_n = peer->host.n;
	t->literal = peer->literal;
	t->offer = peer->alpn;
	/* 0 is success here, unlike everywhere else. */
	return list.n == 0 ||
	    SSL_set_alpn_protos(t->ssl, list.p, (unsigned)list.n) == 0;
}

struct stream *
stream_tls_connect(struct loop *l, int fd, struct ctx_client *ctx,
    const struct stream_tls_peer *peer, enum err *err)
{
	struct stream_tls *t = calloc(1, sizeof(*t));

	*err = ERR_MEMORY;
	if (t == NULL)
		goto fail;
	*err = ERR_CRYPTO;
	t->client = true;
	t->ssl = ctx_client_ssl(ctx, peer->item, peer->only_roots);
	if (t->ssl == NULL || !set_peer(t, peer))
		goto fail;
	return finish(t, l, fd, err);
fail:
	if (t != NULL)
		tls_free(&t->stream);
	close(fd);
	return NULL;
}

bool
stream_tls_is_verified(const struct stream *s, struct slice host, bool literal)
{
	const struct stream_tls *t = (const struct stream_tls *)s;

	return s->ops == &ops && t->client && stream_is_ready(s) &&
	    slice_eq(slice_of(t->host, t->host_n), host) &&
	    verify_is_good(t->ssl, host, literal);
}

enum alpn
stream_tls_alpn(const struct stream *s)
{
	const struct stream_tls *t = (const struct stream_tls *)s;
	const unsigned char *got = NULL;
	enum alpn alpn = ALPN_NONE;
	unsigned n = 0;

	if (s->ops != &ops || !stream_is_ready(s))
		return ALPN_NONE;
	SSL_get0_alpn_selected(t->ssl, &got, &n);
	return alpn_read(slice_of(got, n), &alpn) ? alpn : ALPN_NONE;
}

bool
stream_tls_speaks_none(const struct stream *s)
{
	const struct stream_tls *t = (const struct stream_tls *)s;

	return s->ops == &ops && stream_is_broken(s) && t->speaks_none;
}
