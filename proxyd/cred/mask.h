/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Secrets out of what comes back, and out of what must not leave: each is
 * looked for as it is and in the forms in which a page shows a request again,
 * across buffers, and overwritten with as many `*`, so that lengths stay true.
 *
 * Forms: literal; Base64 at each of its three alignments (so Basic with any
 * user, too), in both alphabets; percent-encoded, hex digits in either case,
 * every byte or where one of the usual encoders does; JSON-escaped, where needed
 * or every byte as \u00XX; with HTML's entities; hex.  Not found, and not
 * claimed: reversed, encrypted or compressed ones, two of these at once, Base64
 * broken into lines, forms over SEARCH_PATTERN_MAX, and what is given out piece
 * by piece.
 *
 * Only bytes that could be the beginning of a form are held back, so a stream
 * of events is not slowed down.  Secrets below LIMIT_SECRET_SEARCH_MIN bytes are
 * not looked for: that would tell a sandbox whether its guess was right.
 */
#ifndef CRED_MASK_H
#define CRED_MASK_H

#include "base/attr.h"
#include "base/buf.h"
#include "base/slice.h"

struct mask;
struct search;

#define MASK_HOLD_MAX 16383 /* bytes held back at most */

/*
 * The forms of these secrets; shared by the masks made of it, which end before
 * it does.  The secrets are copied and wiped with it.  NULL: no memory.
 */
MUST_USE struct search *mask_forms(const struct slice *secrets, size_t n);

/* For one body.  NULL: no memory.  `forms` is borrowed. */
MUST_USE struct mask *mask_new(const struct search *forms);
void mask_free(struct mask *m);

/*
 * Take `in`, append to `out` what is safe.  With `last` nothing follows and
 * nothing is held back.  False: `out` is full; the body cannot go on.
 */
MUST_USE bool mask_take(struct mask *m, struct slice in, bool last,
    struct buf *out);

/* How often something was found. */
uint64_t mask_hits(const struct mask *m);

/* The same for a text that is whole, such as a field's value, in place. */
uint64_t mask_text(const struct search *forms, uint8_t *p, size_t n);

#endif
