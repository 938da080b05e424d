/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An exchange over HTTP/2: two streams of net/stream.h that say by themselves
 * where a body ends.  Only they end with it, never a connection.
 */
#include "base/clock.h"
#include "http/exchange_step.h"
#include "http/h2_way.h"
#include "http/refuse_grpc.h"
#include "wire/h2_head.h"

static enum parse
read_request(struct exchange *x, struct parse_fail *fail)
{
	enum parse p = h2_read_request(x->client, &x->req, &x->head, fail);

	x->refusal.grpc = p == PARSE_DONE && refusal_is_grpc(&x->req);
	return p;
}

static bool
read_again(struct exchange *x)
{
	bool ends = x->req.body == HTTP_BODY_NONE;
	struct parse_fail fail;

	x->req = (struct http_request){ 0 };
	return h2_request_take(buf_slice(&x->head), ends, &x->req, &fail) ==
	    PARSE_DONE;
}

/* What is counted of a head is its decoded size, as it came. */
static bool
put_request(struct exchange *x, struct http_new_request *r)
{
	x->bytes_up += x->head.n;
	return h2_put_request(x->upstream, r, x->up.done);
}

static enum parse
read_response(struct exchange *x, struct parse_fail *fail)
{
	return h2_read_response(x->upstream, x->req.method, &x->res,
	    &x->answer_head, fail);
}

static bool
put_response(struct exchange *x, struct http_new_response *r)
{
	bool end = r->status >= 200 && r->body == HTTP_BODY_NONE;

	x->bytes_down += x->answer_head.n;
	return h2_put_response(x->client, r, end);
}

/* gRPC's status is in the trailers. */
static enum parse
put_end(struct exchange *x, bool up, struct parse_fail *fail)
{
	struct way *w = up ? &x->up : &x->down;
	struct field_list fields;
	struct buf head;

	buf_init(&head, LIMIT_HEAD_SIZE);
	enum parse p = h2_read_trailers(up ? x->client : x->upstream, &fields,
	    &head, fail);
	if (p == PARSE_DONE && fields.n != 0 &&
	    !exchange_pass_trailers(x, up, &fields, &head, fail))
		p = PARSE_BAD;
	if (p == PARSE_DONE &&
	    !h2_put_trailers(up ? x->upstream : x->client, &fields)) {
		*fail = (struct parse_fail){ REASON_INTERNAL,
			"trailers do not fit", 0 };
		p = PARSE_BAD;
	}
	buf_release(&head);
	w->done = p == PARSE_DONE;
	return p;
}

/*
 * Upstream did nothing of it, as it says itself; or the connection was stale,
 * and then only what does no harm twice.
 */
static bool
may_repeat(const struct exchange *x)
{
	/* Read once, they are gone: without them it is another request. */
	if (x->had_trailers)
		return false;
	if (h2_was_refused(x->upstream))
		return true;
	return x->is_pooled && h2_error(x->upstream) == H2_NO_ERROR &&
	    x->req.body == HTTP_BODY_NONE && exchange_is_idempotent(x);
}

static enum parse
pull(struct exchange *x, struct slice *in, struct parse_fail *fail)
{
	return h2_way_pull(&x->up, x->client, in, fail);
}

static enum exchange_step
client_lost(struct exchange *x)
{
	/* The answer was whole; nobody waits for the rest of the request. */
	if (x->down.done && stream_is_shut(x->client) &&
	    x->phase == EXCHANGE_ANSWER)
		return exchange_enter(x, EXCHANGE_DONE);
	enum reason reason = stream_reason(x->client);
	return exchange_lose(x,
	    reason == REASON_ALLOW ? REASON_CLIENT_ABORT : reason,
	    stream_text(x->client));
}

/* What the origin did to its stream is done to the client's, see cut(). */
static enum exchange_step
upstream_lost(struct exchange *x, const char *detail)
{
	x->origin_error = h2_error(x->upstream);
	if (x->origin_error != H2_NO_ERROR)
		return exchange_lose(x, REASON_UP_RESPONSE,
		    "the origin reset the stream");
	return exchange_fail(x, REASON_UP_RESPONSE, detail);
}

