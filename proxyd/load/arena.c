/* SPDX-License-Identifier: Apache-2.0 */
#include <stdalign.h>

#include "base/mem.h"
#include "load/arena.h"

#define BLOCK_SIZE 65536 /* bytes; larger things get a block of their own */

struct arena_block {
	struct arena_block *next;
	size_t used, size;
	alignas(max_align_t) uint8_t bytes[];
};

void
arena_release(struct arena *a)
{
	while (a->blocks != NULL) {
		struct arena_block *next = a->blocks->next;
		free(a->blocks);
		a->blocks = next;
	}
}

void *
arena_alloc(struct arena *a, size_t n)
{
	const size_t align = alignof(max_align_t);
	struct arena_block *b = a->blocks;

	n = (n + align - 1) / align * align;
	if (b == NULL || n > b->size - b->used) {
		size_t size = n > BLOCK_SIZE ? n : BLOCK_SIZE;
		b = mem_alloc(sizeof(*b) + size);
		b->size = size;
		b->next = a->blocks;
		a->blocks = b;
	}
	void *p = b->bytes + b->used;
	b->used += n;
	return p;
}

struct slice
arena_copy(struct arena *a, struct slice s)
{
	uint8_t *p = arena_alloc(a, s.n == 0 ? 1 : s.n);

	if (s.n != 0)
		memcpy(p, s.p, s.n);
	return slice_of(p, s.n);
}

void *
arena_grow(struct arena *a, void *list, uint32_t n, size_t size)
{
	if (n != 0 && (n & (n - 1)) != 0)
		return list;
	void *more = arena_alloc(a, (n == 0 ? 1 : (size_t)n * 2) * size);
	if (n != 0)
		memcpy(more, list, n * size);
	return more;
}
