/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one canonical form of paths, and what has none.
 *
 * Canonical: escapes of unreserved characters decoded, hex digits in upper
 * case, nothing else changed.  Dot segments, also with parameters behind them,
 * empty segments, backslashes, controls, bad escapes and escapes that are not
 * UTF-8 are refused in every spelling, never resolved: real clients resolve
 * before they send.  %2F stays data of its segment.  What policy sees is what
 * is sent.
 *
 * Source: RFC 3986 2.1, 2.3, 3.3, 6.2.2; RFC 3629 3 (UTF-8).
 * Pure: no allocation, no I/O, no state between calls.
 */
#ifndef WIRE_URLPATH_H
#define WIRE_URLPATH_H

#include "base/attr.h"
#include "base/parse.h"
#include "base/slice.h"

#define URLPATH_TOO_LONG "path over the limit" /* detail: answered with 414 */

struct urlpath {
	struct slice text; /* canonical; in the buffer that the caller gave */
	bool has_encoded_slash; /* an allow rule must say encoded_slash */
	bool has_encoded_dots;	/* a dot segment beside %2F: no allow rule may
				* match, some origins decode and resolve it */
};

/*
 * Bring a path into its canonical form.
 *
 * in	 the path as sent, without query; borrowed, not modified
 * max	 longest path taken, in bytes; a longer one is REASON_LIMIT_BYTES
 * out	 room for in.n bytes: the result is never longer
 * path	 set on PARSE_DONE only; path->text points into `out`
 * fail	 set on PARSE_BAD only; else REASON_HTTP_PATH_INVALID
 *
 * Returns PARSE_DONE or PARSE_BAD, never PARSE_MORE.
 */
MUST_USE enum parse urlpath_canon(struct slice in, size_t max, uint8_t *out,
    struct urlpath *path, struct parse_fail *fail);

/* The same two flags, from a canonical path alone. */
bool urlpath_has_encoded_slash(struct slice canonical);
bool urlpath_has_encoded_dots(struct slice canonical);

#define URLPATH_ENCODED_SLASH 0x100 /* what urlpath_take_char gives for %2F */

/*
 * Take one character off a canonical path, for matching: an escape gives the
 * byte that it stands for, so that both spellings of a sub-delimiter match;
 * only %2F gives a value of its own.  -1 at the end.
 */
int urlpath_take_char(struct slice *rest);

#endif
