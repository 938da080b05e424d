/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A ruleset as one batch of netlink messages, which the kernel takes as a
 * whole or not at all.
 * Pure: the same values give the same bytes.
 */
#ifndef NFT_BUILD_H
#define NFT_BUILD_H

#include "base/attr.h"
#include "nft/ruleset.h"

#define BUILD_SIZE 65536 /* bytes that are enough for every ruleset of ours */

struct batch {
	char bytes[BUILD_SIZE] __attribute__((aligned(8)));
	size_t n;     /* bytes */
	uint32_t seq; /* messages; each but first and last asks for an answer */
};

/*
 * Build it.
 *
 * replace  take a table that stands there away in the same batch; else that
 *	    the kernel answers EEXIST.  It makes the kernel wait for others:
 *	    six milliseconds of a start.
 *
 * -1: it does not fit.
 */
MUST_USE int build_ruleset(const struct ruleset *set, bool replace,
    struct batch *batch);

/* Take our table away, also where there is none; -1: it does not fit. */
MUST_USE int build_clear(struct batch *batch);

#endif
