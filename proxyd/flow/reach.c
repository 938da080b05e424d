/* SPDX-License-Identifier: Apache-2.0 */
/* REACH: an upstream connection for a request that was allowed. */
#include "flow/choose.h"
#include "flow/link.h"
#include "http/h2_stream.h"

struct pool_key
request_pool_key(const struct request *r)
{
	return (struct pool_key){
		.host = &r->host,
		.port = r->facts.port,
		.tls = r->flow->is_tls,
		.alpn = r->flow->alpn,
		.public_only =
		    program_rule(request_by(r)->program, request_rule(r))
			.report,
		.generation = request_by(r)->number,
	};
}

static void
on_upstream_news(struct stream *s, void *arg)
{
	(void)s;
	request_wake(arg);
}

void
reach_note_dial(const struct dial_answer *a)
{
	struct stream *s = a->stream;

	s->tag = a->cookie;
	snprintf(s->peer, sizeof(s->peer), "%.*s", SLICE_ARG(a->address));
}

bool
reach_has_room(struct sandbox *sb, size_t n)
{
	return sb->n_upstreams + n + pool_count(sb->pool) <= LIMIT_UPSTREAMS ||
	    pool_drop_oldest(sb->pool) || link_drop_idle(sb);
}

void
reach_keep(struct flow *f, const struct host *host, struct stream *s)
{
	const struct program *p = f->generation->program;
	const struct pool_key key = {
		.host = host,
		.port = f->port,
		.tls = true,
		.alpn = f->alpn,
		.public_only = program_rule(p, f->verdict.dial).report,
		.generation = f->generation->number,
	};

	if (f->alpn == ALPN_H2)
		link_keep(f, &key, s);
	else
		pool_put(f->sandbox->pool, &key, s);
}

static void
on_dialled(const struct dial_answer *a, void *arg)
{
	struct request *r = arg;

	r->asked = NULL;
	if (a->reason == REASON_POLICY_CHANGED && request_ask_again(r))
		return;
	r->cookie = a->cookie;
	snprintf(r->address, sizeof(r->address), "%.*s", SLICE_ARG(a->address));
	if (a->stream == NULL) {
		request_fail(r,
		    a->reason == REASON_ALLOW ? REASON_INTERNAL : a->reason,
		    a->detail);
	} else {
		reach_note_dial(a);
		r->reaching = a->stream;
		stream_on(r->reaching, on_upstream_news, r);
	}
	request_wake(r);
}

struct dial_ask
request_dial_ask(const struct request *r)
{
	const struct flow *f = r->flow;
	struct slice only;

	return (struct dial_ask){
		.generation = request_by(r),
		.rule = request_rule(r),
		.host = &r->host,
		.name_it = !program_rule_host(request_by(r)->program,
		    request_rule(r), &only),
		.port = r->facts.port,
		.tls = f->is_tls,
		.alpn = alpn_offer_only(f->alpn),
		.flow = f->name,
	};
}

static void
dial(struct request *r)
{
	const struct dial_ask ask = request_dial_ask(r);
	struct sandbox *sb = r->flow->sandbox;

	r->asked = sb->asks->dial(sb->asks_arg, sb, &ask, on_dialled, r);
}

/* One that has been used before, from the pool. */
static bool
take_pooled(struct request *r)
{
	const struct pool_key key = request_pool_key(r);
	struct stream *s =
	    r->x.want_fresh ? NULL : pool_take(r->flow->sandbox->pool, &key);

	if (s == NULL)
		return false;
	stream_on(s, on_upstream_news, r);
	r->cookie = s->tag;
	memcpy(r->address, s->peer, sizeof(r->address));
	exchange_reached(&r->x, s, true);
	return true;
}

