/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credentials into their slots.  What the keeper released becomes fields that
 * the writer of heads puts last; what the client had in those slots goes, so
 * that the origin sees each slot exactly once, with our value.
 *
 * The values lie in memory of their own and are wiped as soon as the head has
 * been put; attach_wipe() in every way out.
 */
#ifndef CRED_ATTACH_H
#define CRED_ATTACH_H

#include "base/attr.h"
#include "base/err.h"
#include "base/secret.h"
#include "policy/verdict.h"
#include "wire/field.h"

#define ATTACH_MAX VERDICT_CREDENTIALS_MAX

struct attach {
	size_t n;
	struct field fields[ATTACH_MAX];  /* for h1_new_request.credentials */
	struct secret values[ATTACH_MAX]; /* owned; fields[].value */
};

void attach_init(struct attach *a);

/*
 * Add what was released for one credential.
 *
 * header  the slot's name; borrowed, from the program
 * value   prefix and all; copied, the caller wipes its own
 *
 * 0, or -1: the request must die (cred.unavailable).  ERR_MESSAGE: the value is
 * empty or has a byte that no field value may have (a line end would be a
 * second header), the name is no token, or the slot is taken; ERR_FULL;
 * ERR_MEMORY.
 */
MUST_USE int attach_add(struct attach *a, struct slice header,
    struct slice value, enum err *err);

/* Take the client's own fields out of these slots; returns how many. */
size_t attach_clear_slots(const struct attach *a, struct field_list *fields);

/* Wipe and be empty. */
void attach_wipe(struct attach *a);

/* May these bytes be a field's value?  Not empty, no control, no blank at an
 * end.  The keeper asks the same of a secret.  Pure. */
bool attach_is_value(struct slice value);

#endif
