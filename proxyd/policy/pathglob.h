/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Path patterns: literals, `*` and `**`, anchored at both ends.
 *
 * `*` is a non-empty part of one segment, `**`, always a whole segment, any
 * number of segments, none too; so what ends in it also matches the path
 * without it.  Matching needs no recursion and no memory; its time is bounded
 * by the product of the two lengths.
 *
 * Patterns are matched in compiled form, paths in folded form: sub-delimiters,
 * `:` and `@` stand for themselves there whichever way they were spelt (RFC
 * 3986 2.2, 3.3).  `%2F` stays three bytes and so data of its segment.
 * Pure.
 */
#ifndef POLICY_PATHGLOB_H
#define POLICY_PATHGLOB_H

#include "base/attr.h"
#include "base/slice.h"

/* In compiled patterns; no canonical path has such bytes. */
#define PATHGLOB_STAR 0x01
#define PATHGLOB_DOUBLE 0x02

/*
 * Compile a pattern whose text is a canonical path (wire/urlpath.h); `%2A` is a
 * literal star.
 *
 * out	 room for text.n bytes; `n` is set to those written
 * why	 set on false: a literal for people
 */
MUST_USE bool pathglob_compile(struct slice text, uint8_t *out, size_t *n,
    const char **why);

/*
 * Fold a canonical path.  Returns it as it is if nothing is to be folded, else
 * written to `out`, which has room for path.n bytes.
 */
struct slice pathglob_fold(struct slice path, uint8_t *out);

/* Does the compiled pattern match the folded path? */
bool pathglob_match(struct slice pattern, struct slice path);

/*
 * Does pattern `a` match whatever pattern `b` matches?  Errs towards no: true
 * is certain.
 */
bool pathglob_covers(struct slice a, struct slice b);

#endif
