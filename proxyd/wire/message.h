/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a message of HTTP says, whatever the version it came in: h1_head.h and
 * h2_head.h fill these structs, h1_write.h and h2_head.h write from them.
 *
 * Source: RFC 9110 6.
 * Pure: no allocation, no I/O, no state between calls.
 */
#ifndef WIRE_MESSAGE_H
#define WIRE_MESSAGE_H

#include "base/parse.h"
#include "base/slice.h"
#include "base/wr.h"
#include "wire/field.h"
#include "wire/target.h"

/* Details of REASON_LIMIT_BYTES: the first is answered with 414. */
#define HTTP_TARGET_TOO_LONG "target over the limit"
#define HTTP_HEAD_TOO_LONG "head over the limit"
#define HTTP_TOO_MANY_FIELDS "too many fields"
/* Of trailers, whatever the version. */
#define HTTP_NO_TRAILER "trailer that frames, routes or authenticates"
#define HTTP_TRAILERS_TOO_LONG "trailers over the limit"

/*
 * How far a head of HTTP/1 that came in pieces has been looked at; zero to
 * begin with.
 */
struct http_scan {
	size_t seen; /* no end of the head lies before this offset */
	size_t next; /* look at the whole again when there are so many bytes */
};

enum http_body {
	HTTP_BODY_NONE,	  /* the head is all */
	HTTP_BODY_LENGTH, /* exactly `length` bytes; 0 if it says 0 */
	HTTP_BODY_OPEN,	  /* of no known length: chunks, or until END_STREAM */
	HTTP_BODY_UNTIL_CLOSE, /* of HTTP/1: the connection ends it */
};

enum http_expect {
	HTTP_EXPECT_NONE,
	HTTP_EXPECT_CONTINUE, /* 100-continue; never of HTTP/1.0 */
	HTTP_EXPECT_OTHER,    /* answered with 417, then closed */
};

/* What the field Expect says. */
enum http_expect http_expect_of(struct field_list *fields);

struct http_request {
	struct http_scan scan;
	struct slice method;	      /* visible ASCII; perhaps no known one */
	struct slice raw_target;      /* as sent */
	struct target target;	      /* the same, taken apart */
	struct target_authority host; /* what the Host field says */
	struct field_list fields;     /* all of them, as sent */
	enum http_body body;	      /* never UNTIL_CLOSE */
	uint64_t length;	      /* of LENGTH; else 0 */
	enum http_expect expect;
	bool is_http10;	       /* answered unchunked, then closed */
	bool keep_alive;       /* the client may send another request */
	bool has_upgrade;      /* asks for another protocol */
	struct slice protocol; /* ... by extended CONNECT (RFC 8441): which */
};

struct http_response {
	struct http_scan scan;
	unsigned status;	  /* 100..999 */
	struct slice phrase;	  /* the reason phrase; may be empty */
	struct field_list fields; /* all of them, as sent */
	enum http_body body;
	bool has_length; /* a Content-Length was there: also of HEAD, 304 */
	uint64_t length; /* its value; the body's only if body is LENGTH */
	bool is_http10;
	bool keep_alive; /* upstream may be asked again once the body ended */
};

struct http_new_request {
	struct slice method;
	struct slice protocol; /* of an extended CONNECT; else empty */
	struct slice path;     /* canonical */
	struct slice query;
	bool has_query;
	const struct host *host; /* the one name of this connection */
	uint16_t port; /* behind the host; 0: the scheme's own, left out */
	const struct field_list *fields;
	enum http_body body;
	uint64_t length;
	bool close;			 /* say that no other request follows */
	bool upgrade;			 /* HTTP/1: ask for a WebSocket */
	bool trailers;			 /* HTTP/1: the client takes them */
	bool skip_expect;		 /* leave the client's Expect out */
	const struct field *credentials; /* written last, in order */
	size_t n_credentials;
	const struct field *parameters; /* behind the query, escaped */
	size_t n_parameters;
};

/*
 * HTTP/1: does it say that trailers stand behind its body?  What comes unsaid
 * is left out.
 */
bool http_has_trailers(const struct http_request *req);

/*
 * The connection to an origin ends behind this request: one of HTTP/1.0, one
 * whose method says nothing of a body, and that has one, or one with trailers.
 * Some origins do not look for them there, and would read them as another
 * request (RFC 9110 9.3.1, SM-14); having been told that none follows, they do
 * not.
 */
bool http_is_last(const struct http_request *req);

/* The new request for `req`, with nothing added and no credential. */
struct http_new_request http_new_request(const struct http_request *req,
    struct slice path, const struct host *host);

/* Append a number; host and port; path, query and parameters. */
void http_put_number(struct wr *w, uint64_t v);
void http_put_authority(struct wr *w, const struct http_new_request *r);
void http_put_target(struct wr *w, const struct http_new_request *r);

struct http_new_response {
	unsigned status;
	struct slice phrase;
	const struct field_list *fields;
	enum http_body body; /* UNTIL_CLOSE: to HTTP/1.0, no framing */
	bool has_length;     /* write Content-Length, also without a body */
	uint64_t length;
	bool close;
	bool upgrade;	   /* HTTP/1: of a 101 to a WebSocket */
	bool skip_cookies; /* leave Set-Cookie out */
};

/*
 * The new response for `res` towards the client of `req`: a body without known
 * length is chunked for HTTP/1.1 and ends with the connection for HTTP/1.0.
 */
struct http_new_response http_new_response(const struct http_response *res,
    const struct http_request *req);

/*
 * The status that answers a request which some parser of wire/ refused: that
 * of the reason, but 414 for a long target or path, 431 for a long head.
 */
unsigned http_fail_status(const struct parse_fail *fail);

#endif
