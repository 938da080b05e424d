/* SPDX-License-Identifier: Apache-2.0 */
#include "http/exchange_step.h"
#include "base/clock.h"
#include "wire/h1_write.h"

/* --- HEAD to ATTACH ------------------------------------------------------ */

static enum exchange_step
bad_head(struct exchange *x, enum reason reason, const char *detail,
    unsigned status)
{
	x->is_bad = true;
	x->close = true;
	x->fail.reason = reason;
	x->fail.detail = detail;
	x->refusal.status = status;
	return exchange_enter(x, EXCHANGE_JUDGE);
}

enum exchange_step
exchange_step_head(struct exchange *x)
{
	struct stream *client = x->client;
	struct parse_fail fail;

	if (stream_peek(client).n != 0 && !x->begun) {
		x->begun = true;
		x->started_ms = clock_ms();
		timer_set(&x->limit, LIMIT_HEAD_MS);
	}
	if (!x->begun) {
		if (stream_is_broken(client) || stream_is_eof(client) ||
		    x->expired)
			return exchange_lose(x, REASON_ALLOW, "");
		return EXCHANGE_WAIT;
	}
	switch (x->version->read_request(x, &fail)) {
	case PARSE_DONE:
		way_set(&x->up, x->req.body, x->req.body, x->req.length);
		if (!x->req.keep_alive)
			x->close = true;
		return exchange_enter(x, EXCHANGE_JUDGE);
	case PARSE_BAD:
		return bad_head(x, fail.reason, fail.detail,
		    http_fail_status(&fail));
	case PARSE_MORE:
		break;
	}
	if (x->expired)
		return bad_head(x, REASON_LIMIT_TIME, "request head too slow",
		    408);
	if (client->ended || stream_is_broken(client))
		return exchange_lose(x, REASON_CLIENT_ABORT,
		    "ended inside a head");
	return EXCHANGE_WAIT;
}

/* Where a yes leads. */
static enum exchange_phase
behind(const struct exchange *x)
{
	if (x->phase == EXCHANGE_JUDGE && x->reads)
		return EXCHANGE_READ;
	if (x->phase == EXCHANGE_JUDGE)
		return EXCHANGE_REACH;
	return x->phase == EXCHANGE_REACH ? EXCHANGE_ATTACH : EXCHANGE_SEND;
}

/*
 * Put the phase's question once and see whether it was answered.  A client
 * that is gone needs no answer; one that only ended its side does.
 */
static enum exchange_step
ask(struct exchange *x, void (*question)(struct exchange *, void *))
{
	if (stream_is_broken(x->client))
		return x->version->client_lost(x);
	if (!x->asked) {
		x->asked = true;
		question(x, x->arg);
	}
	if (x->refused)
		return exchange_fail(x, x->refusal.reason, x->fail.detail);
	if (x->answer_yes)
		return exchange_enter(x, behind(x));
	return EXCHANGE_WAIT;
}

enum exchange_step
exchange_step_judge(struct exchange *x)
{
	if (x->expired)
		return exchange_fail(x, REASON_AUDIT_FULL,
		    "the record could not be written in time");
	return ask(x, x->ops->judge);
}

enum exchange_step
exchange_step_reach(struct exchange *x)
{
	if (x->expired) {
		x->refusal.status = 504;
		return exchange_fail(x, REASON_UP_CONNECT,
		    "no connection in time");
	}
	return ask(x, x->ops->reach);
}

enum exchange_step
exchange_step_attach(struct exchange *x)
{
	if (x->expired)
		return exchange_fail(x, REASON_CRED_UNAVAILABLE,
		    "no credential in time");
	return ask(x, x->ops->attach);
}

/* --- SEND ---------------------------------------------------------------- */

/* The head, written anew from what was understood; credentials last. */
static bool
send_head(struct exchange *x)
{
	struct http_new_request r = http_new_request(&x->req, x->path, x->host);

	r.port = x->port;
	r.credentials = x->credentials.fields;
	r.n_credentials = x->credentials.n_fields;
	r.parameters = x->credentials.parameters;
	r.n_parameters = x->credentials.n_parameters;
	r.upgrade = x->upgrade;
	if (x->feeds) {
		r.body = x->up.out;
		r.length = x->up.length;
	}
	bool ok = x->version->put_request(x, &r);
	x->credentials = (struct exchange_slots){ NULL };
	x->head_sent = true;
	x->ops->sent(x, x->arg);
	return ok;
}

