/* SPDX-License-Identifier: Apache-2.0 */
/*
 * No file but those already open, by Landlock, as far as this kernel can say
 * so: raw system calls, with the constants newer than Debian 12's headers
 * defined here.  Source: the kernel's Documentation/userspace-api/landlock.rst.
 */
#ifndef PRIV_LANDLOCK_H
#define PRIV_LANDLOCK_H

#include "base/attr.h"
#include "base/err.h"

enum landlock_files {
	LANDLOCK_NO_FILES,
	LANDLOCK_READ_NET, /* read files and connect: the dialer's libraries */
};

/*
 * 0; or -1 with the cause logged.  A kernel without Landlock is no failure:
 * the system-call list forbids the same (docs/threat-model.md).
 */
MUST_USE int landlock_apply(enum landlock_files files);

#endif
