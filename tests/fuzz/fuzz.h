/* SPDX-License-Identifier: Apache-2.0 */
/* What the fuzzers share: the entry's prototype, and a check that stays in. */
#ifndef TESTS_FUZZ_FUZZ_H
#define TESTS_FUZZ_FUZZ_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/slice.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* libFuzzer's own: another form of `data`, in place.  Where a fuzzer has a
 * LLVMFuzzerCustomMutator, that is asked instead. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max,
    unsigned seed);

/* What a fuzzer begins with that makes its own seed. */
static inline size_t
fuzz_begin_with(struct slice whole, uint8_t *data, size_t max)
{
	size_t n = whole.n < max ? whole.n : max;

	if (n != 0)
		memcpy(data, whole.p, n);
	return n;
}

/* A broken promise of the code under test ends the run with the input kept. */
#define CHECK(promise)           \
	do {                     \
		if (!(promise))  \
			abort(); \
	} while (0)

/* True if all of `part` lies in `in`, or is empty. */
static inline bool
lies_in(struct slice part, struct slice in)
{
	return part.n == 0 ||
	    (part.p >= in.p && part.p + part.n <= in.p + in.n);
}

#endif
