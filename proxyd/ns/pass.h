/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole packets with descriptors beside them, between the monitor and the
 * processes that it starts in the namespaces.
 */
#ifndef NS_PASS_H
#define NS_PASS_H

#include <sys/types.h>

#include "base/attr.h"
#include "base/slice.h"

#define PASS_FD_MAX 16	   /* descriptors in a packet */
#define PASS_SIZE_MAX 4608 /* bytes in a packet: a path and then some */

/* Send; -1 with errno. */
MUST_USE int pass_send(int channel, struct slice data, const int *fd,
    size_t n_fd);

/*
 * Receive one packet of at most PASS_SIZE_MAX bytes.
 *
 * fd	 PASS_FD_MAX long; those received are close-on-exec and the caller's,
 *	 the rest is -1
 *
 * The number of bytes; 0 when the other end is closed; -1 with errno.  A
 * packet or a list of descriptors that was cut is EMSGSIZE.
 */
MUST_USE ssize_t pass_receive(int channel, void *data, int *fd);

#endif
