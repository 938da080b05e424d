/* SPDX-License-Identifier: Apache-2.0 */
/*
 * In which form does a client want an answer of ours?
 *
 * Source: RFC 9110 12.5.1.  Looser: what is odd in a range is no reason to
 *	   refuse; text is the answer to all that is not plainly JSON.
 * Pure: no allocation, no I/O, no state between calls.
 */
#ifndef WIRE_ACCEPT_H
#define WIRE_ACCEPT_H

#include "wire/field.h"

/*
 * True where a JSON type (application/json, application/problem+json, any
 * application/...+json) has a greater weight than every range that text/plain
 * is in, or the same and stands before them.
 */
bool accept_prefers_json(const struct field_list *fields);

#endif
