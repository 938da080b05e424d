/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"
#include "git/delta.h"

#define ROOM 4096

/* The first byte is the length of the base, which comes next. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size == 0)
		return 0;
	struct slice in = { data + 1, size - 1 };
	struct slice base = slice_first(in, data[0]);
	struct slice delta = slice_from(in, base.n);
	struct delta_head head;
	struct parse_fail fail;
	size_t used;

	if (delta_head_take(delta, &head, &used, &fail) != PARSE_DONE)
		return 0;
	CHECK(used >= 2 && used <= DELTA_HEAD_MAX && used <= delta.n);
	if (head.size > ROOM)
		return 0;
	/* Exactly as large as promised, so that one byte more is found. */
	size_t n = (size_t)head.size;
	uint8_t *out = malloc(n == 0 ? 1 : n);
	CHECK(out != NULL);
	if (delta_apply(base, delta, out, n))
		CHECK(head.base_size == base.n);
	free(out);
	return 0;
}
