/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stream of HTTP/2: a net/stream.h whose bytes are the DATA of one message
 * each way; heads and trailers go beside it, by the functions here.
 *
 *  take    opens the window of the peer; nothing else does
 *  eof     END_STREAM of the peer, DATA as long as its head said
 *  shut    END_STREAM of ours
 *  broken  RST_STREAM, or the connection is lost
 *  close   before both ends: RST_STREAM(CANCEL), or (NO_ERROR) of a server
 *	    whose answer is whole
 *
 * It has no descriptor: the keeper is shown that of the connection.
 *
 * Source: RFC 9113 5, 8.1.
 */
#ifndef HTTP_H2_STREAM_H
#define HTTP_H2_STREAM_H

#include "base/buf.h"
#include "http/h2.h"
#include "wire/h2_head.h"

/* Error codes (RFC 9113 7) that have a meaning for owners of streams. */
enum h2_code {
	H2_NO_ERROR = 0x0,
	H2_PROTOCOL_ERROR = 0x1,
	H2_INTERNAL_ERROR = 0x2,
	H2_REFUSED_STREAM = 0x7,
	H2_CANCEL = 0x8,
	H2_ENHANCE_YOUR_CALM = 0xb,
	H2_HTTP_1_1_REQUIRED = 0xd,
};

/* True if `s` is one: what follows is for those alone. */
bool h2_is_stream(const struct stream *s);
/* Its owner will be told of something in this turn of the loop. */
bool h2_has_news(const struct stream *s);
/* The connection that it is of; NULL: closed. */
struct h2_conn *h2_conn_of(const struct stream *s);

/*
 * Read the head of a request that on_request() brought; once.
 *
 * head	 its memory is given away for that which req points into
 * fail	 as of h2_request_take(); REASON_LIMIT_BYTES for a list over the limit
 *
 * Never PARSE_MORE.
 */
MUST_USE enum parse h2_read_request(struct stream *s, struct http_request *req,
    struct buf *head, struct parse_fail *fail);

/*
 * Read the next head of the answer, 1xx too, as above.  PARSE_MORE: none has
 * come; it will not if the stream is broken or ended.
 */
MUST_USE enum parse h2_read_response(struct stream *s, struct slice method,
    struct http_response *res, struct buf *head, struct parse_fail *fail);

/*
 * Read the trailers, at eof.  PARSE_DONE with fields->n 0: there are none.
 */
MUST_USE enum parse h2_read_trailers(struct stream *s,
    struct field_list *fields, struct buf *head, struct parse_fail *fail);

/*
 * Put a head, before any byte; `end`: no body follows, as by stream_shut().
 * False: the stream is broken, or no memory.  Credentials are in no memory of
 * ours once they have left.
 */
MUST_USE bool h2_put_request(struct stream *s, const struct http_new_request *r,
    bool end);
/* Any number of 1xx (with end false), then one other. */
MUST_USE bool h2_put_response(struct stream *s,
    const struct http_new_response *r, bool end);
/* Put trailers behind every byte, instead of stream_shut(). */
MUST_USE bool h2_put_trailers(struct stream *s,
    const struct field_list *fields);

/* End it with this code; the stream is broken then, and still to be closed. */
void h2_reset(struct stream *s, uint32_t code);
/* The code of the peer's RST_STREAM, to be passed on; else H2_NO_ERROR. */
uint32_t h2_error(const struct stream *s);
/*
 * Broken, and the peer says that it did nothing of the request: it may be
 * asked again elsewhere (REFUSED_STREAM, or above the last stream of GOAWAY).
 */
bool h2_was_refused(const struct stream *s);

#endif
