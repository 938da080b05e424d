/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker's request for a dial, read as hostile input and decided again from
 * the dialer's own copy of the program.
 * Pure but for the clock.
 */
#ifndef DIAL_REQUEST_H
#define DIAL_REQUEST_H

#include "base/attr.h"
#include "policy/policy.h"
#include "priv/who.h"

#define REQUEST_HOST_MAX 253 /* bytes of a canonical name */

/* The body of OP_DIAL. */
struct request {
	struct who who; /* its slices point into the body */
	uint32_t rule;
	uint16_t port;
	struct slice host; /* canonical, or empty; likewise */
};

/*
 * Read the body.  False: it is not what a worker of ours sends; then nothing
 * of it is to be used.
 */
MUST_USE bool request_read(struct slice body, struct request *r);

/*
 * Decide: is `rule` an allow rule for this host and port?  The scheme is that
 * of the rule.
 *
 * facts	 set for the record; facts->host lives as long as request and
 *		 program
 */
struct verdict request_decide(const struct program *p, const struct request *r,
    struct facts *facts);

#endif
