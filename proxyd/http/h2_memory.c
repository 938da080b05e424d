/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nghttp2's memory.  A session has two large blocks from its start to its end: a
 * buffer for the longest frame, and a table of its streams.  Those are mapped,
 * so that they cost the pages that were touched; and none while the connection
 * rests, since then nothing stands in them.
 */
#include <sys/mman.h>

#include <stdlib.h>

#include "http/h2_part.h"

#define LARGE 4096 /* bytes; from here on a block is mapped */

static struct h2_large *
find(struct h2_memory *m, const void *p)
{
	for (size_t i = 0; i < H2_LARGE_MAX; i++)
		if (m->large[i].p == p)
			return &m->large[i];
	return NULL;
}

/* Zeros.  NULL: it is to be had from malloc(). */
static void *
map(struct h2_memory *m, size_t n, bool is_table)
{
	struct h2_large *l = n < LARGE ? NULL : find(m, NULL);
	void *p;

	if (l == NULL)
		return NULL;
	p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
	    -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	*l = (struct h2_large){ p, n, is_table };
	return p;
}

static void *
take(size_t n, void *arg)
{
	void *p = map(arg, n, false);

	return p == NULL ? malloc(n) : p;
}

static void
give_back(void *p, void *arg)
{
	struct h2_large *l = p == NULL ? NULL : find(arg, p);

	if (l == NULL) {
		free(p);
		return;
	}
	(void)munmap(l->p, l->n);
	*l = (struct h2_large){ 0 };
}

static void *
take_zeros(size_t n, size_t size, void *arg)
{
	void *p = NULL;

	if (size != 0 && n <= SIZE_MAX / size)
		p = map(arg, n * size, true);
	return p == NULL ? calloc(n, size) : p;
}

static void *
resize(void *p, size_t n, void *arg)
{
	struct h2_large *l = p == NULL ? NULL : find(arg, p);
	void *q;

	if (p == NULL)
		return take(n, arg);
	if (l == NULL)
		return realloc(p, n);
	q = malloc(n);
	if (q == NULL)
		return NULL;
	memcpy(q, p, l->n < n ? l->n : n);
	give_back(p, arg);
	return q;
}

nghttp2_mem
h2_memory_of(struct h2_memory *m)
{
	return (nghttp2_mem){ m, take, give_back, take_zeros, resize };
}

static bool
is_zeros(const uint8_t *p, size_t n)
{
	return p[0] == 0 && memcmp(p, p + 1, n - 1) == 0;
}

void
h2_memory_rest(struct h2_memory *m)
{
	for (size_t i = 0; i < H2_LARGE_MAX; i++) {
		const struct h2_large *l = &m->large[i];
		/* Of a table that holds something nothing is dropped. */
		if (l->p != NULL && (!l->is_table || is_zeros(l->p, l->n)))
			(void)madvise(l->p, l->n, MADV_DONTNEED);
	}
}
