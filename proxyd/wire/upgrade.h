/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a request asks for by `Upgrade`, over HTTP/2 by `:protocol`, and the two
 * heads that open a WebSocket.  Tokens are compared whole, never searched for.
 *
 * Source: RFC 6455 4; RFC 9110 7.8; RFC 8441 5.  Stricter: one protocol is asked
 *	   for and one is answered, a key is canonical Base64, the request of
 *	   HTTP/1.1 has no body.
 * Pure: no allocation, no I/O, no state between calls.
 */
#ifndef WIRE_UPGRADE_H
#define WIRE_UPGRADE_H

#include "base/attr.h"
#include "wire/message.h"

enum upgrade {
	UPGRADE_NONE, /* none, or to h2c alone: it is left out, and the request
			 goes on as one of HTTP/1.1 (RFC 9113 3.1) */
	UPGRADE_WEBSOCKET,
	UPGRADE_OTHER, /* or several */
};

/* What it asks for, whatever else is wrong with it. */
enum upgrade upgrade_asked(const struct http_request *req);

/* Why it does not open a WebSocket (RFC 6455 4.2.1, 8441 5); NULL: it does. */
const char *upgrade_check_request(const struct http_request *req);

/*
 * Text behind which `accept` is the Base64 of a SHA-1: the key of the request,
 * which upgrade_check_request() found right, then this (RFC 6455 4.2.2).
 */
#define UPGRADE_GUID "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"

/* The value of its Sec-WebSocket-Key. */
struct slice upgrade_key(const struct http_request *req);

/*
 * Why a 101 to `req` (over HTTP/2 a 2xx) is not the answer of an origin that
 * understood it (RFC 6455 4.1, 8441 5); NULL: it is.  `accept` is what its
 * Sec-WebSocket-Accept has to be; HTTP/2 has none.
 */
const char *upgrade_check_answer(const struct http_request *req,
    const struct http_response *res, struct slice accept);

#endif
