/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is a program whole, beyond what the rows of its form can say?
 *
 * Each rule has its routes, each host those of its own, and an index says of
 * each host what its list says: each route once, under what its pattern has in
 * the shape's places, and the heads.  So that none is missed by a look-up, nor
 * a damaged index taken for "no rule".  One pass over the image.
 * Inside policy/ only.
 */
#ifndef POLICY_WHOLE_H
#define POLICY_WHOLE_H

#include "base/attr.h"
#include "base/err.h"
#include "policy/image.h"

/* False: ERR_INTEGRITY, or ERR_MEMORY. */
MUST_USE bool whole_program(const struct image *m, enum err *err);

#endif
