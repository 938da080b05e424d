/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The BIO of a stream of TLS: bytes that were peeked at come first, then those of
 * the descriptor, without waiting.
 *
 * OpenSSL asks for the five bytes before a record and then for the record.  So
 * each read of the descriptor brings what stands behind that too, up to a few
 * KiB: a small record costs one system call, a large one not two.
 */
#ifndef TLS_BIO_H
#define TLS_BIO_H

#include <openssl/ssl.h>

#include "base/attr.h"
#include "base/slice.h"

/*
 * Records without data for us (key updates, tickets, requests to negotiate
 * anew) cost a peer nothing, and OpenSSL comes back only when the descriptor is
 * empty.  A call gets so many reads, two a record, before it has to wait.
 */
#define BIO_READS_PER_CALL 64

struct bio {
	int fd;	      /* borrowed */
	bool drained; /* the last read of it took all that was there */
	bool ended;   /* it gave end of file */
	int failed;   /* its errno, 0: none */
	/* By OpenSSL; its owner zeroes it before each call. */
	unsigned reads;
	uint8_t *ahead; /* owned; ciphertext not yet taken; NULL: none */
	size_t ahead_at, ahead_n;
	bool ahead_is_block; /* of the size that a read takes */
};

/* Bytes that come first, copied.  False: no memory. */
MUST_USE bool bio_put_ahead(struct bio *b, struct slice bytes);

/* Be the SSL's BIO, over `fd`; `b` lives longer.  False: no memory. */
MUST_USE bool bio_attach(struct bio *b, int fd, SSL *ssl);

void bio_release(struct bio *b);

/* Nothing can be read before the descriptor is readable again. */
bool bio_is_drained(const struct bio *b);

#endif
