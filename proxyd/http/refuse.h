/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Our own answers: a refusal that explains itself in HTTP, so that a person or
 * an agent knows which rule was missing and stops retrying.
 *
 * text/plain, three lines: what was refused and why, what the policy says,
 * where to look.  application/problem+json (RFC 9457) where Accept prefers JSON:
 * type, title, status, detail, and of ours reason, rule, allowed, flow and
 * message, which is detail under the name that the clients of many APIs print.
 * With `code_only` the body has the reason's code and the flow, and of the JSON
 * rule and allowed are left out.  Always Connection: close, Duenna-Reason,
 * Duenna-Flow.
 */
#ifndef HTTP_REFUSE_H
#define HTTP_REFUSE_H

#include "base/buf.h"
#include "base/reason.h"
#include "net/stream.h"
#include "wire/h1_head.h"

#define REFUSAL_TEXT_MAX 4096 /* bytes of `what` or of `policy` */
#define REFUSAL_LINE_MAX (2 * REFUSAL_TEXT_MAX + 512)
/* In JSON both stand twice, and what policy says may be escaped. */
#define REFUSAL_BODY_MAX (6 * REFUSAL_LINE_MAX)
/* Of an owner's text: a report has a line for each of 1,000 refs. */
#define REFUSAL_FIRST_MAX 16384
#define REFUSAL_LAST_MAX 2097152
#define REFUSAL_TEXT "text/plain; charset=utf-8"
#define REFUSAL_JSON "application/problem+json"

struct refusal {
	unsigned status; /* 0: the reason's own */
	enum reason reason;
	bool grpc;		/* for a gRPC client: see http/refuse_grpc.h */
	bool code_only;		/* `refusals: code`: nothing but the code */
	uint32_t retry_after_s; /* 0: nobody knows */
	struct buf
	    what; /* owned; "DELETE https://h/p", escaped; may be empty */
	struct buf policy; /* owned; which rule was missing; may be empty */
	/*
	 * Text of the owner's instead of ours, of this type.  With `for_git` it
	 * is an answer that git reads to its end: `first` goes at once, `last`
	 * once the request was read, and the connection may go on.
	 */
	const char *type;	/* NULL: ours */
	struct buf first, last; /* owned */
	bool for_git;
	struct slice rule;    /* borrowed; the rule that decided, or empty */
	struct slice allowed; /* borrowed; pattern of the nearest rule */
};

void refusal_init(struct refusal *r);
void refusal_release(struct refusal *r);

/*
 * Append text that a peer chose: printable ASCII as it is, `\`, quotes and all
 * other bytes as \xHH, cut at `max` bytes of output.
 */
void refusal_put_escaped(struct buf *out, struct slice text, size_t max);

/* All of it in one line, without a line end. */
void refusal_put_line(const struct refusal *r, const char *flow,
    struct buf *out);

/* The status that it is answered with; gRPC has another than HTTP's then. */
unsigned refusal_status(const struct refusal *r);
unsigned refusal_http_status(const struct refusal *r);

/* Its body and what kind that is, as what `req` accepts prefers it. */
void refusal_put_body(const struct refusal *r, const char *flow,
    const struct http_request *req, struct buf *body);
const char *refusal_type(const struct refusal *r,
    const struct http_request *req);
bool refusal_is_json(const struct http_request *req);

/* One of the few fields that our own answers have, which a list has room for. */
void refusal_add(struct field_list *fields, const char *name,
    const char *value);

/*
 * Answer on `s`, over HTTP/1.1.
 *
 * flow	 id of the flow, of ours
 * req	 the request, as far as it was read; NULL: nothing of it is known
 *
 * False: it did not fit, or the side is gone.
 */
MUST_USE bool refusal_put(const struct refusal *r, struct stream *s,
    const char *flow, const struct http_request *req);

/*
 * The same over a stream of HTTP/2, but for its end: that is the caller's to
 * put, except of an answer without a body.  `n` is increased by its bytes.
 */
MUST_USE bool refusal_put_h2(const struct refusal *r, struct stream *s,
    const char *flow, const struct http_request *req, uint64_t *n);

#endif
