/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The few requests to rtnetlink that an empty network namespace needs.
 *
 * Source: rtnetlink(7), netlink(7).  Each waits for its acknowledgement; on
 * failure -1 with errno as the kernel gave it.
 */
#ifndef NS_RTNL_H
#define NS_RTNL_H

#include "base/attr.h"
#include "base/ip.h"

#define RTNL_LO 1 /* the index of lo in every network namespace */

/* A socket in the present network namespace; with `watch` it also hears of
 * links that change, and is non-blocking. */
MUST_USE int rtnl_open(bool watch);

MUST_USE int rtnl_link_up(int fd, int link);

/* Give `ip` alone (/32, /128) to a link, usable at once. */
MUST_USE int rtnl_address(int fd, int link, const struct ip *ip);

/* local default dev LINK src IP: every address of its family is here. */
MUST_USE int rtnl_all_local(int fd, int link, const struct ip *ip);

#endif
