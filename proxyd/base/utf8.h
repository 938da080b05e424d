/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UTF-8, and what of it a terminal may be shown when others have chosen it.
 * Pure.
 */
#ifndef BASE_UTF8_H
#define BASE_UTF8_H

#include "base/slice.h"

/* The character at the front of a text that is not empty, and its length; or
 * false (RFC 3629 section 4). */
bool utf8_first(struct slice s, uint32_t *v, size_t *n);

/* No control, C1 neither, no separator of lines, nothing that is invisible or
 * turns the direction of what follows. */
bool utf8_is_tame(uint32_t v);

/* Put '?' for each byte of what is not tame or not UTF-8.  `keep`, a control
 * as '\n', stays; 0 keeps none. */
void utf8_tame(uint8_t *p, size_t n, uint8_t keep);

#endif
