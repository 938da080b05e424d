/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One body on its way from one stream to another: through its stages, counted,
 * compared with the length that was announced.  How it is framed is its
 * version's: http/h1.h, http/h2_way.h.
 */
#ifndef HTTP_WAY_H
#define HTTP_WAY_H

#include "http/stage.h"
#include "net/stream.h"
#include "wire/h1_body.h"

struct way {
	struct h1_body in;    /* HTTP/1: how its source frames it */
	enum http_body out;   /* how we do */
	enum h1_side side;    /* where it comes from */
	uint64_t n, length;   /* bytes of it put; of LENGTH: to be put */
	bool has_end;	      /* its end is said beside its length: HTTP/2 */
	bool done;	      /* its end was put too */
	size_t run;	      /* pulled: data at the front of its source */
	struct buf trailers;  /* owned; HTTP/1: their section, as it came */
	struct stages stages; /* owned */
};

/* Without a body and without stages. */
void way_init(struct way *w, enum h1_side side, bool has_end);
/* Say how it is framed once that is known; the stages stay. */
void way_set(struct way *w, enum http_body in, enum http_body out,
    uint64_t length);
void way_release(struct way *w);

/* Bytes that may be taken at once, so that what comes of them has room. */
size_t way_portion(const struct way *w, const struct stream *to);

/*
 * Send *data through the stages, count what comes of it and leave it in *data,
 * for the caller to put.  `last`: nothing follows.  False with *fail set.
 */
MUST_USE bool way_pass(struct way *w, struct slice *data, bool last,
    struct parse_fail *fail);

/* Drop `n` bytes of the run that was pulled off `from`. */
void way_pulled(struct way *w, struct stream *from, size_t n);

/* The source ended too early: PARSE_BAD, with the reason of its side. */
enum parse way_cut(const struct way *w, const char *detail,
    struct parse_fail *fail);

#endif
