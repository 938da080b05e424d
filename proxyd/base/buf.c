/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"

#define FIRST_CAP 256 /* bytes; most messages and heads fit in two doublings */

void
buf_init(struct buf *b, size_t max)
{
	*b = (struct buf){ .max = max };
}

void
buf_release(struct buf *b)
{
	free(b->p);
	*b = (struct buf){ .max = b->max };
}

void
buf_wipe(struct buf *b)
{
	if (b->p != NULL)
		explicit_bzero(b->p, b->cap);
	buf_release(b);
}

void
buf_clear(struct buf *b)
{
	b->n = 0;
	b->failed = false;
}

uint8_t *
buf_grow(struct buf *b, size_t n)
{
	size_t cap = b->cap == 0 ? FIRST_CAP : b->cap;
	uint8_t *p = NULL;

	if (!b->failed && n <= b->max - b->n) {
		while (cap <= b->n + n)
			cap *= 2;
		if (cap > b->max)
			cap = b->max + 1;
		p = realloc(b->p, cap);
	}
	if (p == NULL) {
		b->failed = true;
		return NULL;
	}
	b->p = p;
	b->cap = cap;
	return b->p + b->n;
}

bool
buf_put_str(struct buf *b, const char *s)
{
	return buf_put(b, slice_of_str(s));
}

bool
buf_put_number(struct buf *b, uint64_t v)
{
	uint8_t digits[20]; /* of UINT64_MAX */
	size_t at = sizeof(digits);

	do
		digits[--at] = (uint8_t)('0' + v % 10);
	while ((v /= 10) != 0);
	return buf_put(b, slice_of(digits + at, sizeof(digits) - at));
}

bool
buf_vputf(struct buf *b, const char *fmt, va_list ap)
{
	size_t room = b->cap - b->n;
	char *to = b->p == NULL ? NULL : (char *)b->p + b->n;
	va_list again;

	va_copy(again, ap);
	int n = vsnprintf(to, room, fmt, again);
	va_end(again);
	if (n < 0)
		b->failed = true;
	if (n < 0 || (to = (char *)buf_room(b, (size_t)n)) == NULL)
		return false;
	/* There is room for the NUL as well, see buf_room(). */
	if ((size_t)n >= room)
		vsnprintf(to, (size_t)n + 1, fmt, ap);
	b->n += (size_t)n;
	return true;
}

bool
buf_putf(struct buf *b, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	bool ok = buf_vputf(b, fmt, ap);
	va_end(ap);
	return ok;
}

void
buf_drop(struct buf *b, size_t n)
{
	if (n >= b->n) {
		b->n = 0;
		return;
	}
	memmove(b->p, b->p + n, b->n - n);
	b->n -= n;
}

const char *
buf_text(struct buf *b)
{
	if (b->n >= b->cap) {
		uint8_t *p = realloc(b->p, b->n + 1);
		if (p == NULL)
			return "";
		b->p = p;
		b->cap = b->n + 1;
	}
	b->p[b->n] = '\0';
	return (const char *)b->p;
}
