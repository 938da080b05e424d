/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the command may not ask of the kernel, as a filter of system calls;
 * everything else it may.  It is a list of ways round the namespaces, not a
 * list of what programs need (roles have such ones: priv/seccomp.h).
 */
#ifndef NS_FILTER_H
#define NS_FILTER_H

#include "ns/fail.h"

/* Load it for good; no_new_privs is set, and so is this for all children. */
MUST_USE int filter_load(struct fail *fail);

#endif
