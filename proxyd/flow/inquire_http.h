/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The HTTP of a question to a git server: its head, and what of the answer's head
 * counts.  For flow/inquire.c alone.
 *
 * Source: gitprotocol-http(5), "Smart Clients"; gitprotocol-v2(5).
 */
#ifndef FLOW_INQUIRE_HTTP_H
#define FLOW_INQUIRE_HTTP_H

#include "flow/request.h"

/*
 * The path of the repository of `r` as the rule spells it, which is what every
 * question's path begins with.  False: no memory, or there is none.
 */
MUST_USE bool inquire_put_path(const struct request *r, struct buf *out);

/* The method, and what stands behind that path. */
struct slice inquire_method(bool discover);
struct slice inquire_service(bool discover);

struct inquire_head {
	const struct request *request; /* whose host, port and rule it has */
	struct slice path;	       /* whole */
	bool discover;
	size_t body;		     /* bytes */
	const struct attach *attach; /* credentials */
};

/* Put the head, with a secret if there is one.  False: it does not fit. */
MUST_USE bool inquire_put_head(const struct inquire_head *h, struct stream *to);

/* Is it what was asked for?  Else why not, in `why`. */
MUST_USE bool inquire_is_answer(struct http_response *res, bool discover,
    char why[STREAM_TEXT_SIZE]);

#endif
