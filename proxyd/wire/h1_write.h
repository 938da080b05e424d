/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heads of HTTP/1.1 messages, written anew from what was understood; never the
 * bytes of a head that came in.
 *
 * A request: `METHOD SP target SP HTTP/1.1`, Host, the fields in their order
 * with values byte for byte, names with each word capitalised and one blank
 * behind the colon, our framing, our Connection, credentials last.  Gone are
 * the fields of FIELD_NOT_UPSTREAM and those that Connection names, but `TE:
 * trailers`, and what Trailer announces in front of a chunked body, of an
 * answer too, if it may trail.
 *
 * Source: RFC 9112 2-6; RFC 9110 7.6.
 * Pure: no allocation, no I/O, no state between calls.
 */
#ifndef WIRE_H1_WRITE_H
#define WIRE_H1_WRITE_H

#include "base/limits.h"
#include "base/slice.h"
#include "base/wr.h"
#include "wire/message.h"

/* Room that is enough for a head that was read as `n` bytes, plus `more`. */
#define H1_WRITE_ROOM(n, more) ((n) + LIMIT_HEAD_FIELDS + 1024 + (more))
/* ... and for any that was read under the limits of base/limits.h. */
#define H1_WRITE_MAX(more) H1_WRITE_ROOM(LIMIT_HEAD_SIZE, more)

/* Bytes that credentials take in a head: not counted in records, since they
 * would tell of a secret's length. */
size_t h1_credentials_size(const struct http_new_request *r);

/* Append the head; w->bad if it did not fit. */
void h1_put_request(struct wr *w, const struct http_new_request *r);

/*
 * Append the head; names and values stay as the origin wrote them.  Gone are
 * the fields of FIELD_NOT_TO_CLIENT and those that Connection names.
 */
void h1_put_response(struct wr *w, const struct http_new_response *r);

#endif