bool
exchange_is_idempotent(const struct exchange *x)
{
	static const char *const methods[] = { "GET", "HEAD", "OPTIONS", "PUT",
		"DELETE", "PROPFIND", "REPORT" };

	for (size_t i = 0; i < COUNT_OF(methods); i++)
		if (slice_eq_str(x->req.method, methods[i]))
			return true;
	return false;
}

static enum exchange_step
upstream_lost(struct exchange *x, const char *detail)
{
	if (x->phase == EXCHANGE_SEND && !x->want_fresh &&
	    x->answer_head.n == 0 && x->up.n == 0 &&
	    x->version->may_repeat(x)) {
		x->want_fresh = true;
		exchange_drop_upstream(x, false);
		return exchange_enter(x, EXCHANGE_REACH);
	}
	return x->version->upstream_lost(x, detail);
}

/* Move what can be moved of a body, and put its end. */
static enum parse
move(struct exchange *x, bool up, struct parse_fail *fail)
{
	struct way *w = up ? &x->up : &x->down;

	if (w->done)
		return PARSE_DONE;
	enum parse p = x->version->move(w, up ? x->client : x->upstream,
	    up ? x->upstream : x->client, fail);
	return p == PARSE_DONE ? x->version->put_end(x, up, fail) : p;
}

bool
exchange_pass_trailers(struct exchange *x, bool up,
    const struct field_list *fields, struct buf *head, struct parse_fail *fail)
{
	*(up ? &x->bytes_up : &x->bytes_down) += head->n;
	x->had_trailers = x->had_trailers || up;
	return x->ops->trailers(x, up, fields, head, fail);
}

/* Carry the request's body on.  False: the exchange cannot go on; *step says. */
static bool
carry_up(struct exchange *x, enum exchange_step *step)
{
	struct parse_fail fail = { REASON_ALLOW, "", 0 };
	uint64_t before = x->up.n;

	if (x->up.done)
		return true;
	/* The origin takes no more; what it answers still counts. */
	if (stream_is_broken(x->upstream)) {
		x->close = true;
		return true;
	}
	enum parse p =
	    x->feeds ? exchange_move_own(x, &fail) : move(x, true, &fail);
	x->bytes_up += x->up.n - before;
	if (p == PARSE_BAD) {
		*step = fail.reason == REASON_CLIENT_ABORT ?
		    exchange_lose(x, fail.reason, fail.detail) :
		    exchange_fail(x, fail.reason, fail.detail);
		return false;
	}
	return true;
}

void
exchange_note_progress(struct exchange *x)
{
	uint64_t moved = x->client->n_in + x->client->n_out +
	    x->upstream->n_in + x->upstream->n_out;

	if (moved == x->moved)
		return;
	x->moved = moved;
	timer_set(&x->limit, x->idle_ms);
}

bool
exchange_relay_head(struct exchange *x)
{
	struct http_new_response r = http_new_response(&x->res, &x->req);

	r.skip_cookies = x->skip_cookies;
	if (x->new_length && r.body == HTTP_BODY_LENGTH) {
		r.body =
		    x->req.is_http10 ? HTTP_BODY_UNTIL_CLOSE : HTTP_BODY_OPEN;
		r.has_length = false;
	}
	bool ok = x->version->put_response(x, &r);
	x->answering = true;
	if (x->res.status >= 200) {
		x->status = x->res.status;
		way_set(&x->down, x->res.body, r.body, x->res.length);
	}
	return ok;
}

static enum exchange_step
informational(struct exchange *x)
{
	if (x->res.status == 101)
		return exchange_is_switch(x) ?
		    exchange_switch(x) :
		    exchange_fail(x, REASON_UP_RESPONSE,
			"switches protocols unasked");
	if (++x->n_informational > LIMIT_INFORMATIONAL)
		return exchange_fail(x, REASON_UP_RESPONSE, "too many 1xx");
	/* HTTP/1.0 does not know them (RFC 9110 15.2). */
	if (!x->req.is_http10) {
		bool answering = x->answering;
		if (!x->ops->answered(x, x->arg))
			return exchange_fail(x, x->refusal.reason,
			    x->fail.detail);
		if (!exchange_relay_head(x))
			return exchange_lose(x, REASON_CLIENT_ABORT,
			    "client is gone");
		/* Behind a 1xx a refusal is still a whole answer. */
		x->answering = answering;
	}
	x->res = (struct http_response){ 0 };
	return EXCHANGE_AGAIN;
}

