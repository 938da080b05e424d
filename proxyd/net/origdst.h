/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a redirected client wanted to go.
 *
 * The kernel is asked with SO_ORIGINAL_DST of the socket's own family.  Without
 * a NAT entry (ENOENT: the client dialled our port itself) and where the answer
 * is the listener's own address, the destination is duenna: dst.self.
 */
#ifndef NET_ORIGDST_H
#define NET_ORIGDST_H

#include "base/attr.h"
#include "base/ip.h"
#include "base/reason.h"

/*
 * REASON_ALLOW with *ip and *port set; or REASON_DST_SELF with them set to the
 * address that the socket itself has, family 0 if even that is unknown.
 */
MUST_USE enum reason origdst_get(int fd, struct ip *ip, uint16_t *port);

#endif
