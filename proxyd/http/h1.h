/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HTTP/1.1 over streams: whole heads taken off a stream into memory of their
 * own, and a body's way from one stream to another: its framing read, its
 * stages passed, framed anew.  Bytes go on as they come.
 *
 * Source: RFC 9112.
 */
#ifndef HTTP_H1_H
#define HTTP_H1_H

#include "http/way.h"
#include "net/stream.h"
#include "wire/h1_head.h"

/*
 * Take a request's head off `s`.
 *
 * req	 zeroed before the first call for a head; afterwards points into `head`
 * head	 set to the head's bytes on PARSE_DONE
 * fail	 set on PARSE_BAD only; the stream's bytes are of no use then
 *
 * A full stream whose head has no end is PARSE_BAD, REASON_LIMIT_BYTES.
 */
/* Once more, out of the head that it was copied to.  False: it is none. */
MUST_USE bool h1_read_again(struct http_request *req, const struct buf *head);
MUST_USE enum parse h1_read_request(struct stream *s, struct http_request *req,
    struct buf *head, struct parse_fail *fail);

/* Take a response's head off `s`, as above; answers a request of `method`. */
MUST_USE enum parse h1_read_response(struct stream *s, struct slice method,
    struct http_response *res, struct buf *head, struct parse_fail *fail);

/*
 * Move what can be moved of a body.  PARSE_MORE: wait for news of either
 * stream.  PARSE_DONE: all data was put, its end is to follow.
 * PARSE_BAD: it is to be cut; a source that ended too early has
 * REASON_CLIENT_ABORT or REASON_UP_RESPONSE.
 */
MUST_USE enum parse h1_way_move(struct way *w, struct stream *from,
    struct stream *to, struct parse_fail *fail);

/*
 * Put the end of it, with `fields` behind a chunked one; NULL: none.  For
 * UNTIL_CLOSE the caller shuts `to`.  False: it does not fit, or nobody is
 * there.
 */
MUST_USE bool h1_way_put_end(struct way *w, struct stream *to,
    const struct field_list *fields);

/*
 * Or give the body to its owner: the next run of its data, without framing.
 * PARSE_MORE: in->n bytes, none if none has come.  PARSE_DONE: it is over.
 * PARSE_BAD as above.  way_pulled() drops what was read; a body that was begun
 * in this way goes on in it.
 */
MUST_USE enum parse h1_way_pull(struct way *w, struct stream *from,
    struct slice *in, struct parse_fail *fail);

/* Put bytes of the owner's, framed as w->out says, and the end behind them. */
MUST_USE bool h1_way_put(struct way *w, struct stream *to, struct slice data,
    bool last);

#endif
