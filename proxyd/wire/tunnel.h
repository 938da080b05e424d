/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tunnel through an HTTP proxy, as its client: CONNECT, and the head of the
 * answer.  What stands behind that head is the origin's.
 *
 * Source: RFC 9110 9.3.6; RFC 9112 3.2.3 (authority-form).
 * Pure: no allocation, no I/O, no state but in the caller's struct.
 */
#ifndef WIRE_TUNNEL_H
#define WIRE_TUNNEL_H

#include "base/wr.h"
#include "wire/h1_head.h"
#include "wire/host.h"

#define TUNNEL_REQUEST_MAX 600 /* bytes; a host stands in it twice */

/* Write the request.  Nothing in it is of the sandbox but host and port. */
void tunnel_write(struct wr *w, const struct host *host, uint16_t port);

/*
 * Read the head of the answer, of at most LIMIT_PROXY_HEAD_SIZE bytes.
 *
 * in	 what has arrived so far; borrowed, may have moved between calls
 * res	 zeroed before the first call, then kept from call to call; status and
 *	 fields are set on PARSE_DONE only
 * used	 set on PARSE_DONE only: bytes of the head.  As long as it is PARSE_MORE
 *	 all of `in` is of the head
 * fail	 set on PARSE_BAD only; REASON_UP_RESPONSE
 */
MUST_USE enum parse tunnel_take(struct slice in, struct http_response *res,
    size_t *used, struct parse_fail *fail);

#endif
