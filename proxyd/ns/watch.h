/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nothing but loopback may ever be in a sandbox's network namespace.  The
 * kernel tells of each link that comes; the monitor then cuts the sandbox.
 */
#ifndef NS_WATCH_H
#define NS_WATCH_H

#include <stdbool.h>

/*
 * Read what NETNS_LINKS has to say, until it would block.
 *
 * name	 set to the link's name when true
 *
 * True: there is, or was, another link than lo; or messages were lost.
 */
bool watch_read(int links_fd, char name[16]);

#endif
