/* SPDX-License-Identifier: Apache-2.0 */
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>

#include <openssl/crypto.h>

#include "base/asan.h"
#include "base/attr.h"
#include "tls/blocks.h"

/* Of TLS's 16384 bytes, with what stands around them, in either direction. */
#define BLOCK_MIN 16384

static void *kept[BLOCKS_KEPT_MAX]; /* owned */
static size_t n_kept;

static void *
take(size_t n, const char *file UNUSED, int line UNUSED)
{
	if (n == 0)
		return NULL;
	if (n < BLOCK_MIN || n > BLOCKS_SIZE)
		return malloc(n);
	if (n_kept == 0)
		return malloc(BLOCKS_SIZE);
	asan_allow(kept[--n_kept], BLOCKS_SIZE);
	return kept[n_kept];
}

/* Any memory of that size will do; malloc itself says how much it is. */
static bool
is_block(void *p)
{
	size_t n = malloc_usable_size(p);

	return n >= BLOCKS_SIZE && n < BLOCKS_SIZE + 64;
}

static void
give(void *p, const char *file UNUSED, int line UNUSED)
{
	if (p == NULL || n_kept == BLOCKS_KEPT_MAX || !is_block(p)) {
		free(p);
		return;
	}
	asan_forbid(p, BLOCKS_SIZE);
	kept[n_kept++] = p;
}

static void *
resize(void *p, size_t n, const char *file, int line)
{
	if (p == NULL)
		return take(n, file, line);
	if (n != 0)
		return realloc(p, n);
	give(p, file, line);
	return NULL;
}

bool
blocks_use(void)
{
	return CRYPTO_set_mem_functions(take, resize, give) == 1;
}

size_t
blocks_kept(void)
{
	return n_kept;
}
