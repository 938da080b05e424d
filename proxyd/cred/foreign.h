/* SPDX-License-Identifier: Apache-2.0 */
/*
 * THE table of slots in which a client's own credential may stand: a header or
 * a query key each.  Userinfo is not in it: the grammar of targets has none.
 * Beside it the keys of a query that sign one URL; they are no credentials of
 * an account, and refused only where a credential of ours is at stake.
 *
 * Case does not matter anywhere, and in a header's name `_` is read as `-`:
 * origins that make variables of names take them for the same.
 * Pure.
 */
#ifndef CRED_FOREIGN_H
#define CRED_FOREIGN_H

#include "base/wr.h"
#include "policy/facts.h"
#include "wire/field.h"

/* "authorization", "query.access_token": for records and messages. */
const char *foreign_name(enum foreign_slot slot);

/* Is a header of that name a slot? */
bool foreign_is_field(struct slice name, enum foreign_slot *slot);

/* Is a query key, as sent, a slot? */
bool foreign_is_key(struct slice raw_key, enum foreign_slot *slot);

/* Is a query key, as sent, the signature of one URL? */
bool foreign_is_signature(struct slice raw_key);

/* Equal as header names are to origins: case ignored, `_` read as `-`. */
bool foreign_same_field(struct slice a, struct slice b);

/* Take the headers of these slots out; returns how many there were. */
size_t foreign_strip_fields(struct field_list *fields, uint32_t slots);

/*
 * Write a checked query without the keys of these slots, everything else byte
 * for byte.  True if anything is left; w->bad if it did not fit.
 */
bool foreign_strip_query(struct slice query, uint32_t slots, struct wr *w);

#endif
