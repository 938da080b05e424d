/* SPDX-License-Identifier: Apache-2.0 */
/*
 * May this address be dialled?  Asked by the dialer for the very sockaddr that
 * it then connects to.
 *
 * Source: IANA IPv4 and IPv6 special-purpose address registries (RFC 6890,
 * 8190): what they do not mark as globally reachable is refused, and multicast;
 * an IPv6 address that carries an IPv4 one (mapped, compatible, NAT64, 6to4,
 * Teredo, ISATAP) is judged by that one too; the metadata addresses of clouds
 * always are.  Pure.
 */
#ifndef POLICY_ADDRESS_H
#define POLICY_ADDRESS_H

#include "base/ip.h"
#include "base/reason.h"
#include "policy/program.h"

/* Whom an address is to be dialled for, and when. */
struct address_of {
	struct slice host; /* canonical */
	uint16_t port;
	uint64_t now_s; /* as facts.now_s: expired rules open nothing */
};

/*
 * own, n_own	the host's own addresses as read at this moment
 *
 * Returns REASON_ALLOW; REASON_UP_PRIVATE for a range that is not globally
 * reachable and that no rule opens, or REASON_DST_PRIVATE if the host is itself a
 * literal address; else REASON_DST_SELF for one of `own` (loopback of a rule
 * that names it literally excepted).
 * A range refused here is opened by program_opens(), metadata never.
 */
enum reason address_judge(const struct program *p, const struct address_of *of,
    const struct ip *ip, const struct ip *own, size_t n_own);

/* True for the metadata addresses of any cloud, in any embedding. */
bool address_is_metadata(const struct ip *ip);

/* True if the registries call it globally reachable, in every embedding. */
bool address_is_global(const struct ip *ip);

#endif
