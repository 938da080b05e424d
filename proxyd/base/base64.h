/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Base64 (RFC 4648 section 4): for Basic credentials and PEM.  Strict: no
 * white space, padding where it belongs, no bits after the end.
 * Pure.
 */
#ifndef BASE_BASE64_H
#define BASE_BASE64_H

#include "base/slice.h"

/* Bytes of text for `n` bytes of input, padding included. */
#define BASE64_SIZE(n) (((n) + 2) / 3 * 4)

/* Write BASE64_SIZE(in.n) bytes to `out` (no NUL); returns that number. */
size_t base64_encode(struct slice in, char *out);

/*
 * Decode.  `out` has room for in.n / 4 * 3 bytes; `n` is set.  False if `in`
 * is not exactly one canonical Base64 text.
 */
bool base64_decode(struct slice in, uint8_t *out, size_t *n);

#endif
