/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "net/stream_buf.h"

void
stream_buf_release(struct stream_buf *b, bool wipe)
{
	if (wipe && b->p != NULL)
		explicit_bzero(b->p, b->top);
	free(b->p);
	*b = (struct stream_buf){ 0 };
}

uint8_t *
stream_buf_tail(struct stream_buf *b, size_t n, size_t max)
{
	if (b->p == NULL) {
		b->p = malloc(max);
		if (b->p == NULL)
			return NULL;
		b->max = max;
	}
	assert(n <= b->max - b->n);
	if (n > b->max - b->n - b->at) {
		memmove(b->p, b->p + b->at, b->n);
		b->at = 0;
	}
	if (b->top < b->at + b->n + n)
		b->top = b->at + b->n + n;
	return b->p + b->at + b->n;
}

void
stream_buf_drop(struct stream_buf *b, size_t n)
{
	assert(n <= b->n);
	b->at += n;
	b->n -= n;
	if (b->n == 0)
		b->at = 0;
}