void
request_reach(struct exchange *x, void *arg)
{
	struct request *r = arg;
	struct flow *f = r->flow;
	struct sandbox *sb = f->sandbox;
	enum reason failed = choose_take_failure(f);

	/* Another try, of what was made ready for a program that is over. */
	if (r->is_otherwise) {
		exchange_refuse(x, REASON_POLICY_CHANGED,
		    "the policy has changed");
		return;
	}

	if (f->alpn != ALPN_H2 && !r->counted) {
		r->counted = true;
		sb->n_upstreams++;
	}
	if (f->alpn != ALPN_H2 && take_pooled(r))
		return;
	if (failed != REASON_ALLOW)
		request_fail(r, failed, slice_of_str(f->choose->detail));
	else if (f->alpn == ALPN_H2)
		link_reach(r);
	else if (reach_has_room(sb, 0))
		dial(r);
	else
		exchange_refuse(x, REASON_LIMIT_CONNS,
		    "too many upstream connections");
}

struct stream *
request_wire(const struct request *r)
{
	struct stream *s = r->x.upstream;

	if (!h2_is_stream(s))
		return s;
	return h2_conn_of(s) == NULL ? NULL : h2_bytes(h2_conn_of(s));
}

void
request_choose_http11(struct request *r)
{
	struct flow *f = r->flow;

	/* The client, who is told too, makes another connection by itself. */
	choices_put(&f->sandbox->choices, &r->host, f->port, f->offer,
	    ALPN_HTTP11);
	choose_nudge(f->sandbox);
}

/* It does not speak any more what the client was given, and goes on with. */
static void
forget_choice(struct request *r)
{
	choices_forget(&r->flow->sandbox->choices, &r->host, r->flow->port);
	request_drain(r);
}

/* Versions are never translated.  Nothing chosen is HTTP/1.1. */
static bool
is_as_given(const struct request *r, const struct stream *s)
{
	const struct sandbox *sb = r->flow->sandbox;
	enum alpn alpn = sb->asks->alpn(sb->asks_arg, s);

	return (alpn == ALPN_H2) == (r->flow->alpn == ALPN_H2);
}

void
request_reach_more(struct request *r)
{
	struct stream *s = r->reaching;
	const struct sandbox *sb = r->flow->sandbox;

	if (s == NULL || r->x.phase != EXCHANGE_REACH)
		return;
	if (stream_is_broken(s)) {
		if (sb->asks->speaks_none(sb->asks_arg, s))
			forget_choice(r);
		request_fail(r, stream_reason(s), slice_of_str(stream_text(s)));
		r->reaching = NULL;
		stream_close(s);
		return;
	}
	if (!stream_is_ready(s))
		return;
	r->reaching = NULL;
	if (r->flow->is_tls &&
	    !sb->asks->is_verified(sb->asks_arg, s, &r->host)) {
		exchange_refuse(&r->x, REASON_UP_CERT, "was not verified");
		stream_close(s);
		return;
	}
	if (r->flow->is_tls && !is_as_given(r, s)) {
		forget_choice(r);
		exchange_refuse(&r->x, REASON_UP_RESPONSE, REACH_OTHER_VERSION);
		stream_close(s);
		return;
	}
	exchange_reached(&r->x, s, false);
}

void
request_reach_cancel(struct request *r)
{
	const struct sandbox *sb = r->flow->sandbox;

	sb->asks->cancel(sb->asks_arg, r->asked);
	r->asked = NULL;
	again_cancel(&r->retry);
	link_leave(r);
	stream_close(r->reaching);
	r->reaching = NULL;
	if (r->counted)
		r->flow->sandbox->n_upstreams--;
	r->counted = false;
}

void
request_reach_again(struct request *r)
{
	if (r->x.phase != EXCHANGE_REACH && r->x.phase != EXCHANGE_ATTACH)
		return;
	request_reach_cancel(r);
	attach_wipe(&r->attach);
	r->is_again = false;
	exchange_reach_again(&r->x);
}

static void
on_again(void *arg)
{
	struct request *r = arg;

	request_reach_again(r);
	request_wake(r);
}

bool
request_ask_again(struct request *r)
{
	return again_later(&r->flow->sandbox->again_list, &r->retry, on_again,
	    r);
}
