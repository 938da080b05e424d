/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes as a JSON string of printable ASCII, and back; audit/line.h says
 * how.
 * Pure.
 */
#ifndef AUDIT_ESCAPE_H
#define AUDIT_ESCAPE_H

#include "base/attr.h"
#include "base/buf.h"
#include "base/slice.h"

/* Append `text`, escaped, without the quotes around it. */
void escape_put(struct buf *out, struct slice text);

/*
 * Take an escaped string off the front of `in`, up to and with its closing
 * quote.  At most as many bytes as were taken are written to `out`; `n` is set.
 * False: there is none, or it is no text of ours.
 */
MUST_USE bool escape_take(struct slice *in, uint8_t *out, size_t *n);

/*
 * Append `text` as a terminal may show it: valid UTF-8 and printable ASCII as
 * they are, all else as \xNN; signs that turn the direction of writing too.
 */
void escape_show(struct buf *out, struct slice text);

#endif
