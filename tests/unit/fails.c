/* SPDX-License-Identifier: Apache-2.0 */
#include "fails.h"

void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t n);

static unsigned first, asked;
static bool all;

void
fails_from(unsigned from, bool every)
{
	first = from;
	all = every;
	asked = 0;
}

unsigned
fails_asked(void)
{
	return asked;
}

static bool
fails_now(void)
{
	asked++;
	return first != 0 && (asked == first || (all && asked > first));
}

void *
__wrap_malloc(size_t n)
{
	return fails_now() ? NULL : __real_malloc(n);
}

void *
__wrap_calloc(size_t n, size_t size)
{
	return fails_now() ? NULL : __real_calloc(n, size);
}

void *
__wrap_realloc(void *p, size_t n)
{
	return fails_now() ? NULL : __real_realloc(p, n);
}
