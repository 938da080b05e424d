/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A refusal as a gRPC client reads it: its libraries look at no body and at no
 * status but their own, so both stand in trailers that are the whole answer.
 *
 * Source: gRPC over HTTP/2 (Responses), HTTP to gRPC Status Code Mapping.
 */
#ifndef HTTP_REFUSE_GRPC_H
#define HTTP_REFUSE_GRPC_H

#include "http/refuse.h"

#define REFUSAL_GRPC "application/grpc"
/* Clients take 8 KiB of fields, all together. */
#define REFUSAL_GRPC_MESSAGE_MAX 2048

/* Does the request come from one?  `application/grpc`, or `+proto` and such. */
bool refusal_is_grpc(const struct http_request *req);

/* What its library makes of an answer with that status. */
unsigned refusal_grpc_status(unsigned http_status);

/* With what this one is answered; 0: not to such a client. */
unsigned refusal_grpc_answer(const struct refusal *r);

/* The text in one line for `grpc-message`, escaped and cut. */
void refusal_put_grpc_message(const struct refusal *r, const char *flow,
    struct buf *out);

#endif
