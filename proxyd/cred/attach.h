/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Credentials into their slots.  What the keeper released becomes fields that
 * the writer of heads puts last, and parameters behind the query; what the
 * client had in those slots goes, so that the origin sees each slot exactly
 * once, with our value.
 *
 * The values lie in memory of their own and are wiped as soon as the head has
 * been put; attach_wipe() in every way out.
 */
#ifndef CRED_ATTACH_H
#define CRED_ATTACH_H

#include "base/attr.h"
#include "base/err.h"
#include "base/secret.h"
#include "base/wr.h"
#include "policy/program.h"
#include "wire/field.h"

#define ATTACH_MAX VERDICT_CREDENTIALS_MAX

struct attach {
	size_t n; /* credentials */
	struct program_credential of[ATTACH_MAX];
	struct secret values[ATTACH_MAX];  /* owned: as released */
	struct secret decoded[ATTACH_MAX]; /* owned: what Basic hides */
	struct slice secrets[ATTACH_MAX];  /* themselves, to be searched for */
	struct field fields[ATTACH_MAX];   /* name and value of a header */
	struct field parameters[ATTACH_MAX]; /* and of a parameter */
	size_t n_fields, n_parameters;
};

void attach_init(struct attach *a);

/*
 * Add what was released for one credential.
 *
 * c      its strings are borrowed, from the program
 * value  the slot's, prefix and all; copied, the caller wipes its own
 *
 * 0, or -1: the request must die (cred.unavailable).  ERR_MESSAGE: the value is
 * empty, has a byte that no field value may have (a line end would be a second
 * header) or is not of its kind, the name is no token, or the slot is taken;
 * ERR_FULL; ERR_MEMORY.
 */
MUST_USE int attach_add(struct attach *a, const struct program_credential *c,
    struct slice value, enum err *err);

/* Take the client's own fields out of these slots; returns how many. */
size_t attach_clear_fields(const struct attach *a, struct field_list *fields);

/*
 * Write a checked query without the client's own parameters in these slots,
 * everything else byte for byte.  True if anything is left; w->bad if it did
 * not fit.
 */
bool attach_clear_query(const struct attach *a, struct slice query,
    struct wr *w);

/* Wipe and be empty. */
void attach_wipe(struct attach *a);

/* May these bytes be a field's value?  Not empty, no control, no blank at an
 * end.  The keeper asks the same of a secret.  Pure. */
bool attach_is_value(struct slice value);

#endif
