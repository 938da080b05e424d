/* SPDX-License-Identifier: Apache-2.0 */
#include "git/delta.h"
#include "base/rd.h"

#define MORE 0x80 /* of a size: another byte follows; of an instruction: copy */
#define COPY_ALL 65536 /* what a copied length of 0 means */
#define DELTA_MIN 4    /* bytes: git takes none that is shorter */
#define SIZE_BYTES 9 /* of seven bits each: 63 bits, so that sums cannot wrap */

/* A size, little end first, seven bits a byte. */
static enum parse
size_take(struct slice in, size_t *at, uint64_t *size, struct parse_fail *fail)
{
	*size = 0;
	for (unsigned i = 0; *at < in.n; i++) {
		uint8_t c = in.p[(*at)++];
		if (i == SIZE_BYTES) {
			*fail = (struct parse_fail){ REASON_GIT_PACK,
				"size in a delta is too large", *at - 1 };
			return PARSE_BAD;
		}
		*size |= (uint64_t)(c & 0x7f) << (7 * i);
		if ((c & MORE) == 0)
			return PARSE_DONE;
	}
	return PARSE_MORE;
}

enum parse
delta_head_take(struct slice in, struct delta_head *head, size_t *used,
    struct parse_fail *fail)
{
	size_t at = 0;
	enum parse answer = size_take(in, &at, &head->base_size, fail);

	if (answer == PARSE_DONE)
		answer = size_take(in, &at, &head->size, fail);
	if (answer == PARSE_DONE)
		*used = at;
	return answer;
}

/* A number of which the instruction's bits say which bytes are there. */
static uint32_t
sparse(struct rd *r, unsigned bits, unsigned n)
{
	uint32_t v = 0;

	for (unsigned i = 0; i < n; i++) {
		if ((bits & 1U << i) != 0)
			v |= (uint32_t)rd_u8(r) << (8 * i);
	}
	return v;
}

/* The bytes that the next instruction adds; empty if it is none. */
static struct slice
instruction(struct rd *r, struct slice base)
{
	uint8_t op = rd_u8(r);

	if ((op & MORE) == 0)
		return rd_bytes(r, op);
	uint32_t from = sparse(r, op, 4);
	uint32_t n = sparse(r, op >> 4 & 7, 3);
	if (n == 0)
		n = COPY_ALL;
	if (r->bad || from > base.n || n > base.n - from)
		return (struct slice){ 0 };
	return slice_of(base.p + from, n);
}

bool
delta_apply(struct slice base, struct slice delta, uint8_t *out, size_t n)
{
	struct delta_head head;
	struct parse_fail fail;
	size_t used, made = 0;

	if (delta.n < DELTA_MIN ||
	    delta_head_take(delta, &head, &used, &fail) != PARSE_DONE ||
	    head.base_size != base.n || head.size != n)
		return false;
	struct rd r = rd_of(slice_from(delta, used));
	while (r.in.n != 0) {
		struct slice piece = instruction(&r, base);
		if (r.bad || piece.n == 0 || piece.n > n - made)
			return false;
		memcpy(out + made, piece.p, piece.n);
		made += piece.n;
	}
	return made == n;
}
