/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body of a push as git's own server reads it: without framing, and out of
 * the one gzip member that some clients put it into.  What goes upstream is
 * never encoded, so that there is one reading of it.
 */
#ifndef FLOW_PUSHING_BODY_H
#define FLOW_PUSHING_BODY_H

#include "git/gzip.h"
#include "http/exchange.h"

#define PUSHING_INFLATE_SIZE 16384 /* bytes that are inflated at once */

struct pushing_body {
	struct exchange *x; /* borrowed */
	struct gzip *gzip;  /* owned; NULL: it is not encoded */
	uint8_t *out;	    /* owned, of gzip */
	size_t at, n;	    /* bytes of `out` that were taken; that are there */
	bool is_full;	    /* more may come out without anything going in */
	uint64_t taken;	    /* bytes, of what was inflated */
};

/* False: no memory.  pushing_body_release() in any case. */
MUST_USE bool pushing_body_init(struct pushing_body *b, struct exchange *x,
    bool is_gzip);
void pushing_body_release(struct pushing_body *b);

/*
 * What of it has come and was not taken.  PARSE_MORE: in->n may be 0.
 * PARSE_DONE: it has ended, in->n is 0.  PARSE_BAD: it was cut, or is not one
 * clean gzip member.
 */
MUST_USE enum parse pushing_body_peek(struct pushing_body *b, struct slice *in,
    struct parse_fail *fail);
void pushing_body_take(struct pushing_body *b, size_t n);

#endif
