/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a body of HTTP/1.x ends, found piece by piece, and chunks written.
 *
 * Chunk extensions are dropped if short; blanks behind a size are tolerated,
 * some origins send them.  Trailers follow the grammar of fields; one that may
 * not stand there (field_may_trail) is refused.
 *
 * Source: RFC 9112 6, 7.1.
 * Pure: no allocation, no I/O, no state but in the caller's struct.
 */
#ifndef WIRE_H1_BODY_H
#define WIRE_H1_BODY_H

#include "base/attr.h"
#include "base/parse.h"
#include "base/slice.h"
#include "base/wr.h"
#include "wire/h1_head.h"

/* Bytes of chunk lines beyond 16 a chunk and twice its data (CVE-2023-39326). */
#define H1_CHUNK_EXCESS_MAX 16384
#define H1_EXTENSION_MAX 256 /* bytes of blanks and extensions a chunk */

enum h1_side {
	H1_CLIENT,   /* a request's body: http.framing, http.malformed */
	H1_UPSTREAM, /* a response's: up.response */
};

/* All members are the decoder's own, but `left` may be read of LENGTH. */
struct h1_body {
	enum http_body kind;
	enum h1_side side;
	unsigned phase;	  /* CHUNKED: what comes next */
	uint64_t left;	  /* bytes to come of the body, or of this chunk */
	unsigned digits;  /* of this chunk's size */
	size_t extension; /* bytes behind this chunk's size */
	uint64_t excess;  /* see H1_CHUNK_EXCESS_MAX */
	size_t trailer;	  /* bytes of the trailer section */
	size_t n_trailers;
	uint8_t name[32]; /* the trailer's name, as far as it can matter */
	size_t n_name;
	struct slice section; /* see h1_body_take */
};

/* Prepare for the body that a head announced. */
void h1_body_init(struct h1_body *b, enum http_body kind, uint64_t length,
    enum h1_side side);

/*
 * Take the next run of data off the front of `in`.
 *
 * data	 set on PARSE_MORE and PARSE_DONE: bytes of the body, perhaps none;
 *	 points into `in`
 * used	 set with it: bytes to drop from `in` (framing and data)
 * fail	 set on PARSE_BAD only; `at` is in `in`
 *
 * PARSE_MORE: the body goes on; call again with what is left of `in` if that
 * is not empty.  PARSE_DONE: it is over, what is left of `in` is not body.
 * b->section is what of the dropped bytes belongs to trailers, perhaps none;
 * put together it is what h1_trailers_take() reads.
 *
 * UNTIL_CLOSE is never DONE.  Data already given stays given after PARSE_BAD:
 * the message is to be cut, not completed.
 */
MUST_USE enum parse h1_body_take(struct h1_body *b, struct slice in,
    struct slice *data, size_t *used, struct parse_fail *fail);

/*
 * Take the whole section of a chunked body's trailers apart: none, if `in` is
 * empty.  They point into it.  False: it is not one that h1_body_take() gave.
 */
MUST_USE bool h1_trailers_take(struct slice in, struct field_list *fields);

/* True if the body was whole should the connection end now, announced. */
bool h1_body_may_end(const struct h1_body *b);

#define H1_CHUNK_HEAD_MAX 18 /* 16 hex digits and CRLF */

/* Write the line before `n` bytes of data, n > 0; returns its length. */
size_t h1_body_put_chunk(uint64_t n, uint8_t out[H1_CHUNK_HEAD_MAX]);

#define H1_CHUNK_END "\r\n"	  /* behind the data of each chunk */
#define H1_LAST_CHUNK "0\r\n\r\n" /* the end of the body, no trailers */

/* Room for the end of a body with trailers that were read as `n` bytes. */
#define H1_TRAILERS_ROOM(n) ((n) + LIMIT_HEAD_FIELDS + 8)

/* Append the end of the body with these trailers, as they were written. */
void h1_body_put_end(struct wr *w, const struct field_list *fields);

#endif
