/* SPDX-License-Identifier: Apache-2.0 */
/* PEEK: is it TLS, and for which name?  Nothing is answered yet. */
#include "base/clock.h"
#include "flow/record.h"
#include "flow/step.h"
#include "wire/ssh.h"

/* The first byte of a ClientHello's record; one of SSL 2 has the high bit. */
static bool
looks_like_tls(uint8_t first)
{
	return first == 0x16 || first >= 0x80;
}

static enum step
peeked(struct flow *f)
{
	free(f->hello_bytes);
	f->hello_bytes = NULL;
	return flow_enter(f, PHASE_JUDGE);
}

/* A fault here has precedence over what policy says; none is overwritten. */
static void
note(struct flow *f, const struct parse_fail *fail)
{
	if (f->facts.fault != REASON_ALLOW)
		return;
	f->facts.fault = fail->reason;
	snprintf(f->detail, sizeof(f->detail), "%s", fail->detail);
}

static enum step
read_hello(struct flow *f)
{
	const struct hello *h = &f->hello;
	struct parse_fail fail;

	f->has_ech = h->has_ech;
	f->offer = h->offer;
	f->alpn = alpn_offer_first(f->offer);
	if (h->has_sni && host_from_sni(h->sni, &f->sni, &fail) != PARSE_DONE) {
		f->sni.n = 0;
		note(f, &fail);
	}
	if (f->facts.scheme != SCHEME_TLS && h->has_alpn &&
	    f->offer == ALPN_OFFER_NONE)
		note(f,
		    &(struct parse_fail){ .reason = REASON_TLS_VERSION,
			.detail = "ALPN without a protocol that is served" });
	return peeked(f);
}

static enum step
peek_hello(struct flow *f)
{
	struct parse_fail fail;

	if (f->hello_bytes == NULL)
		f->hello_bytes = malloc(LIMIT_HELLO_SIZE);
	if (f->hello_bytes == NULL)
		return flow_stop(f, REASON_INTERNAL, "out of memory");
	switch (hello_take(stream_peek(f->client), f->hello_bytes, &f->hello,
	    &fail)) {
	case PARSE_DONE:
		return read_hello(f);
	case PARSE_BAD:
		note(f, &fail);
		return peeked(f);
	case PARSE_MORE:
		break;
	}
	if (stream_is_full(f->client))
		return flow_stop(f, REASON_TLS_HELLO_SIZE,
		    "ClientHello over the limit");
	return STEP_WAIT;
}

/* The first byte has come: the ceiling for the whole, still from accept. */
static void
extend_limit(struct flow *f)
{
	uint64_t passed = clock_ms() - f->started_ms;

	if (!f->is_tls)
		timer_set(&f->limit,
		    passed < LIMIT_HELLO_MS ? LIMIT_HELLO_MS - passed : 0);
}

/* A client that waits for the server to speak is told nothing, but the record
 * says it if no rule is for that place. */
static enum step
late(struct flow *f, bool silent)
{
	enum reason reason;

	f->reset = true;
	record_judge(f->generation, &f->facts, &f->verdict);
	reason = f->verdict.reason;
	if (silent &&
	    (reason == REASON_DST_PORT || reason == REASON_DST_UNMAPPED_IP ||
		reason == REASON_DST_SELF))
		return flow_enter(f, PHASE_CLOSE);
	return flow_stop(f, REASON_TLS_HELLO_TIMEOUT,
	    silent ? "no first byte in time" : "ClientHello not whole in time");
}

/* So far it could be SSH: JUDGE wants to know, if it is refused. */
static bool
may_become_ssh(const struct flow *f)
{
	return !f->expired && !f->client->ended &&
	    !stream_is_broken(f->client) &&
	    ssh_look(stream_peek(f->client)) == PARSE_MORE;
}

enum step
step_peek(struct flow *f)
{
	struct slice in = stream_peek(f->client);
	enum step step = STEP_WAIT;

	if (f->facts.scheme == SCHEME_TCP)
		return flow_enter(f, PHASE_JUDGE);
	if (in.n != 0 && looks_like_tls(in.p[0])) {
		extend_limit(f);
		f->is_tls = true;
		step = peek_hello(f);
	} else if (in.n != 0 && !may_become_ssh(f)) {
		step = peeked(f);
	}
	if (step != STEP_WAIT)
		return step;
	if (stream_is_broken(f->client) || f->client->ended)
		return flow_stop(f, REASON_CLIENT_ABORT,
		    in.n == 0 ? "ended without a byte" :
				"ended inside a ClientHello");
	return f->expired ? late(f, in.n == 0) : STEP_WAIT;
}
