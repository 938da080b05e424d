/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One allow-list of system calls a role.  A call outside of it kills the
 * process: the role is being taken over, or its list lacks a line.
 */
#ifndef PRIV_SECCOMP_H
#define PRIV_SECCOMP_H

#include "priv/role.h"

/* Load the list of `role` for good.  0, or -1 with the cause logged. */
MUST_USE int seccomp_apply(enum role role);

/* The list as text, a system call a line, for docs and tests. */
struct buf;
void seccomp_print(enum role role, struct buf *out);

#endif
