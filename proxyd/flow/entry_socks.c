/* SPDX-License-Identifier: Apache-2.0 */
/* A client of a proxy that speaks SOCKS5: RFC 1928, 1929. */
#include "flow/entry.h"
#include "flow/step.h"
#include "wire/socks5.h"

#define ANSWER_MAX 16

static bool
put(struct flow *f, const struct wr *w)
{
	return stream_put(f->client, wr_slice(w));
}

/* Judged already: tell it, and let it read that. */
static enum step
refuse(struct flow *f, const struct wr *answer)
{
	f->reset = !put(f, answer);
	return flow_enter(f, PHASE_REFUSE);
}

/* What cannot be read: there is no word of SOCKS for it before the request. */
static enum step
bad(struct flow *f, const struct parse_fail *why)
{
	return flow_stop(f, why->reason, why->detail);
}

/* Without a token any client will do; else one that can show it. */
static enum socks5_method
choose(const struct flow *f, const struct socks5_greeting *g)
{
	if (!f->sandbox->token.is_wanted && g->has_open)
		return SOCKS5_OPEN;
	return g->has_password ? SOCKS5_PASSWORD : SOCKS5_NO_METHOD;
}

static enum step
greet(struct flow *f)
{
	struct socks5_greeting g;
	struct parse_fail why;
	uint8_t bytes[ANSWER_MAX];
	struct wr w = wr_of(bytes, sizeof(bytes));
	size_t used;

	switch (socks5_greeting_take(stream_peek(f->client), &g, &used, &why)) {
	case PARSE_MORE:
		return STEP_WAIT;
	case PARSE_BAD:
		return bad(f, &why);
	case PARSE_DONE:
		break;
	}
	enum socks5_method method = choose(f, &g);
	stream_take(f->client, used);
	socks5_put_method(&w, method);
	if (method == SOCKS5_NO_METHOD) {
		flow_fault(f, REASON_PROXY_AUTH,
		    "SOCKS5 without a method that is served");
		return refuse(f, &w);
	}
	f->proxy->greeted = true;
	f->proxy->asks_password = method == SOCKS5_PASSWORD;
	if (!put(f, &w))
		return flow_stop(f, REASON_CLIENT_ABORT, "went away");
	return STEP_AGAIN;
}

static enum step
check_password(struct flow *f)
{
	struct socks5_password p;
	struct parse_fail why;
	uint8_t bytes[ANSWER_MAX];
	struct wr w = wr_of(bytes, sizeof(bytes));
	size_t used;

	switch (socks5_password_take(stream_peek(f->client), &p, &used, &why)) {
	case PARSE_MORE:
		return STEP_WAIT;
	case PARSE_BAD:
		return bad(f, &why);
	case PARSE_DONE:
		break;
	}
	bool right = entry_is_token(f->sandbox, p.password);
	stream_take(f->client, used);
	socks5_put_verdict(&w, right);
	if (!right) {
		flow_fault(f, REASON_PROXY_AUTH, "another token");
		return refuse(f, &w);
	}
	f->proxy->asks_password = false;
	if (!put(f, &w))
		return flow_stop(f, REASON_CLIENT_ABORT, "went away");
	return STEP_AGAIN;
}

static enum step
open_tunnel(struct flow *f)
{
	struct socks5_request r;
	enum socks5_reply reply;
	struct parse_fail why;
	uint8_t bytes[ANSWER_MAX];
	struct wr w = wr_of(bytes, sizeof(bytes));
	size_t used;

	switch (socks5_request_take(stream_peek(f->client), &r, &used, &reply,
	    &why)) {
	case PARSE_MORE:
		return STEP_WAIT;
	case PARSE_BAD:
		flow_fault(f, why.reason, why.detail);
		socks5_put_reply(&w, reply);
		return refuse(f, &w);
	case PARSE_DONE:
		break;
	}
	stream_take(f->client, used);
	bool may = entry_aim(f, &r.host, r.port);
	socks5_put_reply(&w, may ? SOCKS5_SUCCEEDED : SOCKS5_DENIED);
	if (!may)
		return refuse(f, &w);
	if (!put(f, &w))
		return flow_stop(f, REASON_CLIENT_ABORT, "went away");
	f->proxy->answered = true;
	return STEP_AGAIN;
}

enum step
entry_socks(struct flow *f)
{
	if (!f->proxy->greeted)
		return greet(f);
	return f->proxy->asks_password ? check_password(f) : open_tunnel(f);
}
