/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request's body in the hands of the exchange's owner: read before anything
 * goes upstream (READ), made by the owner where it goes up, and dropped behind
 * an answer that git has to read to its end.
 */
#include "base/clock.h"
#include "http/exchange_step.h"

#define MIB_SHIFT 20

enum parse
exchange_pull(struct exchange *x, struct slice *in, struct parse_fail *fail)
{
	return x->version->pull(x, in, fail);
}

void
exchange_pulled(struct exchange *x, size_t n)
{
	way_pulled(&x->up, x->client, n);
}

void
exchange_feed(struct exchange *x, enum http_body kind, uint64_t length)
{
	x->feeds = true;
	x->up.out = kind;
	x->up.length = kind == HTTP_BODY_LENGTH ? length : 0;
	x->up.n = 0;
	x->up.done = false;
}

/* --- READ ---------------------------------------------------------------- */

/* A client that waits for leave to send gets it from us (RFC 9110 10.1.1). */
static bool
ask_for_body(struct exchange *x)
{
	static const struct field_list none;
	struct http_new_response r = {
		.status = 100,
		.phrase = SLICE("Continue"),
		.fields = &none,
		.body = HTTP_BODY_NONE,
	};

	if (x->req.expect != HTTP_EXPECT_CONTINUE)
		return true;
	x->req.expect = HTTP_EXPECT_NONE;
	return x->version->put_response(x, &r);
}

enum exchange_step
exchange_step_read(struct exchange *x)
{
	if (stream_is_broken(x->client))
		return x->version->client_lost(x);
	if (x->expired) {
		x->refusal.status = 408;
		return exchange_fail(x, REASON_LIMIT_TIME,
		    "what has to be read of the body did not come in "
		    "time");
	}
	if (!x->asked && !ask_for_body(x))
		return exchange_lose(x, REASON_CLIENT_ABORT, "client is gone");
	x->asked = true;
	if (!x->refused && !x->answer_yes)
		x->ops->read(x, x->arg);
	if (x->refused)
		return exchange_fail(x, x->refusal.reason, x->fail.detail);
	return x->answer_yes ? exchange_enter(x, EXCHANGE_REACH) :
			       EXCHANGE_WAIT;
}

/* --- SEND ---------------------------------------------------------------- */

enum parse
exchange_move_own(struct exchange *x, struct parse_fail *fail)
{
	enum parse p = PARSE_MORE;
	struct slice out;
	size_t fed;

	do {
		size_t room = way_portion(&x->up, x->upstream);

		out = (struct slice){ 0 };
		if (room == 0)
			return PARSE_MORE;
		p = x->ops->feed(x, room, &out, fail, x->arg);
		fed = out.n; /* a stage may hold all of it */
		if (p == PARSE_BAD ||
		    !way_pass(&x->up, &out, p == PARSE_DONE, fail))
			return PARSE_BAD;
		if (!x->version->put(&x->up, x->upstream, out,
			p == PARSE_DONE)) {
			*fail = (struct parse_fail){ REASON_INTERNAL,
				"body does not fit", 0 };
			return PARSE_BAD;
		}
	} while (p == PARSE_MORE && fed != 0);
	return p;
}

/* --- REFUSE, for git ----------------------------------------------------- */

/*
 * To the request's end, since git tells no more than "Everything up-to-date"
 * of one that is cut: what is refused costs no more than what is allowed, and
 * has the same limit on silence.  Only the whole has one more.
 */
static bool
may_drain_on(struct exchange *x)
{
	uint64_t now = clock_ms(), left;

	if (x->drain_until == 0)
		x->drain_until = now + LIMIT_PUSH_DRAIN_MS;
	if (now >= x->drain_until ||
	    x->drained >> MIB_SHIFT >= LIMIT_PUSH_DRAIN_MIB)
		return false;
	left = x->drain_until - now;
	timer_set(&x->limit, left < x->idle_ms ? left : x->idle_ms);
	return true;
}

/* Read on and drop; as exchange_pull(). */
static enum parse
drain(struct exchange *x)
{
	struct parse_fail fail;
	struct slice in;
	enum parse p = exchange_pull(x, &in, &fail);

	while (p == PARSE_MORE && in.n != 0) {
		x->drained += in.n;
		exchange_pulled(x, in.n);
		p = exchange_pull(x, &in, &fail);
	}
	return p;
}

/*
 * The head and what goes at once.  A request that is whole gets an answer with
 * a length; never "Connection: close" before it is: git takes that for the end
 * of its upload.
 */
static bool
begin(struct exchange *x, bool whole)
{
	const struct refusal *refusal = &x->refusal;
	struct field_list fields = { .n = 0 };
	struct http_new_response r = {
		.status = refusal_status(refusal),
		.phrase = SLICE("OK"),
		.fields = &fields,
		.body = whole ? HTTP_BODY_LENGTH : HTTP_BODY_OPEN,
		.has_length = whole,
		.length = refusal->first.n + refusal->last.n,
	};

	refusal_add(&fields, "Content-Type", refusal->type);
	refusal_add(&fields, "Cache-Control", "no-cache");
	refusal_add(&fields, "X-Content-Type-Options", "nosniff");
	refusal_add(&fields, "Duenna-Reason", reason_name(refusal->reason));
	refusal_add(&fields, "Duenna-Flow", x->flow);
	x->asked = x->answering = true;
	/* That it is refused ends nothing, since it is read to its end. */
	x->close = x->was_close;
	r.close = whole && x->close;
	x->status = r.status;
	x->res.status = 0; /* what upstream said is not told */
	x->bytes_down += refusal->first.n + refusal->last.n;
	way_set(&x->down, r.body, r.body, r.length);
	return x->version->put_response(x, &r) &&
	    x->version->put(&x->down, x->client, buf_slice(&refusal->first),
		false);
}

/*
 * The request was read to its end, and so may the answer be: what there is room
 * for, then its end.
 */
static bool
tell(struct exchange *x)
{
	struct slice left = slice_from(buf_slice(&x->refusal.last), x->told);
	struct slice now = slice_first(left, stream_room(x->client));
	bool last = now.n == left.n;

	if (x->has_ended || (now.n == 0 && !last))
		return true;
	x->told += now.n;
	x->has_ended = last;
	timer_set(&x->limit, LIMIT_REFUSE_MS);
	return x->version->put(&x->down, x->client, now, last);
}

static bool
has_left(const struct exchange *x)
{
	if (!x->has_ended)
		return false;
	return x->version->has_end ? stream_is_shut(x->client) :
				     stream_backlog(x->client) == 0;
}

enum exchange_step
exchange_refuse_git(struct exchange *x)
{
	bool first = x->drain_until == 0;
	uint64_t before = x->drained;
	enum parse p = drain(x);
	bool good = p != PARSE_BAD && !x->expired;

	if (good && p == PARSE_MORE && (first || x->drained != before))
		good = may_drain_on(x);
	if (!good)
		return exchange_lose(x, REASON_CLIENT_ABORT,
		    "the refused push was not read to its end");
	if (!x->asked && (p == PARSE_DONE || !x->req.is_http10) &&
	    exchange_head_fits(x))
		good = begin(x, p == PARSE_DONE);
	if (good && x->asked && p == PARSE_DONE)
		good = tell(x);
	if (!good)
		return exchange_lose(x, REASON_CLIENT_ABORT, "client is gone");
	return has_left(x) ? exchange_enter(x, EXCHANGE_DONE) : EXCHANGE_WAIT;
}
