/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A body's way from one stream of HTTP/2 to another.  Bytes go on as they come;
 * the end is END_STREAM, perhaps with trailers, which the caller passes on.
 *
 * Source: RFC 9113 8.1.
 */
#ifndef HTTP_H2_WAY_H
#define HTTP_H2_WAY_H

#include "http/h2_stream.h"
#include "http/way.h"

/*
 * Move what can be moved.  PARSE_MORE: wait for news of either stream.
 * PARSE_DONE: every byte was put; the end is still to be put.  PARSE_BAD: it is
 * to be cut.  Not to be called again after DONE.
 */
MUST_USE enum parse h2_way_move(struct way *w, struct stream *from,
    struct stream *to, struct parse_fail *fail);

/* As h1_way_pull() and h1_way_put(); `last`: END_STREAM. */
MUST_USE enum parse h2_way_pull(struct way *w, struct stream *from,
    struct slice *in, struct parse_fail *fail);
MUST_USE bool h2_way_put(struct way *w, struct stream *to, struct slice data,
    bool last);

#endif
