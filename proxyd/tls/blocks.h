/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where OpenSSL's buffers of records come from.
 *
 * A connection gives its two buffers of 16 KiB back whenever they are empty
 * (SSL_MODE_RELEASE_BUFFERS): an idle one has none, but each record takes and
 * gives one, and for malloc that is a large block, which it merges and splits
 * again.  A few are kept for the next record instead.  All else that OpenSSL
 * allocates is malloc's.  One list a process; no threads.
 */
#ifndef TLS_BLOCKS_H
#define TLS_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes of a block, and how many are kept: four of a request's two legs. */
#define BLOCKS_SIZE 17408
#define BLOCKS_KEPT_MAX 8

/*
 * Before anything else is asked of OpenSSL in this process.  False: it has
 * allocated already, and goes on with malloc.
 */
bool blocks_use(void);

/* How many are kept now. */
size_t blocks_kept(void);

#endif
