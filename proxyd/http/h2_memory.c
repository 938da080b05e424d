/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nghttp2's memory.  It makes a buffer for the longest frame with each session,
 * and keeps it; what we send beside DATA, which does not go through it, fills
 * its first page.  Mapped, such a buffer costs the pages that were touched: an
 * idle connection has a page of it, not four.
 */
#include <sys/mman.h>

#include <stdlib.h>

#include "http/h2_part.h"

#define LARGE 16384 /* bytes; from here on a block is mapped */

struct block {
	size_t n; /* bytes that were asked for */
	max_align_t bytes[];
};

static struct block *
block_of(void *p)
{
	return (void *)((char *)p - offsetof(struct block, bytes));
}

static size_t
size_of(size_t n)
{
	return offsetof(struct block, bytes) + n;
}

static void *
take(size_t n, void *arg UNUSED)
{
	struct block *b;

	if (n > SIZE_MAX / 2)
		return NULL;
	if (n < LARGE) {
		b = malloc(size_of(n));
	} else {
		b = mmap(NULL, size_of(n), PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (b == MAP_FAILED)
			b = NULL;
	}
	if (b == NULL)
		return NULL;
	b->n = n;
	return b->bytes;
}

static void
give_back(void *p, void *arg UNUSED)
{
	if (p == NULL)
		return;
	struct block *b = block_of(p);
	if (b->n < LARGE)
		free(b);
	else
		(void)munmap(b, size_of(b->n));
}

static void *
take_zeros(size_t n, size_t size, void *arg UNUSED)
{
	if (size != 0 && n > SIZE_MAX / size)
		return NULL;
	void *p = take(n * size, NULL);
	if (p != NULL && n * size < LARGE)
		memset(p, 0, n * size);
	return p;
}

static void *
resize(void *p, size_t n, void *arg UNUSED)
{
	void *q = take(n, NULL);

	if (p == NULL || q == NULL)
		return q;
	memcpy(q, p, block_of(p)->n < n ? block_of(p)->n : n);
	give_back(p, NULL);
	return q;
}

nghttp2_mem h2_memory = { NULL, take, give_back, take_zeros, resize };
