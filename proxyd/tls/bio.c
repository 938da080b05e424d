/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/socket.h>
#include <sys/uio.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/bio.h>

#include "base/asan.h"
#include "tls/bio.h"

#define AHEAD_MAX 4096 /* bytes; copied once more than the others */

/* One block is kept for the next read: each record takes one for a moment. */
static uint8_t *spare; /* AHEAD_MAX bytes; NULL: none */

static uint8_t *
take_block(void)
{
	uint8_t *p = spare;

	if (p == NULL)
		return malloc(AHEAD_MAX);
	asan_allow(p, AHEAD_MAX);
	spare = NULL;
	return p;
}

/* One of take_block() alone. */
static void
keep_block(uint8_t *p)
{
	if (spare != NULL) {
		free(p);
		return;
	}
	asan_forbid(p, AHEAD_MAX);
	spare = p;
}

static void
drop_ahead(struct bio *b)
{
	if (b->ahead_is_block)
		keep_block(b->ahead);
	else
		free(b->ahead);
	b->ahead = NULL;
	b->ahead_is_block = false;
}

/* From what was read before. */
static int
take_ahead(struct bio *b, char *out, size_t max)
{
	size_t n = b->ahead_n - b->ahead_at;

	if (n > max)
		n = max;
	memcpy(out, b->ahead + b->ahead_at, n);
	b->ahead_at += n;
	if (b->ahead_at == b->ahead_n)
		drop_ahead(b);
	return (int)n;
}

/* From the descriptor, and what stands behind that; as recv(2). */
static ssize_t
read_ahead(struct bio *b, char *out, size_t max)
{
	uint8_t *ahead = take_block();
	struct iovec parts[2] = { { out, max }, { ahead, AHEAD_MAX } };
	size_t asked = ahead == NULL ? max : max + AHEAD_MAX;
	ssize_t got;

	do
		got = readv(b->fd, parts, ahead == NULL ? 1 : 2);
	while (got < 0 && errno == EINTR);
	b->drained = got > 0 && (size_t)got < asked;
	if (got <= 0 || (size_t)got <= max) {
		int error = errno;
		if (ahead != NULL)
			keep_block(ahead);
		errno = error;
		return got;
	}
	b->ahead = ahead;
	b->ahead_is_block = true;
	b->ahead_at = 0;
	b->ahead_n = (size_t)got - max;
	return (ssize_t)max;
}

static int
bio_read(BIO *bio, char *out, int max)
{
	struct bio *b = BIO_get_data(bio);
	ssize_t got;

	BIO_clear_retry_flags(bio);
	if (max <= 0)
		return 0;
	b->reads++;
	if (b->ahead != NULL)
		return take_ahead(b, out, (size_t)max);
	/* What has come since then makes the descriptor readable. */
	if (b->drained || b->reads > BIO_READS_PER_CALL) {
		b->drained = false;
		BIO_set_retry_read(bio);
		return -1;
	}
	got = read_ahead(b, out, (size_t)max);
	if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		BIO_set_retry_read(bio);
	else if (got < 0)
		b->failed = errno;
	else if (got == 0)
		b->ended = true;
	return (int)got;
}

static int
bio_write(BIO *bio, const char *in, int n)
{
	struct bio *b = BIO_get_data(bio);
	ssize_t done;

	BIO_clear_retry_flags(bio);
	if (n <= 0)
		return 0;
	do
		done = send(b->fd, in, (size_t)n, MSG_NOSIGNAL);
	while (done < 0 && errno == EINTR);
	if (done < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
		BIO_set_retry_write(bio);
	else if (done < 0)
		b->failed = errno;
	return (int)done;
}

static long
bio_ctrl(BIO *bio, int what, long number, void *p)
{
	struct bio *b = BIO_get_data(bio);

	(void)number;
	(void)p;
	if (what == BIO_CTRL_FLUSH)
		return 1;
	/* OpenSSL asks to tell a cut from an ordinary empty read. */
	if (what == BIO_CTRL_EOF)
		return b->ended ? 1 : 0;
	return 0;
}

/* One a process, made on first need and kept. */
static const BIO_METHOD *
bio_method(void)
{
	static BIO_METHOD *method;

	if (method != NULL)
		return method;
	method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK,
	    "duenna stream");
	if (method == NULL)
		return NULL;
	BIO_meth_set_read(method, bio_read);
	BIO_meth_set_write(method, bio_write);
	BIO_meth_set_ctrl(method, bio_ctrl);
	return method;
}

bool
bio_put_ahead(struct bio *b, struct slice bytes)
{
	if (bytes.n == 0)
		return true;
	b->ahead = malloc(bytes.n);
	if (b->ahead == NULL)
		return false;
	memcpy(b->ahead, bytes.p, bytes.n);
	b->ahead_n = bytes.n;
	return true;
}

bool
bio_attach(struct bio *b, int fd, SSL *ssl)
{
	const BIO_METHOD *method = bio_method();
	BIO *bio = method == NULL ? NULL : BIO_new(method);

	if (bio == NULL)
		return false;
	b->fd = fd;
	BIO_set_data(bio, b);
	BIO_set_init(bio, 1);
	SSL_set_bio(ssl, bio, bio);
	return true;
}

void
bio_release(struct bio *b)
{
	drop_ahead(b);
}

bool
bio_is_drained(const struct bio *b)
{
	return b->drained && b->ahead == NULL;
}
