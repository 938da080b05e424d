/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kernel's nf_tables over netlink: the only I/O of this program.  On
 * failure -1 with errno as the kernel gave it.
 */
#ifndef NFT_TALK_H
#define NFT_TALK_H

#include "base/attr.h"
#include "nft/build.h"

/*
 * Send a batch and read the answer to each of its messages: a batch is atomic,
 * so one error means that nothing was done.
 *
 * at  set on failure: which message of the batch, from 1; 0: the whole
 */
MUST_USE int talk_batch(const struct batch *batch, uint32_t *at);

/* Read our counters' packets. */
MUST_USE int talk_counters(uint64_t packets[COUNTER_COUNT]);

#endif
