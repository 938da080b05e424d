/* SPDX-License-Identifier: Apache-2.0 */
/* The bodies of tests/git, for the tests of the room git. */
#ifndef TESTS_UNIT_GIT_BED_H
#define TESTS_UNIT_GIT_BED_H

#include "base/slice.h"

/* Such as "push/update"; for drop() of row.h. */
struct slice git_body(const char *name);

/* Call `each` with every file of such as "hostile", in order of names. */
void git_bodies(const char *folder,
    void (*each)(const char *name, struct slice body));

#endif
