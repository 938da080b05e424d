/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/inquire_inside.h"

/* Bytes of a question: at most LIMIT_PROOF_ASKS names, twice. */
#define BODY_MAX 65536

/* --- ends ---------------------------------------------------------------- */

void
inquire_drop(struct inquire *q)
{
	q->sandbox->asks->cancel(q->sandbox->asks_arg, q->asked);
	q->asked = NULL;
	again_cancel(&q->retry);
	stream_close(q->stream);
	q->stream = NULL;
	if (q->counted)
		q->sandbox->n_upstreams--;
	q->counted = false;
	attach_wipe(&q->attach);
}

void
inquire_fail(struct inquire *q, enum reason reason, struct slice detail)
{
	snprintf(q->detail, sizeof(q->detail), "%.*s", SLICE_ARG(detail));
	q->fail = (struct parse_fail){ reason, q->detail, 0 };
	q->phase = INQUIRE_FAILED;
	timer_stop(&q->limit);
	inquire_drop(q);
}

bool
inquire_is_gone(const struct inquire *q)
{
	return stream_is_broken(q->stream) || q->stream->ended;
}

void
inquire_lost(struct inquire *q)
{
	if (q->is_used && !q->is_again && q->n_informational == 0 &&
	    stream_peek(q->stream).n == 0) {
		q->is_again = true;
		inquire_drop(q);
		inquire_dial(q);
		return;
	}
	inquire_fail(q, REASON_UP_RESPONSE,
	    SLICE("the connection ended before an answer to duenna's own "
		  "question"));
}

void
inquire_delete(struct inquire *q)
{
	attach_wipe(&q->attach);
	buf_release(&q->path);
	buf_release(&q->body);
	buf_release(&q->head);
	buf_release(&q->answer);
	free(q);
}

/* --- steps --------------------------------------------------------------- */

static void
step_nothing(struct inquire *q UNUSED)
{
}

static void
run(struct inquire *q)
{
	static void (*const steps[INQUIRE_PHASE_COUNT])(struct inquire *) = {
		[INQUIRE_REST] = step_nothing,
		[INQUIRE_DIAL] = inquire_step_dial,
		[INQUIRE_RECORD] = inquire_step_record,
		[INQUIRE_RELEASE] = inquire_step_release,
		[INQUIRE_HEAD] = inquire_step_head,
		[INQUIRE_BODY] = inquire_step_body,
		[INQUIRE_WHOLE] = step_nothing,
		[INQUIRE_FAILED] = step_nothing,
	};
	enum inquire_phase was;

	q->running = true;
	do {
		was = q->phase;
		steps[was](q);
	} while (q->phase != was);
	q->running = false;
}

void
inquire_news(struct inquire *q)
{
	if (q->running)
		return;
	run(q);
	request_wake(q->request);
}

static void
on_limit(void *arg)
{
	struct inquire *q = arg;

	inquire_fail(q, REASON_LIMIT_TIME,
	    SLICE("no answer to duenna's own question in time"));
	inquire_news(q);
}

/* --- for owners ---------------------------------------------------------- */

struct inquire *
inquire_new(struct request *r)
{
	struct inquire *q = calloc(1, sizeof(*q));
	enum err err;

	if (q == NULL ||
	    timer_init(&q->limit, r->flow->loop, on_limit, q, &err) != 0) {
		free(q);
		return NULL;
	}
	q->request = r;
	q->sandbox = r->flow->sandbox;
	attach_init(&q->attach);
	buf_init(&q->path, 2 * LIMIT_PATH_SIZE);
	buf_init(&q->body, BODY_MAX);
	buf_init(&q->head, LIMIT_HEAD_SIZE);
	buf_init(&q->answer, LIMIT_QUESTION_HEAD_SIZE);
	if (!inquire_put_path(r, &q->path)) {
		inquire_free(q);
		return NULL;
	}
	q->n_path = q->path.n;
	return q;
}

void
inquire_free(struct inquire *q)
{
	if (q == NULL)
		return;
	inquire_drop(q);
	timer_release(&q->limit);
	q->request = NULL;
	if (q->n_records == 0)
		inquire_delete(q);
}

/* Nothing is left of the question before. */
static bool
set_question(struct inquire *q, bool discover, struct slice body)
{
	q->path.n = q->n_path;
	buf_clear(&q->body);
	buf_clear(&q->answer);
	q->discover = discover;
	q->is_again = false;
	q->res = (struct http_response){ 0 };
	q->n_informational = 0;
	q->n_answer = 0;
	return buf_put(&q->path, inquire_service(discover)) &&
	    buf_put(&q->body, body);
}

bool
inquire_ask(struct inquire *q, bool discover, struct slice body)
{
	bool keep = q->phase == INQUIRE_WHOLE && q->stream != NULL &&
	    stream_is_idle(q->stream);

	if (!keep)
		inquire_drop(q);
	q->phase = INQUIRE_REST;
	if (!set_question(q, discover, body))
		return false;
	timer_set(&q->limit, LIMIT_QUESTION_MS);
	if (keep)
		inquire_tell(q);
	else
		inquire_dial(q);
	run(q);
	/* What failed at once has nobody else to tell of it. */
	if (q->phase == INQUIRE_FAILED)
		request_wake(q->request);
	return true;
}

enum parse
inquire_peek(struct inquire *q, struct slice *in, struct parse_fail *fail)
{
	*in = (struct slice){ 0 };
	if (q->phase == INQUIRE_FAILED) {
		*fail = q->fail;
		return PARSE_BAD;
	}
	*in = buf_slice(&q->answer);
	return q->phase == INQUIRE_WHOLE ? PARSE_DONE : PARSE_MORE;
}

void
inquire_take(struct inquire *q, size_t n)
{
	size_t left;

	buf_drop(&q->answer, n);
	left = q->answer.n;
	if (q->phase != INQUIRE_BODY)
		return;
	run(q);
	/* What had no room before has no news of its own. */
	if (q->phase != INQUIRE_BODY || q->answer.n != left)
		request_wake(q->request);
}

bool
inquire_is_pending(const struct inquire *q)
{
	return q->phase != INQUIRE_REST && q->phase != INQUIRE_WHOLE &&
	    q->phase != INQUIRE_FAILED;
}
