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
#include "wire/field.h"
#include "wire/target.h"

/* Details of REASON_LIMIT_BYTES: the first is answered with 414. */
#define H1_TARGET_TOO_LONG "target over the limit"
#define H1_HEAD_TOO_LONG "head over the limit"
#define H1_TOO_MANY_FIELDS "too many fields"

struct h1_limits {
	size_t head;   /* bytes, with the empty line that ends it */
	size_t target; /* bytes */
	size_t fields; /* entries, at most FIELD_MAX */
};

extern const struct h1_limits h1_limits; /* those of base/limits.h */

/* How far a head that came in pieces has been looked at; zero to begin with. */
struct h1_scan {
	size_t seen; /* no end of the head lies before this offset */
	size_t next; /* look at the whole again when there are so many bytes */
};

enum h1_body_kind {
	H1_BODY_NONE,	     /* the head is all */
	H1_BODY_LENGTH,	     /* exactly `length` bytes; 0 if it says 0 */
	H1_BODY_CHUNKED,     /* chunks, then trailers */
	H1_BODY_UNTIL_CLOSE, /* responses only: ends with the connection */
};

enum h1_expect {
	H1_EXPECT_NONE,
	H1_EXPECT_CONTINUE, /* 100-continue; never of HTTP/1.0 */
	H1_EXPECT_OTHER,    /* answered with 417, then closed */
};

struct h1_request {
	struct h1_scan scan;
	struct slice method;	      /* visible ASCII; perhaps no known one */
	struct slice raw_target;      /* as sent */
	struct target target;	      /* the same, taken apart */
	struct target_authority host; /* what the Host field says */
	struct field_list fields;     /* all of them, as sent */
	enum h1_body_kind body;	      /* never UNTIL_CLOSE */
	uint64_t length;	      /* of LENGTH; else 0 */
	enum h1_expect expect;
	bool is_http10;	  /* answered unchunked, then closed */
	bool keep_alive;  /* the client may send another request */
	bool has_upgrade; /* asks for another protocol */
};

struct h1_response {
	struct h1_scan scan;
	unsigned status;	  /* 100..999 */
	struct slice phrase;	  /* the reason phrase; may be empty */
	struct field_list fields; /* all of them, as sent */
	enum h1_body_kind body;
	bool has_length; /* a Content-Length was there: also of HEAD, 304 */
	uint64_t length; /* its value; the body's only if body is LENGTH */
	bool is_http10;
	bool keep_alive; /* upstream may be asked again once the body ended */
};

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
    const struct h1_limits *limits, struct h1_request *req, size_t *used,
    struct parse_fail *fail);

/*
 * Read a response's head, as above; `method` is that of the request that it
 * answers.  A 1xx is a head of its own.  The reason is REASON_UP_RESPONSE.
 */
MUST_USE enum parse h1_response_take(struct slice in,
    const struct h1_limits *limits, struct slice method,
    struct h1_response *res, size_t *used, struct parse_fail *fail);

/*
 * The status that answers a request which some parser of wire/ refused: that
 * of the reason, but 414 for a long target or path, 431 for a long head.
 */
unsigned h1_fail_status(const struct parse_fail *fail);

#endif
