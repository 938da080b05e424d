/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocations that fail when a test says so: those of our own rooms, by the
 * linker's --wrap.  Code of a test that depends on this is compiled with it in
 * front, and has the real ones.
 */
#ifndef TESTS_UNIT_FAILS_H
#define TESTS_UNIT_FAILS_H

#include <stdbool.h>
#include <stdlib.h>

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t n);

/*
 * From now on the `first` allocation fails, the first being 1, and with
 * `all` every one behind it.  0: none does.
 */
void fails_from(unsigned first, bool all);

/* How many were asked for since then. */
unsigned fails_asked(void);

#define malloc(n) __real_malloc(n)
#define calloc(n, size) __real_calloc(n, size)
#define realloc(p, n) __real_realloc(p, n)

#endif