bool
exchange_head_fits(const struct exchange *x)
{
	return stream_backlog(x->client) <= STREAM_OUT_MAX - H1_WRITE_MAX(0);
}

/* A head of the upstream's, if there is one by now. */
static enum exchange_step
read_answer(struct exchange *x)
{
	struct parse_fail fail;

	if (!exchange_head_fits(x))
		return EXCHANGE_WAIT;
	switch (x->version->read_response(x, &fail)) {
	case PARSE_BAD:
		return exchange_fail(x, fail.reason, fail.detail);
	case PARSE_MORE:
		if (stream_is_broken(x->upstream) || x->upstream->ended)
			return upstream_lost(x,
			    stream_is_broken(x->upstream) ?
				"connection lost before an answer" :
				"connection ended before an answer");
		return EXCHANGE_WAIT;
	case PARSE_DONE:
		break;
	}
	if (x->res.status < 200)
		return informational(x);
	if (exchange_is_switch(x))
		return exchange_switch(x);
	if (x->upgrade && !exchange_stay(x))
		return exchange_fail(x, REASON_UP_RESPONSE,
		    "answers as if no WebSocket had been asked for");
	if (!x->ops->answered(x, x->arg))
		return exchange_fail(x, x->refusal.reason, x->fail.detail);
	if (!exchange_relay_head(x))
		return exchange_lose(x, REASON_CLIENT_ABORT, "client is gone");
	return exchange_enter(x, EXCHANGE_ANSWER);
}

enum exchange_step
exchange_step_send(struct exchange *x)
{
	enum exchange_step step = EXCHANGE_WAIT;

	if (stream_is_broken(x->client))
		return x->version->client_lost(x);
	if (!x->head_sent && !send_head(x) && !stream_is_broken(x->upstream))
		return exchange_fail(x, REASON_INTERNAL, "head does not fit");
	if (x->refused)
		return exchange_fail(x, x->refusal.reason, x->fail.detail);
	if (x->expired)
		return exchange_fail(x, REASON_LIMIT_TIME,
		    "no byte of an answer in time");
	exchange_note_progress(x);
	/* What goes into a WebSocket waits until there is one. */
	if (!x->upgrade && !carry_up(x, &step))
		return step;
	return read_answer(x);
}

/* --- ANSWER -------------------------------------------------------------- */

enum exchange_step
exchange_step_answer(struct exchange *x)
{
	enum exchange_step step = EXCHANGE_WAIT;
	struct parse_fail fail = { REASON_ALLOW, "", 0 };
	uint64_t before = x->down.n;

	if (stream_is_broken(x->client))
		return x->version->client_lost(x);
	if (x->refused)
		return exchange_lose(x, x->refusal.reason, x->fail.detail);
	/* That of what is dropped behind a whole answer is no fault. */
	if (x->expired && x->drain_until == 0)
		return exchange_lose(x, REASON_LIMIT_TIME,
		    "no byte of either side in time");
	exchange_note_progress(x);
	if (!carry_up(x, &step))
		return step;
	enum parse p = move(x, false, &fail);
	x->bytes_down += x->down.n - before;
	if (p == PARSE_BAD)
		return exchange_lose(x, fail.reason, fail.detail);
	return p == PARSE_DONE ? x->version->finish(x) : EXCHANGE_WAIT;
}

/* --- REFUSE -------------------------------------------------------------- */

enum exchange_step
exchange_step_refuse(struct exchange *x)
{
	if (stream_is_broken(x->client))
		return x->version->client_lost(x);
	if (!x->asked && x->ops->refusing != NULL)
		x->ops->refusing(x, x->arg);
	return x->refusal.for_git ? exchange_refuse_git(x) :
				    x->version->refuse(x);
}
