/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A new program for what is alive: everything is judged again by it.  What it
 * would refuse ends at once (policy.changed); what nothing was sent for yet asks
 * the other roles anew, by the new program; the rest goes on as it is.
 */
#ifndef FLOW_RELOAD_H
#define FLOW_RELOAD_H

#include "flow/sandbox.h"

struct request;

/* sb->generation is new. */
void reload(struct sandbox *sb);

/*
 * A request that was allowed, perhaps by a program that is not the present one
 * any more: does that allow it, too?  Then it is what the other roles are asked
 * by.
 */
MUST_USE bool reload_allows(struct request *r);

#endif
