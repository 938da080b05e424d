/* SPDX-License-Identifier: Apache-2.0 */
/* The index of a host's routes.  For load/compile alone. */
#ifndef LOAD_COMPILE_INDEX_H
#define LOAD_COMPILE_INDEX_H

#include "load/build.h"

/* Of a host with no more routes than that each is looked at: it has none. */
#define COMPILE_UNINDEXED 16

/*
 * That of each host whose record wants one.  All other tables are written; what
 * meets a ceiling is for build_finish().
 */
void compile_index(struct build *b);

#endif
