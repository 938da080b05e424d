/* SPDX-License-Identifier: Apache-2.0 */
/* DIAL, RECORD, RELEASE: a connection, and leave to send a question over it. */
#include "flow/inquire_inside.h"
#include "flow/record.h"
#include "policy/git.h"

/* --- DIAL ---------------------------------------------------------------- */

static void
on_stream_news(struct stream *s UNUSED, void *arg)
{
	inquire_news(arg);
}

/* From the dial on, by the program that is the present one then. */
static void
on_again(void *arg)
{
	struct inquire *q = arg;

	inquire_drop(q);
	inquire_dial(q);
	inquire_news(q);
}

static bool
asks_again(struct inquire *q, enum reason reason)
{
	return reason == REASON_POLICY_CHANGED &&
	    again_later(&q->sandbox->again_list, &q->retry, on_again, q);
}

static void
on_dialled(const struct dial_answer *a, void *arg)
{
	struct inquire *q = arg;

	q->asked = NULL;
	if (asks_again(q, a->reason))
		return;
	if (a->stream != NULL) {
		q->stream = a->stream;
		q->cookie = a->cookie;
		stream_on(q->stream, on_stream_news, q);
	} else {
		inquire_fail(q,
		    a->reason == REASON_ALLOW ? REASON_INTERNAL : a->reason,
		    a->detail);
	}
	inquire_news(q);
}

void
inquire_dial(struct inquire *q)
{
	struct sandbox *sb = q->sandbox;
	struct dial_ask ask = request_dial_ask(q->request);
	struct asked *asked;

	q->phase = INQUIRE_DIAL;
	if (!reach_has_room(sb, 1)) {
		inquire_fail(q, REASON_LIMIT_CONNS,
		    SLICE("too many upstream connections"));
		return;
	}
	q->counted = true;
	sb->n_upstreams++;
	q->is_used = false;
	ask.alpn = alpn_offer_only(ALPN_HTTP11);
	asked = sb->asks->dial(sb->asks_arg, sb, &ask, on_dialled, q);
	if (asked != NULL)
		q->asked = asked;
}

void
inquire_step_dial(struct inquire *q)
{
	const struct sandbox *sb = q->sandbox;
	const struct request *r = q->request;
	struct stream *s = q->stream;

	if (s == NULL)
		return;
	bool is_verified =
	    r->flow->is_tls && sb->asks->is_verified(sb->asks_arg, s, &r->host);
	if (stream_is_broken(s))
		inquire_fail(q, stream_reason(s), slice_of_str(stream_text(s)));
	else if (!stream_is_ready(s))
		return;
	else if (r->flow->is_tls && !is_verified)
		inquire_fail(q, REASON_UP_CERT, SLICE("was not verified"));
	else if (r->verdict.n_credentials != 0 && !is_verified)
		inquire_fail(q, REASON_CRED_PLAINTEXT, SLICE("not verified"));
	else if (sb->asks->alpn(sb->asks_arg, s) == ALPN_H2)
		inquire_fail(q, REASON_UP_RESPONSE,
		    SLICE("the origin speaks no HTTP/1.1"));
	else
		inquire_tell(q);
}

/* --- RECORD -------------------------------------------------------------- */

static void
on_written(bool written, void *arg)
{
	struct inquire *q = arg;

	q->n_records--;
	q->record_failed = q->record_failed || !written;
	if (q->request != NULL)
		inquire_news(q);
	else if (q->n_records == 0)
		inquire_delete(q);
}

/*
 * Before a byte of it is sent, as with any request that has a credential: what
 * duenna asks by itself it asks for a sandbox.
 */
void
inquire_tell(struct inquire *q)
{
	const struct record_question what = {
		.method = inquire_method(q->discover),
		.path = buf_slice(&q->path),
		.cookie = q->cookie,
	};

	q->phase = INQUIRE_RECORD;
	q->record_failed = q->n_records != 0 && q->record_failed;
	if (record_question(q->request, &what, on_written, q))
		q->n_records++;
	else
		q->record_failed = true;
}

void
inquire_step_record(struct inquire *q)
{
	if (q->record_failed)
		inquire_fail(q, REASON_AUDIT_FULL,
		    SLICE("the record could not be written"));
	else if (q->n_records == 0)
		q->phase = INQUIRE_RELEASE;
}

/* --- RELEASE ------------------------------------------------------------- */

static void
on_released(enum reason reason, struct slice value, void *arg)
{
	struct inquire *q = arg;
	const struct request *r = q->request;
	struct program_credential c = git_credential(r->generation->program,
	    r->verdict.rule, r->verdict.credentials[q->attach.n]);
	enum err err = ERR_NONE;

	q->asked = NULL;
	if (asks_again(q, reason))
		return;
	if (reason != REASON_ALLOW)
		inquire_fail(q, reason,
		    SLICE("the keeper did not release the credential"));
	else if (attach_add(&q->attach, &c, value, &err) != 0)
		inquire_fail(q, REASON_CRED_UNAVAILABLE,
		    slice_of_str(err_text(err)));
	inquire_news(q);
}

static void
release_next(struct inquire *q)
{
	struct sandbox *sb = q->sandbox;
	const struct request *r = q->request;
	const struct release_ask ask = {
		.generation = request_by(r),
		.rule = request_rule(r),
		.credential = r->verdict.credentials[q->attach.n],
		.upstream = q->stream,
		.flow = r->flow->name,
	};
	struct asked *asked =
	    sb->asks->release(sb->asks_arg, sb, &ask, on_released, q);

	if (asked != NULL)
		q->asked = asked;
}

static void
send_question(struct inquire *q)
{
	const struct inquire_head head = {
		.request = q->request,
		.path = buf_slice(&q->path),
		.discover = q->discover,
		.body = q->body.n,
		.attach = &q->attach,
	};
	bool ok = inquire_put_head(&head, q->stream) &&
	    stream_put(q->stream, buf_slice(&q->body));

	attach_wipe(&q->attach);
	q->phase = INQUIRE_HEAD;
	/* A connection that is lost takes nothing; HEAD sees that. */
	if (!ok && !stream_is_broken(q->stream))
		inquire_fail(q, REASON_INTERNAL,
		    SLICE("the question does not fit"));
}

void
inquire_step_release(struct inquire *q)
{
	if (q->asked != NULL || q->retry.waits)
		return;
	if (inquire_is_gone(q)) {
		inquire_lost(q);
		return;
	}
	while (q->phase == INQUIRE_RELEASE && q->asked == NULL &&
	    !q->retry.waits && q->attach.n < q->request->verdict.n_credentials)
		release_next(q);
	if (q->phase == INQUIRE_RELEASE && q->asked == NULL && !q->retry.waits)
		send_question(q);
}
