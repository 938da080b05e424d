/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The TLS ClientHello, over records and segments however small: the names that
 * a client asks for before anything is answered.
 *
 * Whatever is accepted here has the same server name for OpenSSL (a fuzzer
 * compares them); what OpenSSL would refuse later may pass.
 *
 * Source: RFC 8446 4.1.2, 4.2, 5.1; RFC 6066 3 (names); RFC 7301 3.1 (ALPN).
 * Pure: no allocation, no I/O, no state but in the caller's struct.
 */
#ifndef WIRE_HELLO_H
#define WIRE_HELLO_H

#include "base/attr.h"
#include "base/limits.h"
#include "base/parse.h"
#include "base/slice.h"
#include "wire/alpn.h"

#define HELLO_TLS12 0x0303
#define HELLO_TLS13 0x0304

struct hello {
	size_t at; /* own: offset in `in` of the next record */
	size_t n;  /* own: bytes of the message put together in scratch */
	bool has_sni;
	struct slice sni; /* as sent, unjudged; goes to host_from_sni() */
	bool has_alpn;
	struct slice alpn;     /* for hello_take_alpn() */
	enum alpn_offer offer; /* what of it we speak */
	uint16_t version; /* the highest offered: HELLO_TLS12, HELLO_TLS13 */
	bool has_ech;	  /* an encrypted ClientHello, or its grease */
};

/*
 * Read a ClientHello from the first byte of a connection.
 *
 * in	    all that has arrived; borrowed, not modified; may move between calls
 * scratch  room for LIMIT_HELLO_SIZE bytes, the caller's, kept from call to
 *	    call and as long as *hello is in use
 * hello    zeroed before the first call, then kept; all but its own members
 *	    is set on PARSE_DONE only and points into `scratch`
 * fail	    set on PARSE_BAD only: REASON_TLS_NOT_TLS, REASON_TLS_HELLO_SIZE,
 *	    REASON_TLS_VERSION or REASON_TLS_SNI_INVALID
 *
 * A hello without a server name is PARSE_DONE without has_sni.  The calls for
 * one hello take linear time together, however it is cut.
 */
MUST_USE enum parse hello_take(struct slice in, uint8_t *scratch,
    struct hello *hello, struct parse_fail *fail);

/* Take the next protocol name off hello->alpn; false at the end. */
bool hello_take_alpn(struct slice *rest, struct slice *name);

#endif
