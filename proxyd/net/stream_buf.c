/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "base/asan.h"
#include "net/stream_buf.h"

/*
 * Buffers come and go with every request.  Some are kept: to give back 64 KiB
 * makes malloc look through all that it has.  To AddressSanitizer they are as
 * freed, and so is what was taken from the front of one in use: a slice that
 * outlives a stream_take() is a bug.
 */
#define SPARE_MAX 16

static uint8_t *spare[SPARE_MAX];
static size_t n_spare;

static uint8_t *
take_memory(void)
{
	if (n_spare == 0)
		return malloc(STREAM_BUF_MAX);
	asan_allow(spare[--n_spare], STREAM_BUF_MAX);
	return spare[n_spare];
}

static void
give_back(uint8_t *p)
{
	if (n_spare == SPARE_MAX) {
		free(p);
		return;
	}
	asan_forbid(p, STREAM_BUF_MAX);
	spare[n_spare++] = p;
}

void
stream_buf_release(struct stream_buf *b, bool wipe)
{
	if (b->p == NULL)
		return;
	asan_allow(b->p, STREAM_BUF_MAX);
	if (wipe)
		explicit_bzero(b->p, b->top);
	give_back(b->p);
	*b = (struct stream_buf){ 0 };
}

uint8_t *
stream_buf_tail(struct stream_buf *b, size_t n, size_t max)
{
	assert(max <= STREAM_BUF_MAX);
	if (b->p == NULL) {
		b->p = take_memory();
		if (b->p == NULL)
			return NULL;
		b->max = max;
	}
	assert(n <= b->max - b->n);
	if (n > b->max - b->n - b->at) {
		asan_allow(b->p, b->at);
		memmove(b->p, b->p + b->at, b->n);
		b->at = 0;
	}
	if (b->top < b->at + b->n + n)
		b->top = b->at + b->n + n;
	asan_allow(b->p + b->at + b->n, n);
	return b->p + b->at + b->n;
}

void
stream_buf_drop(struct stream_buf *b, size_t n)
{
	assert(n <= b->n);
	asan_forbid(b->p + b->at, n);
	b->at += n;
	b->n -= n;
	if (b->n == 0)
		b->at = 0;
}
