/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A delta of a pack: how an object is made from another one, its base.
 *
 * Source: gitformat-pack(5), "Deltified representation".
 * Pure.
 */
#ifndef GIT_DELTA_H
#define GIT_DELTA_H

#include "base/attr.h"
#include "base/parse.h"
#include "base/slice.h"

#define DELTA_HEAD_MAX 20 /* bytes of two sizes of at most 64 bits */

struct delta_head {
	uint64_t base_size; /* bytes that the base must have */
	uint64_t size;	    /* bytes of what is made */
};

/*
 * Take the two sizes that a delta begins with.
 *
 * head, used	set on PARSE_DONE only; used is 2..DELTA_HEAD_MAX
 * fail		set on PARSE_BAD only; reason REASON_GIT_PACK
 */
MUST_USE enum parse delta_head_take(struct slice in, struct delta_head *head,
    size_t *used, struct parse_fail *fail);

/*
 * Make the object: `delta` is whole, head included; `out` has room for the
 * `n` bytes that its head promises.  False if it does not fit the base, does
 * not make exactly that many bytes, or has an instruction that is none.
 */
MUST_USE bool delta_apply(struct slice base, struct slice delta, uint8_t *out,
    size_t n);

#endif
