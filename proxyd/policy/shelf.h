/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs by their digest: many sandboxes have one policy, and a role maps and
 * checks it once.  The digest is the monitor's word; nobody else's is asked.
 */
#ifndef POLICY_SHELF_H
#define POLICY_SHELF_H

#include "policy/program.h"

struct shelf;

MUST_USE struct shelf *shelf_new(enum err *err); /* NULL: ERR_MEMORY */
void shelf_free(struct shelf *s);		 /* programs live on */

/*
 * The program of that digest: the one that is there, or `fd` mapped, see
 * program_map().  The caller ends its share with program_free().
 */
MUST_USE struct program *shelf_map(struct shelf *s, struct slice digest, int fd,
    enum err *err);

/* Let go of those that nobody else has.  Done by shelf_map(), too. */
void shelf_sweep(struct shelf *s);

/* How many are there. */
size_t shelf_n(const struct shelf *s);

#endif