/*
 * What the origin takes no more of is dropped, so much and so long, before the
 * client's stream is reset: Java's client forgets an answer that it has when a
 * reset comes while it sends, and waits for ever.
 */
static bool
drops_on(struct exchange *x)
{
	struct slice in = stream_peek(x->client);
	uint64_t now = clock_ms();

	if (x->up.done)
		return false;
	if (x->drain_until == 0)
		x->drain_until = now + LIMIT_DRAIN_MS;
	x->drained += in.n;
	stream_take(x->client, in.n);
	if (now >= x->drain_until || x->drained > LIMIT_DRAIN_SIZE ||
	    stream_is_eof(x->client))
		return false;
	x->expired = false;
	timer_set(&x->limit, x->drain_until - now);
	return true;
}

/*
 * The origin may go on taking a request that it has answered; RST_STREAM says
 * that it does not, and then the client's ends in the same way when its stream
 * is closed.
 */
static enum exchange_step
finish(struct exchange *x)
{
	bool is_cut = stream_is_broken(x->upstream);
	bool taken = is_cut || (x->up.done && stream_is_shut(x->upstream));

	if (!taken || !stream_is_shut(x->client) || (is_cut && drops_on(x)))
		return EXCHANGE_WAIT;
	return exchange_enter(x, EXCHANGE_DONE);
}

static bool
put_refusal(struct exchange *x)
{
	x->asked = true;
	x->status = refusal_status(&x->refusal);
	x->grpc_status = refusal_grpc_answer(&x->refusal);
	timer_set(&x->limit, LIMIT_DRAIN_MS);
	return refusal_put_h2(&x->refusal, x->client, x->flow,
	    x->is_bad ? NULL : &x->req, &x->bytes_down);
}

/*
 * The answer at once, but its end behind that of the request, or when enough
 * of that was dropped: git hangs when an answer ends before its upload does,
 * and does not read one that comes with a reset.
 */
static enum exchange_step
refuse(struct exchange *x)
{
	struct stream *client = x->client;

	if (!x->asked && !put_refusal(x))
		return client_lost(x);
	x->drained += stream_peek(client).n;
	stream_take(client, stream_peek(client).n);
	if (x->expired && client->want_shut)
		return exchange_lose(x, REASON_CLIENT_ABORT,
		    "our answer was not taken in time");
	if (!client->want_shut &&
	    (stream_is_eof(client) || x->expired ||
		x->drained > LIMIT_DRAIN_SIZE)) {
		x->expired = false;
		timer_set(&x->limit, LIMIT_REFUSE_MS);
		stream_shut(client);
	}
	return stream_is_shut(client) ? exchange_enter(x, EXCHANGE_DONE) :
					EXCHANGE_WAIT;
}

/* The error that one side gave is the one that the other gets. */
static void
cut(struct exchange *x)
{
	uint32_t of_client = h2_error(x->client);
	uint32_t of_upstream =
	    x->upstream == NULL ? H2_NO_ERROR : h2_error(x->upstream);

	if (x->upstream != NULL && of_client != H2_NO_ERROR)
		h2_reset(x->upstream, of_client);
	if (!stream_is_broken(x->client))
		h2_reset(x->client,
		    of_upstream != H2_NO_ERROR ? of_upstream :
						 H2_INTERNAL_ERROR);
}

const struct exchange_version exchange_h2 = {
	.has_end = true,
	.has_head = true,
	.read_request = read_request,
	.read_again = read_again,
	.put_request = put_request,
	.read_response = read_response,
	.put_response = put_response,
	.move = h2_way_move,
	.put_end = put_end,
	.pull = pull,
	.put = h2_way_put,
	.client_lost = client_lost,
	.upstream_lost = upstream_lost,
	.may_repeat = may_repeat,
	.finish = finish,
	.refuse = refuse,
	.cut = cut,
};
