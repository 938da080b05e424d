/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A JSON text (RFC 8259) of this host's administrator, looked into where it
 * stands, so that all of it that is not meant stays byte for byte.
 */
#ifndef CERTS_JSON_TEXT_H
#define CERTS_JSON_TEXT_H

#include "base/attr.h"
#include "base/slice.h"

/* Is it one value, well-formed, not nested too deeply?  Whether strings are
 * UTF-8 is not looked at. */
MUST_USE bool json_text_is_whole(struct slice text);

/*
 * The member `name` of an object in such a text: its value, borrowed, without
 * the space around it.  The last one of several, as browsers read them; a name
 * that is written with escapes is another one.  False: there is none, or
 * `object` is no object.
 */
MUST_USE bool json_text_member(struct slice object, const char *name,
    struct slice *value);

#endif
