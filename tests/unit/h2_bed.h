/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections of HTTP/2 without sockets: one against bytes that a test writes
 * by hand, or two back to back.
 */
#ifndef TESTS_UNIT_H2_BED_H
#define TESTS_UNIT_H2_BED_H

#include <nghttp2/nghttp2.h>

#include "base/attr.h"
#include "base/buf.h"
#include "http/h2_stream.h"
#include "net/loop.h"
#include "row.h"

/* One direction of a connection. */
struct h2_pipe {
	struct buf bytes;   /* written and not read yet */
	size_t cut, window; /* bytes that one read gives; that wait at most */
	bool ended, broken;
	struct stream *reader; /* woken when something comes; NULL: closed */
	uint64_t n;	       /* bytes that were ever written */
};

#define H2_BED_STREAMS 1200

/* A connection and who owns it. */
struct h2_side {
	struct h2_conn *c;
	struct stream *s[H2_BED_STREAMS]; /* requests in the order they came */
	size_t n;
	unsigned n_news; /* of the connection */
	bool drops;	 /* ends each request in its callback */
};

struct h2_bed {
	struct loop *loop;
	struct h2_pipe to_server, to_client;
	struct h2_side server,
	    client; /* c is NULL where the test is the peer */
};

enum h2_bed_kind {
	H2_BED_SERVER,
	H2_BED_CLIENT,
	H2_BED_BOTH
};

void h2_bed_init(struct h2_bed *b, enum h2_bed_kind kind);
/* Ends all, and fails the test if a stream of the loop's is left. */
void h2_bed_release(struct h2_bed *b);
/* The server's end, for a connection of the test's own. */
struct stream *h2_bed_end(struct h2_bed *b);
/* Let everything happen that can. */
void h2_bed_turn(struct h2_bed *b);

/* --- frames by hand ------------------------------------------------------- */

#define PREFACE "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

struct h2_frame {
	uint8_t type, flags;
	uint32_t stream;
	struct slice payload;
};

void h2_put_frame(struct buf *b, uint8_t type, uint8_t flags, uint32_t stream,
    struct slice payload);
/* Fields as lines of `name|value`, literal and not indexed. */
void h2_put_fields(struct buf *b, const char *lines);
/* HEADERS with those, END_HEADERS set. */
void h2_put_head(struct buf *b, uint8_t flags, uint32_t stream,
    const char *lines);
/* Preface and SETTINGS of a client; SETTINGS of a server. */
void h2_put_hello(struct buf *b, bool is_client);
/* Take a frame off `in`; false: there is no whole one. */
bool h2_take_frame(struct slice *in, struct h2_frame *f);
/* The last frame of that type (and stream, if not 0) in what came; or fails. */
struct h2_frame h2_last_frame(struct slice in, uint8_t type, uint32_t stream);
size_t h2_count_frames(struct slice in, uint8_t type);
uint32_t h2_u32(struct slice payload, size_t at);

#define H2_GET ":method|GET\n:scheme|https\n:path|/\n:authority|ok.test\n"
#define H2_POST ":method|POST\n:scheme|https\n:path|/\n:authority|ok.test\n"

/* Of a literal. */
#define FRAME_TO(to, type, flags, stream, bytes) \
	h2_put_frame(to, NGHTTP2_##type, flags, stream, SLICE(bytes))
#define FRAME(type, flags, stream, bytes) \
	FRAME_TO(b, type, flags, stream, bytes)
/* A frame of `n` zeros. */
void h2_put_zeros(struct buf *b, uint8_t type, uint32_t stream, size_t n);
#define ES NGHTTP2_FLAG_END_STREAM
#define EH NGHTTP2_FLAG_END_HEADERS

/* --- rows: what the peer of ours sends, and the outcome -------------------- */

#define NONE UINT32_MAX

struct h2_row {
	const char *name;
	void (*put)(struct buf *b);
	enum reason reason; /* of the connection; ALLOW: goes on */
	uint32_t goaway;    /* NONE: none */
	uint32_t reset;	    /* of stream 1; NONE: none */
	size_t n;	    /* requests that their owner sees, at most */
};

/* All at once, and in pieces of every size that is of interest. */
void h2_bed_check(const struct h2_row *rows, size_t n, enum h2_bed_kind kind);

/* --- messages ------------------------------------------------------------- */

/* A request of one field of ours; the stream, or fails. */
struct stream *h2_bed_ask(struct h2_side *client, const char *method, bool end);
/* Answer with a status. */
void h2_bed_answer(struct stream *s, unsigned status, bool end);
/* Read the head of a request (of an answer); fails if it is bad. */
void h2_bed_read(struct stream *s, struct http_request *req);
unsigned h2_bed_status(struct stream *s);

#endif
