/* SPDX-License-Identifier: Apache-2.0 */
/* An exchange over HTTP/1.1. */
#include "http/exchange_step.h"
#include "http/h1.h"
#include "wire/h1_write.h"

static enum parse
read_request(struct exchange *x, struct parse_fail *fail)
{
	return h1_read_request(x->client, &x->req, &x->head, fail);
}

static bool
read_again(struct exchange *x)
{
	return h1_read_again(&x->req, &x->head);
}

static bool
put_request(struct exchange *x, struct http_new_request *r)
{
	size_t secret = h1_credentials_size(r);
	struct buf room;
	bool ok = false;

	buf_init(&room, H1_WRITE_ROOM(x->head.n, secret));
	uint8_t *p = buf_room(&room, room.max);
	if (p != NULL) {
		struct wr w = wr_of(p, room.max);
		h1_put_request(&w, r);
		ok = !w.bad &&
		    (secret != 0 ? stream_put_secret : stream_put)(x->upstream,
			wr_slice(&w));
		x->bytes_up += w.n - secret;
	}
	if (secret != 0)
		buf_wipe(&room);
	else
		buf_release(&room);
	return ok;
}

static enum parse
read_response(struct exchange *x, struct parse_fail *fail)
{
	return h1_read_response(x->upstream, x->req.method, &x->res,
	    &x->answer_head, fail);
}

static bool
put_response(struct exchange *x, struct http_new_response *r)
{
	struct buf room;
	bool ok = false;

	/* An answer before the request has ended: what follows is not parsed
	 * as another request (SM-26). */
	if (x->res.status >= 200 && (!x->up.done || x->close))
		r->close = true;
	if (r->close)
		x->close = true;
	buf_init(&room, H1_WRITE_ROOM(x->answer_head.n, 0));
	uint8_t *p = buf_room(&room, room.max);
	if (p != NULL) {
		struct wr w = wr_of(p, room.max);
		h1_put_response(&w, r);
		ok = !w.bad && stream_put(x->client, wr_slice(&w));
		x->bytes_down += w.n;
	}
	buf_release(&room);
	return ok;
}

/* A pooled connection was stale; no byte of a body is there to be gone. */
static bool
may_repeat(const struct exchange *x)
{
	return x->is_pooled && stream_peek(x->upstream).n == 0 &&
	    (x->req.body == HTTP_BODY_NONE ||
		(x->req.body == HTTP_BODY_LENGTH && x->req.length == 0)) &&
	    exchange_is_idempotent(x);
}

/* Both messages are whole, or the answer is and the request never will be. */
static enum exchange_step
finish(struct exchange *x)
{
	if (x->down.out == HTTP_BODY_UNTIL_CLOSE)
		x->close = true;
	if (!x->up.done) {
		x->close = true;
	} else if (x->res.keep_alive && !http_is_last(&x->req) &&
	    stream_is_idle(x->upstream)) {
		struct stream *s = x->upstream;
		x->upstream = NULL;
		x->ops->keep(x, s, x->arg);
	}
	return exchange_enter(x, EXCHANGE_DONE);
}

/* `fields` NULL: without trailers. */
static enum parse
put_fields(struct exchange *x, bool up, const struct field_list *fields,
    struct parse_fail *fail)
{
	if (h1_way_put_end(up ? &x->up : &x->down, up ? x->upstream : x->client,
		fields))
		return PARSE_DONE;
	/* A side that is lost is seen as such by the caller. */
	*fail = (struct parse_fail){ REASON_INTERNAL, "end does not fit", 0 };
	return PARSE_BAD;
}

static enum parse
put_trailers(struct exchange *x, bool up, struct parse_fail *fail)
{
	struct buf *section = up ? &x->up.trailers : &x->down.trailers;
	struct field_list fields;

	if (!h1_trailers_take(buf_slice(section), &fields)) {
		*fail = (struct parse_fail){ REASON_INTERNAL,
			"trailers read otherwise", 0 };
		return PARSE_BAD;
	}
	if (!exchange_pass_trailers(x, up, &fields, section, fail))
		return PARSE_BAD;
	/* An origin that does not know of them might read on behind the body. */
	return put_fields(x, up,
	    up && !http_has_trailers(&x->req) ? NULL : &fields, fail);
}

/* Towards HTTP/1.0 there are no chunks, so no trailers. */
static enum parse
put_end(struct exchange *x, bool up, struct parse_fail *fail)
{
	const struct way *w = up ? &x->up : &x->down;

	return w->trailers.n == 0 || w->out != HTTP_BODY_OPEN ?
	    put_fields(x, up, NULL, fail) :
	    put_trailers(x, up, fail);
}

static enum parse
pull(struct exchange *x, struct slice *in, struct parse_fail *fail)
{
	return h1_way_pull(&x->up, x->client, in, fail);
}

static enum exchange_step
client_lost(struct exchange *x)
{
	return exchange_lose(x, REASON_CLIENT_ABORT, "client is gone");
}

static enum exchange_step
upstream_lost(struct exchange *x, const char *detail)
{
	return exchange_fail(x, REASON_UP_RESPONSE, detail);
}

/* The owner of the client's connection resets it. */
static void
cut(struct exchange *x UNUSED)
{
}

static enum exchange_step
refuse(struct exchange *x)
{
	struct stream *client = x->client;

	if (x->expired)
		return client_lost(x);
	if (!x->asked && !exchange_head_fits(x))
		return EXCHANGE_WAIT;
	if (!x->asked) {
		size_t before = stream_backlog(client);
		x->asked = true;
		x->status = refusal_status(&x->refusal);
		if (!refusal_put(&x->refusal, client, x->flow,
			x->is_bad ? NULL : &x->req))
			return exchange_lose(x, REASON_CLIENT_ABORT,
			    "client is gone");
		x->bytes_down += stream_backlog(client) - before;
	}
	/* The owner of the connection reads on for a while (SM-24, UP-07). */
	return stream_backlog(client) == 0 ? exchange_enter(x, EXCHANGE_DONE) :
					     EXCHANGE_WAIT;
}

const struct exchange_version exchange_h1 = {
	.has_end = false,
	.has_head = false,
	.read_request = read_request,
	.read_again = read_again,
	.put_request = put_request,
	.read_response = read_response,
	.put_response = put_response,
	.move = h1_way_move,
	.put_end = put_end,
	.pull = pull,
	.put = h1_way_put,
	.client_lost = client_lost,
	.upstream_lost = upstream_lost,
	.may_repeat = may_repeat,
	.finish = finish,
	.refuse = refuse,
	.cut = cut,
};
