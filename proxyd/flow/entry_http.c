/* SPDX-License-Identifier: Apache-2.0 */
/* A client of a proxy that speaks HTTP/1. */
#include "flow/entry.h"
#include "flow/step.h"
#include "http/refuse.h"

#define SOCKS4_VERSION 4

/* Where it wanted to go, as it would stand in a request. */
static void
put_what(const struct flow *f, struct buf *out)
{
	const struct host *host = &f->proxy->host;
	uint8_t text[HOST_PUT_MAX];

	if (host->n == 0)
		return;
	buf_put_str(out, "CONNECT ");
	buf_put(out, slice_of(text, host_put(host, text)));
	buf_putf(out, ":%u", f->port);
}

/* The flow was judged: say so, in HTTP. */
static enum step
refuse(struct flow *f, const struct http_request *req, unsigned status)
{
	const struct program *p = f->generation->program;
	struct refusal refusal;

	refusal_init(&refusal);
	refusal.status = status;
	refusal.reason = f->verdict.reason;
	refusal.code_only = program_shows_code_alone(p);
	put_what(f, &refusal.what);
	policy_explain(p, &f->facts, &f->verdict, &refusal.policy);
	if (f->detail[0] != '\0')
		buf_putf(&refusal.policy, " (%s)", f->detail);
	if (f->verdict.nearest != VERDICT_NONE)
		refusal.allowed = program_rule(p, f->verdict.nearest).text;
	f->reset = !refusal_put(&refusal, f->client, f->name, req);
	refusal_release(&refusal);
	return flow_enter(f, PHASE_REFUSE);
}

static enum step
fail(struct flow *f, enum reason reason, const char *detail)
{
	flow_fault(f, reason, detail);
	return refuse(f, f->proxy->req, 0);
}

/* A head that says two things is not believed either. */
static bool
is_of_one_mind(const struct http_request *req)
{
	const struct target_authority *to = &req->target.authority;

	return host_eq(&to->host, &req->host.host) &&
	    (!req->host.has_port || req->host.port == to->port);
}

static enum step
open_tunnel(struct flow *f, const struct http_request *req)
{
	const struct target_authority *to = &req->target.authority;

	if (!entry_shows_token(f->sandbox, &f->proxy->req->fields))
		return fail(f, REASON_PROXY_AUTH, "CONNECT without the token");
	if (req->target.form != TARGET_AUTHORITY)
		return fail(f, REASON_HTTP_TARGET_FORM,
		    "CONNECT wants a host and a port");
	if (!is_of_one_mind(req))
		return fail(f, REASON_HTTP_HOST_MISMATCH,
		    "Host is not what CONNECT names");
	/* There is none (RFC 9110 9.3.6): would it be of the tunnel? */
	if (req->body == HTTP_BODY_OPEN || req->length != 0)
		return fail(f, REASON_HTTP_FRAMING, "a body of CONNECT");
	if (!entry_aim(f, &to->host, to->port))
		return refuse(f, req, 0);
	if (!stream_put(f->client,
		SLICE("HTTP/1.1 200 Connection established\r\n\r\n")))
		return flow_stop(f, REASON_CLIENT_ABORT, "went away");
	f->proxy->answered = true;
	return STEP_AGAIN;
}

static enum step
read_connect(struct flow *f)
{
	struct entry *e = f->proxy;
	struct parse_fail why;
	size_t used = 0;

	if (e->req == NULL)
		e->req = calloc(1, sizeof(*e->req));
	if (e->req == NULL)
		return flow_stop(f, REASON_INTERNAL, "out of memory");
	switch (h1_request_take(stream_peek(f->client), &h1_limits, e->req,
	    &used, &why)) {
	case PARSE_MORE:
		return STEP_WAIT;
	case PARSE_BAD:
		flow_fault(f, why.reason, why.detail);
		return refuse(f, NULL, http_fail_status(&why));
	case PARSE_DONE:
		break;
	}
	enum step step = open_tunnel(f, e->req);
	if (f->phase != PHASE_CLOSE)
		stream_take(f->client, used);
	free(e->req);
	e->req = NULL;
	return step;
}

/*
 * Anything but CONNECT is a request, and is read, judged and answered as such;
 * what each says of its destination: forward() of judge_request.c.
 */
static enum step
serve(struct flow *f)
{
	f->proxy->forwards = true;
	f->facts.scheme = SCHEME_HTTP;
	return flow_enter(f, PHASE_SERVE);
}

enum step
entry_http(struct flow *f)
{
	const struct slice connect = SLICE("CONNECT ");
	struct slice in = stream_peek(f->client);
	struct slice first = slice_first(in, connect.n);

	if (in.p[0] == 0x16 || in.p[0] >= 0x80)
		return flow_stop(f, REASON_PROXY_PROTOCOL,
		    "TLS to the proxy itself");
	if (in.p[0] == SOCKS4_VERSION)
		return flow_stop(f, REASON_PROXY_PROTOCOL, "SOCKS4");
	if (slice_eq(first, connect))
		return read_connect(f);
	/* It is read once it cannot be CONNECT any more, or is nothing whole. */
	if (slice_has_prefix(connect, first) && !f->expired &&
	    !f->client->ended && !stream_is_broken(f->client))
		return STEP_WAIT;
	return serve(f);
}
