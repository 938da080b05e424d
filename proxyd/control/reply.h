/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Answers over the control socket, written: JSON, or RFC 9457's
 * application/problem+json with `code` of the closed list, and `where` of the
 * request it lies.
 */
#ifndef CONTROL_REPLY_H
#define CONTROL_REPLY_H

#include "base/buf.h"
#include "control/problem.h"
#include "control/route.h"

#define REPLY_CONTINUE "HTTP/1.1 100 Continue\r\n\r\n"
/* Head and problem, its detail escaped: enough for each. */
#define REPLY_MAX (6 * CONTROL_DETAIL_MAX + 8192)

/* The head of an answer that has `length` bytes of content behind it. */
void reply_put_head(struct buf *out, const struct route *route,
    enum control_code code, size_t length, bool close);

/* A whole answer with what a code says, where the monitor gave no content. */
void reply_put_done(struct buf *out, const struct control_answer *a,
    bool close);

/* A whole problem.  `where` and `allow`: or empty. */
void reply_put_problem(struct buf *out, const struct control_answer *a,
    const char *where, const char *allow, bool close);

#endif
