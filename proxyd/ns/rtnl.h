/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The few requests to rtnetlink that an empty network namespace needs.
 *
 * Source: rtnetlink(7), netlink(7).  Each waits for its acknowledgement; on
 * failure -1 with errno as the kernel gave it.
 */
#ifndef NS_RTNL_H
#define NS_RTNL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/attr.h"
#include "base/ip.h"

#define RTNL_LO 1 /* the index of lo in every network namespace */

/* A socket in the present network namespace; with `watch` it also hears of
 * links that change, and is non-blocking. */
MUST_USE int rtnl_open(bool watch);

/* Non-blocking; it hears of the links, and of what is hung into their way. */
MUST_USE int rtnl_open_watch_all(void);

MUST_USE int rtnl_link_set(int fd, int link, bool up);

/* Give `ip` to a link, usable at once; `prefix` bits of it are behind there. */
MUST_USE int rtnl_address(int fd, int link, const struct ip *ip,
    uint8_t prefix);

struct nlmsghdr;

/*
 * Ask for a dump; `on_row` gets each message of it.
 *
 * ask  a message whose head has its length and type
 */
MUST_USE int rtnl_dump(int fd, struct nlmsghdr *ask,
    void (*on_row)(struct nlmsghdr *row, void *arg), void *arg);

/* The number that the present namespace has for another; -1: it has none. */
int rtnl_nsid(int fd, int net_fd);

/* local default dev LINK src IP: every address of its family is here. */
MUST_USE int rtnl_all_local(int fd, int link, const struct ip *ip);

#endif
