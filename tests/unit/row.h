/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What tests over tables of inputs share: cmocka behind the headers it wants,
 * inputs that may hold NULs, and copies that end where their memory does, so
 * that a sanitizer sees one byte too far.
 */
#ifndef TESTS_UNIT_ROW_H
#define TESTS_UNIT_ROW_H

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/parse.h"
#include "base/slice.h"

/* A literal as the initialiser of a slice. */
#define IN(literal)                                                \
	{                                                          \
		(const uint8_t *)("" literal), sizeof(literal) - 1 \
	}

/* The same bytes in memory of exactly that size; give it back with drop(). */
static inline struct slice
exact(struct slice in)
{
	uint8_t *p = malloc(in.n != 0 ? in.n : 1);

	assert_non_null(p);
	if (in.n != 0)
		memcpy(p, in.p, in.n);
	return (struct slice){ p, in.n };
}

static inline void
drop(struct slice s)
{
	free((void *)(uintptr_t)s.p);
}

/* `n` times the byte `c`, behind `head`; for drop(). */
static inline struct slice
repeat(struct slice head, uint8_t c, size_t n)
{
	uint8_t *p = malloc(head.n + n + 1);

	assert_non_null(p);
	memcpy(p, head.p, head.n);
	memset(p + head.n, c, n);
	return (struct slice){ p, head.n + n };
}

static inline void
assert_slice(struct slice got, struct slice want)
{
	if (!slice_eq(got, want))
		fail_msg("got \"%.*s\", wanted \"%.*s\"", (int)got.n,
		    (const char *)got.p, (int)want.n, (const char *)want.p);
}

#endif
