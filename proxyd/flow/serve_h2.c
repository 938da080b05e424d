/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SERVE over HTTP/2: many requests at once, each on a stream of its own; what
 * ends one of them ends nothing else.  The connection ends when its client
 * ends it, breaks the protocol, or has asked for nothing for long.
 */
#include "flow/request.h"
#include "flow/step.h"
#include "http/h2.h"

/*
 * A refusal has a ceiling as well: one that the client does not take, or whose
 * upload goes on, is held for seconds.  No honest client has so many.
 */
static void
on_request(struct h2_conn *c, struct stream *s, void *arg)
{
	struct flow *f = arg;
	struct request *r;

	if (f->sandbox->n_h2_requests >= LIMIT_H2_REQUESTS_HELD) {
		stream_close(s);
		h2_end_abuse(c, "far more requests than a sandbox may have");
		return;
	}
	r = request_new(f, s);
	if (r != NULL)
		request_wake(r);
}

static void
on_news(struct h2_conn *c UNUSED, void *arg)
{
	flow_run(arg);
}

/*
 * WebSockets are offered where a rule may allow one and the origin takes them,
 * as far as that is known by now.  Where they are not, clients open them over
 * HTTP/1.1.
 */
static bool
may_upgrade(struct flow *f)
{
	struct host host;

	judged_host(f, &host);
	return f->verdict.allow &&
	    policy_may_upgrade(f->generation->program, host_slice(&host),
		f->port) &&
	    choices_may_connect(&f->sandbox->choices, &host, f->port);
}

static bool
begin(struct flow *f)
{
	static const struct h2_conn_ops ops = {
		.on_request = on_request,
		.on_news = on_news,
	};
	enum err err;
	struct stream *bytes = f->client;

	f->client = NULL;
	f->h2 = h2_accept(f->loop, bytes, &ops, f, &err);
	if (f->h2 != NULL && may_upgrade(f))
		h2_offer_connect(f->h2);
	return f->h2 != NULL;
}

/* Those to whom something happened. */
static void
run_requests(struct flow *f)
{
	struct request *r, *next;

	for (r = LIST_FIRST(&f->requests); r != NULL; r = next) {
		next = LIST_NEXT(r, entry);
		if (r->news && request_run(r))
			request_free(r);
	}
}

/* The connection is over, and so is each request that was under way. */
static enum step
ended(struct flow *f)
{
	enum reason reason = h2_reason(f->h2);
	struct request *r;

	LIST_FOREACH(r, &f->requests, entry)
		r->news = true;
	run_requests(f);
	/* That it was lost is said by the requests, if there were any; what
	 * else there was, by none of them. */
	if (reason != REASON_ALLOW && reason != REASON_CLIENT_ABORT) {
		if (f->verdict.allow)
			flow_fault(f, reason, h2_text(f->h2));
		f->told = false;
	}
	return flow_enter(f, PHASE_REFUSE);
}

/* Nothing was asked for in time: say so; then, if it does not go, end it. */
static enum step
leave(struct flow *f)
{
	if (f->leaving)
		return flow_enter(f, PHASE_CLOSE);
	f->leaving = true;
	f->expired = false;
	h2_shut(f->h2);
	timer_set(&f->limit, LIMIT_REFUSE_MS);
	return STEP_WAIT;
}

enum step
step_serve_h2(struct flow *f)
{
	if (f->h2 == NULL && !begin(f))
		return flow_stop(f, REASON_INTERNAL, "out of memory");
	run_requests(f);
	if (h2_is_broken(f->h2))
		return ended(f);
	if (!LIST_EMPTY(&f->requests)) {
		timer_stop(&f->limit);
		f->expired = false;
		return STEP_WAIT;
	}
	if (f->expired)
		return leave(f);
	if (!timer_is_set(&f->limit))
		timer_set(&f->limit,
		    f->leaving ? LIMIT_REFUSE_MS : LIMIT_CLIENT_IDLE_MS);
	return STEP_WAIT;
}

/* Our GOAWAY is to be read: a reset can overtake it. */
enum step
step_refuse_h2(struct flow *f)
{
	if (h2_is_over(f->h2) || f->expired)
		return flow_enter(f, PHASE_CLOSE);
	if (!f->draining) {
		f->draining = true;
		timer_set(&f->limit, LIMIT_DRAIN_MS);
	}
	return STEP_WAIT;
}
