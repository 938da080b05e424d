/* SPDX-License-Identifier: Apache-2.0 */
/*
 * /dev of the sandbox: the few devices that every program expects, bound from
 * the host, terminals and shared memory of its own.
 */
#ifndef NS_DEVICE_H
#define NS_DEVICE_H

#include "ns/fail.h"

/*
 * Fill the new root's /dev, an empty folder on a file system of its own.
 *
 * host  the host's root
 * dev   the folder
 * tty   the caller's terminal on the host, which becomes /dev/console so that
 *	 ttyname(3) finds a name for it; NULL: there is none
 */
MUST_USE int device_fill(int host, int dev, const char *tty, struct fail *fail);

#endif
