/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A WebSocket: the answer that opens it, verified (a 101; over HTTP/2, where
 * the stream itself is the way, a 2xx), then bytes both ways as they come.
 * Nobody reads them; what limits them are the stages that the exchange's owner
 * added.
 *
 * What the client sent before waits in its stream until then: over HTTP/1.1 it
 * would be the next request to an origin that does not switch.
 *
 * Source: RFC 6455 4; RFC 9110 7.8; RFC 8441 5.
 */
#include "wire/upgrade.h"
#include "base/base64.h"
#include "crypto/digest.h"
#include "http/exchange_step.h"

#define ACCEPT_SIZE BASE64_SIZE(DIGEST_SHA1_SIZE)

bool
exchange_is_switch(const struct exchange *x)
{
	bool is_h2 = x->req.protocol.n != 0;

	return x->upgrade &&
	    (is_h2 ? x->res.status / 100 == 2 : x->res.status == 101);
}

/* What answers the key of the request.  False: no memory. */
static bool
accept_of(const struct http_request *req, char out[ACCEPT_SIZE])
{
	uint8_t sum[DIGEST_SIZE];
	enum err err;
	struct digest *d = digest_new_sha1(&err);

	if (d == NULL)
		return false;
	digest_put(d, upgrade_key(req));
	digest_put(d, SLICE(UPGRADE_GUID));
	digest_end(d, sum);
	digest_free(d);
	(void)base64_encode(slice_of(sum, DIGEST_SHA1_SIZE), out);
	return true;
}

static enum exchange_step
open_tunnel(struct exchange *x)
{
	x->status = x->res.status;
	x->close = true;
	way_set(&x->up, HTTP_BODY_UNTIL_CLOSE, HTTP_BODY_UNTIL_CLOSE, 0);
	way_set(&x->down, HTTP_BODY_UNTIL_CLOSE, HTTP_BODY_UNTIL_CLOSE, 0);
	return exchange_enter(x, EXCHANGE_TUNNEL);
}

enum exchange_step
exchange_switch(struct exchange *x)
{
	char accept[ACCEPT_SIZE];

	if (!accept_of(&x->req, accept))
		return exchange_fail(x, REASON_INTERNAL, "out of memory");
	const char *why = upgrade_check_answer(&x->req, &x->res,
	    slice_of((const uint8_t *)accept, sizeof(accept)));
	if (why != NULL)
		return exchange_fail(x, REASON_UP_RESPONSE, why);
	if (!x->ops->answered(x, x->arg))
		return exchange_fail(x, x->refusal.reason, x->fail.detail);
	if (!exchange_relay_head(x))
		return exchange_lose(x, REASON_CLIENT_ABORT, "client is gone");
	return open_tunnel(x);
}

bool
exchange_stay(struct exchange *x)
{
	if (x->res.status / 100 == 2)
		return false;
	/* What the client sent behind it is no other request, and what the
	 * origin made of it nobody knows. */
	x->close = true;
	x->res.keep_alive = false;
	if (x->up.done)
		return true;
	/* Over HTTP/2 the request would have gone on. */
	x->up.done = true;
	stream_shut(x->upstream);
	return true;
}

/* One direction: what has come, then the end of it.  False: it is to be cut. */
static bool
carry(struct way *w, struct stream *from, struct stream *to,
    struct parse_fail *fail)
{
	if (stream_is_broken(to))
		return true;
	for (;;) {
		struct slice in =
		    slice_first(stream_peek(from), way_portion(w, to));
		size_t n = in.n;
		if (n == 0)
			break;
		if (!way_pass(w, &in, false, fail))
			return false;
		if (!stream_put(to, in)) {
			*fail = (struct parse_fail){ REASON_INTERNAL,
				"bytes do not fit", 0 };
			return false;
		}
		stream_take(from, n);
	}
	if (stream_is_eof(from))
		stream_shut(to);
	return true;
}

/* Gone, and all that came of it before has left. */
static bool
is_lost(const struct stream *from, const struct stream *to)
{
	return stream_is_broken(from) &&
	    (stream_is_broken(to) ||
		(stream_peek(from).n == 0 && stream_backlog(to) == 0));
}

/* Its end was passed on before: nothing of it was cut. */
static bool
had_ended(const struct stream *from, const struct stream *to)
{
	return from->ended && to->shut;
}

enum exchange_step
exchange_step_tunnel(struct exchange *x)
{
	struct stream *client = x->client, *upstream = x->upstream;
	struct parse_fail fail = { REASON_ALLOW, "", 0 };
	uint64_t up = x->up.n, down = x->down.n;

	if (x->refused)
		return exchange_lose(x, x->refusal.reason, x->fail.detail);
	if (x->expired)
		return exchange_lose(x, REASON_LIMIT_TIME,
		    "no byte of either side in time");
	exchange_note_progress(x);
	bool good = carry(&x->up, client, upstream, &fail) &&
	    carry(&x->down, upstream, client, &fail);
	x->bytes_up += x->up.n - up;
	x->bytes_down += x->down.n - down;
	if (!good)
		return exchange_lose(x, fail.reason, fail.detail);
	if (is_lost(client, upstream) && !had_ended(client, upstream))
		return x->version->client_lost(x);
	if (is_lost(upstream, client) && !had_ended(upstream, client))
		return x->version->upstream_lost(x,
		    "connection lost behind an upgrade");
	if ((stream_is_shut(client) && stream_is_shut(upstream)) ||
	    is_lost(client, upstream) || is_lost(upstream, client))
		return exchange_enter(x, EXCHANGE_DONE);
	return EXCHANGE_WAIT;
}
