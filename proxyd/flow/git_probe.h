/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Before a request that fits no buffer git asks, by a POST of one flush, whether
 * it is let in, so that a 401 costs no upload.  Of a fetch that is answered here,
 * as of a push (flow/pushing.h): who gets so far is let in.
 */
#ifndef FLOW_GIT_PROBE_H
#define FLOW_GIT_PROBE_H

#include "base/attr.h"
#include "base/parse.h"
#include "base/slice.h"

#define GIT_PROBE_SIZE 4 /* bytes: "0000" */

struct request;

struct git_probe {
	uint8_t got[GIT_PROBE_SIZE];
	size_t n, fed; /* bytes that came; that went up, if it was none */
	bool may_be;   /* git_probe_may_be(), of the head as it came */
	bool answered; /* it was one */
};

/* By its head it may be one: then its body is to be read. */
bool git_probe_may_be(const struct request *r);

/* READ and SEND of the exchange, of such a request: see http/exchange_ops.h. */
void git_probe_read(struct request *r);
enum parse git_probe_feed(struct request *r, size_t room, struct slice *out);

#endif
