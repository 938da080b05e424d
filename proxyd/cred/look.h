/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a request's head has of credentials: ours, as placeholders, and the
 * client's own.  Fills in the facts; policy decides.
 *
 * A placeholder is in its slot if it stands in its credential's header, once,
 * as the only parameter of any scheme (`Bearer P`, `token P`, `P`) or in Basic
 * as user with any password, or as password with any user (`P:`,
 * `P:x-oauth-basic`, `x:P`); of kind `query`, if it is its parameter's whole
 * value.  Anywhere else in a head, under any other header,
 * in the target, in a name, twice, glued to anything, or wrapped once more in
 * Base64, it is misplaced; one that is marked but not of this sandbox is
 * foreign.
 * In trailers nothing is a slot.
 * look_at() and look_trailers() are pure.
 */
#ifndef CRED_LOOK_H
#define CRED_LOOK_H

#include "cred/placeholder.h"
#include "policy/facts.h"
#include "policy/program.h"
#include "wire/field.h"

struct look_head {
	struct slice method;
	struct slice target; /* as sent: path, query and what else was there */
	struct slice query;  /* checked by wire/query.h; as sent */
	const struct field_list *fields;
};

/* The slots of a program's credentials, by their index. */
struct look_slot {
	struct slice name, prefix; /* borrowed from the program */
	bool in_query; /* the name of a parameter, not of a header */
};

struct look_slots {
	struct look_slot *at; /* owned */
	size_t n;
};

/* Made once for a program, which must live as long.  0, or -1: no memory. */
MUST_USE int look_slots_init(struct look_slots *slots, const struct program *p);
void look_slots_release(struct look_slots *slots);

/*
 * Fill in facts->foreign, signed_url, cookie, range, placeholder,
 * placeholder_of and placeholder_also.
 */
void look_at(const struct look_head *head, const struct look_slots *slots,
    const struct placeholder_set *set, struct facts *facts);

/*
 * What a request's trailers have of placeholders: never IN_SLOT.  The client's
 * own credentials never get here (field_may_trail).
 */
enum placeholder_seen look_trailers(const struct field_list *fields,
    const struct placeholder_set *set);

#endif
