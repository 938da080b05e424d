/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heads of HTTP/1.x messages: read strictly, and where the body ends decided
 * here, from the head alone.  A second statement about the length, also an
 * agreeing one, is refused.  h1_write.h writes heads anew from these structs.
 *
 * Source: RFC 9112 2-6; RFC 9110 6, 10.1.1 (Expect).  Stricter in all that
 *	   another parser might read in another way.
 * Pure: no allocation, no I/O, no state but in the caller's struct.
 */
#ifndef WIRE_H1_HEAD_H
#define WIRE_H1_HEAD_H

#include "base/attr.h"
#include "base/parse.h"
#include "base/slice.h"
#include "wire/message.h"

struct h1_limits {
	size_t head;   /* bytes, with the empty line that ends it */
	size_t target; /* bytes */
	size_t fields; /* entries, at most FIELD_MAX */
	bool any_host; /* nobody is chosen by the Host field: whatever it says;
			* req->host is empty then */
};

extern const struct h1_limits h1_limits; /* those of base/limits.h */

/*
 * Read a request's head, from its first byte, or from one CRLF before it.
 *
 * in	   what has arrived so far; borrowed, not modified.  May have moved
 *	   between calls, must stay while *req is in use
 * limits  see above
 * req	   zeroed before the first call for a head, then kept from call to
 *	   call; all but req->scan is set on PARSE_DONE only and points into `in`
 * used	   set on PARSE_DONE only: bytes of the head, to drop from `in`
 * fail	   set on PARSE_BAD only; REASON_HTTP_MALFORMED, REASON_HTTP_FRAMING
 *	   or REASON_LIMIT_BYTES
 *
 * The calls for one head take linear time together, however it is cut.
 */
MUST_USE enum parse h1_request_take(struct slice in,
    const struct h1_limits *limits, struct http_request *req, size_t *used,
    struct parse_fail *fail);

/*
 * Read a response's head, as above; `method` is that of the request that it
 * answers.  A 1xx is a head of its own.  The reason is REASON_UP_RESPONSE.
 */
MUST_USE enum parse h1_response_take(struct slice in,
    const struct h1_limits *limits, struct slice method,
    struct http_response *res, size_t *used, struct parse_fail *fail);

#endif
