/* SPDX-License-Identifier: Apache-2.0 */
/* HEAD and BODY: what the origin answers to a question. */
#include "flow/inquire_inside.h"
#include "flow/record.h"

/* It is there; is the connection good for another question? */
static void
whole(struct inquire *q)
{
	q->phase = INQUIRE_WHOLE;
	timer_stop(&q->limit);
	q->is_used = true;
	if (!q->res.keep_alive || q->res.body == HTTP_BODY_UNTIL_CLOSE)
		inquire_drop(q);
}

/* As for an answer to the client: somebody's token is no good any more. */
static void
tell_unauthorised(struct inquire *q)
{
	struct request *r = q->request;

	if (q->res.status == 401 && r->verdict.n_credentials != 0)
		record_alarm(r, REASON_CRED_UNAVAILABLE,
		    "the server did not take duenna's credential for its own "
		    "question about this repository");
}

static void
begin_body(struct inquire *q)
{
	const struct http_response *res = &q->res;
	char why[STREAM_TEXT_SIZE];

	if (!inquire_is_answer(&q->res, q->discover, why)) {
		tell_unauthorised(q);
		inquire_fail(q, REASON_UP_RESPONSE, slice_of_str(why));
		return;
	}
	q->phase = INQUIRE_BODY;
	h1_body_init(&q->in, res->body, res->length, H1_UPSTREAM);
	if (res->body == HTTP_BODY_NONE ||
	    (res->body == HTTP_BODY_LENGTH && res->length == 0))
		whole(q);
}

/* A 1xx is a head of its own; false: it was one too many. */
static bool
pass_informational(struct inquire *q)
{
	if (q->res.status == 101 || ++q->n_informational > LIMIT_INFORMATIONAL)
		return false;
	q->res = (struct http_response){ 0 };
	return true;
}

void
inquire_step_head(struct inquire *q)
{
	struct slice method = inquire_method(q->discover);
	struct parse_fail bad;
	enum parse p;

	do {
		p = h1_read_response(q->stream, method, &q->res, &q->head,
		    &bad);
	} while (
	    p == PARSE_DONE && q->res.status < 200 && pass_informational(q));
	if (p == PARSE_BAD)
		inquire_fail(q, bad.reason, slice_of_str(bad.detail));
	else if (p == PARSE_DONE && q->res.status < 200)
		inquire_fail(q, REASON_UP_RESPONSE,
		    SLICE("an answer of 1xx that was not wanted"));
	else if (p == PARSE_DONE)
		begin_body(q);
	else if (inquire_is_gone(q))
		inquire_lost(q);
}

/* The stream has no more of the body at this moment. */
static void
dry(struct inquire *q)
{
	if (stream_is_eof(q->stream) && h1_body_may_end(&q->in))
		whole(q);
	else if (stream_peek(q->stream).n == 0 && inquire_is_gone(q))
		inquire_fail(q, REASON_UP_RESPONSE,
		    SLICE("the answer to duenna's own question is cut"));
}

/* Keep one run of the body.  False: it failed. */
static bool
keep(struct inquire *q, struct slice data)
{
	q->n_answer += data.n;
	if (q->n_answer > LIMIT_QUESTION_SIZE) {
		inquire_fail(q, REASON_LIMIT_BYTES,
		    SLICE("the answer to duenna's own question is too large"));
		return false;
	}
	if (buf_put(&q->answer, data))
		return true;
	inquire_fail(q, REASON_INTERNAL, SLICE("out of memory"));
	return false;
}

void
inquire_step_body(struct inquire *q)
{
	while (q->phase == INQUIRE_BODY) {
		size_t room = LIMIT_QUESTION_HEAD_SIZE - q->answer.n;
		struct slice in = slice_first(stream_peek(q->stream), room);
		struct slice data = { 0 };
		struct parse_fail bad;
		size_t used = 0;

		if (in.n == 0) {
			dry(q);
			return;
		}
		enum parse p = h1_body_take(&q->in, in, &data, &used, &bad);
		if (p == PARSE_BAD) {
			inquire_fail(q, bad.reason, slice_of_str(bad.detail));
			return;
		}
		if (!keep(q, data))
			return;
		stream_take(q->stream, used);
		if (p == PARSE_DONE)
			whole(q);
		else if (used == 0)
			return;
	}
}
