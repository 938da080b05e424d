/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heads of HTTP/1.1 messages, written anew from what was understood; never the
 * bytes of a head that came in.
 *
 * A request: `METHOD SP target SP HTTP/1.1`, Host, the fields in their order
 * with values byte for byte, names with each word capitalised and one blank
 * behind the colon, our framing, our Connection, credentials last.  Gone are
 * the fields of FIELD_NOT_UPSTREAM and those that Connection names.
 *
 * Source: RFC 9112 2-6; RFC 9110 7.6.
 * Pure: no allocation, no I/O, no state between calls.
 */
#ifndef WIRE_H1_WRITE_H
#define WIRE_H1_WRITE_H

#include "base/slice.h"
#include "base/wr.h"
#include "wire/h1_head.h"

/* Room that is enough for a head that was read as `n` bytes, plus `more`. */
#define H1_WRITE_ROOM(n, more) ((n) + LIMIT_HEAD_FIELDS + 1024 + (more))
/* ... and for any that was read under h1_limits. */
#define H1_WRITE_MAX(more) H1_WRITE_ROOM(LIMIT_HEAD_SIZE, more)

struct h1_new_request {
	struct slice method;
	struct slice path; /* canonical */
	struct slice query;
	bool has_query;
	const struct host *host; /* the one name of this connection */
	uint16_t port; /* behind the host; 0: the scheme's own, left out */
	const struct field_list *fields;
	enum h1_body_kind body;
	uint64_t length;
	bool close;			 /* say that no other request follows */
	bool skip_expect;		 /* leave the client's Expect out */
	const struct field *credentials; /* written last, in order */
	size_t n_credentials;
	const struct field *parameters; /* behind the query, escaped */
	size_t n_parameters;
};

/* The new request for `req`, with nothing added and no credential. */
struct h1_new_request h1_new_request(const struct h1_request *req,
    struct slice path, const struct host *host);

/* Append the head; w->bad if it did not fit. */
void h1_put_request(struct wr *w, const struct h1_new_request *r);

struct h1_new_response {
	unsigned status;
	struct slice phrase;
	const struct field_list *fields;
	enum h1_body_kind body; /* UNTIL_CLOSE: to HTTP/1.0, no framing */
	bool has_length;	/* write Content-Length, also without a body */
	uint64_t length;
	bool close;
	bool skip_cookies; /* leave Set-Cookie out */
};

/*
 * The new response for `res` towards the client of `req`: a body without known
 * length is chunked for HTTP/1.1 and ends with the connection for HTTP/1.0.
 */
struct h1_new_response h1_new_response(const struct h1_response *res,
    const struct h1_request *req);

/*
 * Append the head; names and values stay as the origin wrote them.  Gone are
 * the fields of FIELD_NOT_TO_CLIENT and those that Connection names.
 */
void h1_put_response(struct wr *w, const struct h1_new_response *r);

#endif
