/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One call over the control socket: the head of an HTTP/1.1 request, read by
 * the same strict parser as a sandbox's, and what is to come behind it.
 *
 * A body has a Content-Length and is application/json; everything else about
 * its length is refused.  What is refused here is answered and the connection
 * ends: what would stand behind such a head is not looked at.
 *
 * Source: RFC 9110, 9112.
 * Pure.
 */
#ifndef CONTROL_CALL_H
#define CONTROL_CALL_H

#include "control/problem.h"
#include "control/route.h"
#include "wire/message.h"

struct call {
	struct http_request head; /* its slices: while call_take() runs */
	const struct route *route;
	char name[CONTROL_NAME_MAX + 1]; /* of the path, or empty */
	size_t length;			 /* of the body to come */
	bool keep_alive;		 /* another call may follow */
	bool expects;			 /* `100 Continue` before the body */
	char allow[ROUTE_ALLOW_SIZE];	 /* of METHOD_UNKNOWN, else empty */
	struct problem problem;		 /* of PARSE_BAD */
};

/*
 * Read the head.
 *
 * in	 what has arrived so far, from the head's first byte
 * call	 zeroed before the first call for a head
 * used	 set on PARSE_DONE only: bytes of the head
 */
MUST_USE enum parse call_take(struct slice in, struct call *call, size_t *used);

#endif
