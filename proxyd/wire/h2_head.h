/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heads and trailers of HTTP/2 as lists of decoded fields: read strictly into
 * the structs that HTTP/1 fills as well, and written anew from them.
 *
 * A list is one run of bytes: of each field its two lengths, its name, its
 * value.  It is written by ours alone (h2_fields_put), names and values in it
 * are the peer's.
 *
 * Source: RFC 9113 8; RFC 8441 4; RFC 7541 7.1.3 (never indexed).  Stricter: no
 *	   field is dropped alone, `:authority` must be there, and `te` says
 *	   nothing but trailers.
 * Pure: no allocation, no I/O, no state between calls.
 */
#ifndef WIRE_H2_HEAD_H
#define WIRE_H2_HEAD_H

#include "base/attr.h"
#include "base/wr.h"
#include "wire/message.h"

/* --- lists --------------------------------------------------------------- */

/* Bytes of a field in a list beside its name and value. */
#define H2_FIELD_EXTRA 8
/* Room that is enough for any head that was read under our limits. */
#define H2_WRITE_MAX(more) \
	(LIMIT_HEAD_SIZE + H2_FIELD_EXTRA * LIMIT_HEAD_FIELDS + 1024 + (more))

/* Append a field; w->bad if it did not fit. */
void h2_fields_put(struct wr *w, const struct field *f);

/* Take the first field off `list`; false at its end, or where it is cut. */
bool h2_fields_take(struct slice *list, struct field *f);

/* --- reading ------------------------------------------------------------- */

/*
 * Read a request's head.
 *
 * list	 stays while *req is in use, which points into it
 * ends	 END_STREAM came with it: there is no body
 * fail	 set on PARSE_BAD; REASON_HTTP_MALFORMED, REASON_HTTP_FRAMING or
 *	 REASON_LIMIT_BYTES, `at` is in `list`
 *
 * The target's form is ORIGIN or ASTERISK, of CONNECT AUTHORITY.  An extended
 * CONNECT has req->protocol and counts as an upgrade.  req->host is what
 * `:authority` says; a field `host` must say the same and is gone.  A body
 * without a length is HTTP_BODY_OPEN.
 */
MUST_USE enum parse h2_request_take(struct slice list, bool ends,
    struct http_request *req, struct parse_fail *fail);

/*
 * Read a response's head, as above; `method` is that of the request.  The
 * reason is REASON_UP_RESPONSE.
 */
MUST_USE enum parse h2_response_take(struct slice list, bool ends,
    struct slice method, struct http_response *res, struct parse_fail *fail);

/* True for the head of a 1xx: others follow it. */
bool h2_is_informational(struct slice list);

/*
 * Read trailers: none but those of field_may_trail().  Of a request
 * `reason` is REASON_HTTP_MALFORMED, of a response REASON_UP_RESPONSE.
 */
MUST_USE enum parse h2_trailers_take(struct slice list, enum reason reason,
    struct field_list *fields, struct parse_fail *fail);

/* --- writing ------------------------------------------------------------- */

/*
 * Append the list of a new head: pseudo fields, then the fields in their order
 * with names in lower case, length, credentials last and never to be indexed.
 * Gone are the fields of FIELD_NOT_UPSTREAM, of FIELD_NOT_TO_CLIENT in a
 * response, but `te: trailers`, and before a body what `trailer` announces, if
 * it may trail.
 */
void h2_put_request_list(struct wr *w, const struct http_new_request *r);
void h2_put_response_list(struct wr *w, const struct http_new_response *r);

/* Append trailers. */
void h2_put_trailer_list(struct wr *w, const struct field_list *fields);

#endif
