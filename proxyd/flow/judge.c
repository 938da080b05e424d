/* SPDX-License-Identifier: Apache-2.0 */
/* JUDGE: may anything be asked for on this connection? */
#include "base/clock.h"
#include "flow/choose.h"
#include "flow/entry.h"
#include "flow/record.h"
#include "flow/ssh.h"
#include "flow/step.h"

/* RFC 8446 6.2 */
enum alert {
	ALERT_HANDSHAKE_FAILURE = 40,
	ALERT_ACCESS_DENIED = 49,
	ALERT_DECODE_ERROR = 50,
	ALERT_PROTOCOL_VERSION = 70,
	ALERT_UNRECOGNIZED_NAME = 112,
	ALERT_NO_APPLICATION_PROTOCOL = 120,
};

static enum alert
alert_of(const struct flow *f)
{
	switch ((unsigned)f->verdict.reason) {
	case REASON_TLS_NOT_TLS:
		return ALERT_DECODE_ERROR;
	case REASON_TLS_NO_SNI:
	case REASON_TLS_SNI_INVALID:
	case REASON_TLS_SNI_DENIED:
		return ALERT_UNRECOGNIZED_NAME;
	case REASON_TLS_VERSION:
		return f->hello.has_alpn && f->offer == ALPN_OFFER_NONE ?
		    ALERT_NO_APPLICATION_PROTOCOL :
		    ALERT_PROTOCOL_VERSION;
	case REASON_TLS_HELLO_SIZE:
		return ALERT_HANDSHAKE_FAILURE;
	default:
		return ALERT_ACCESS_DENIED;
	}
}

/*
 * A refusal that TLS can carry as a 403: a leaf can be minted for a name that
 * was read, or for the address that the client went to without one.
 */
static bool
may_explain(const struct flow *f)
{
	enum reason r = f->verdict.reason;

	/* A hello that we would not serve ends with an alert. */
	if (f->facts.fault != REASON_ALLOW &&
	    f->facts.fault != REASON_DST_SELF &&
	    f->facts.fault != REASON_TLS_DST_MISMATCH)
		return false;
	if (r == REASON_HTTP_MALFORMED) /* TLS where plain HTTP is spoken */
		return false;
	if (f->sni.n != 0)
		return true;
	return f->dst.family != 0 &&
	    (r == REASON_DST_UNMAPPED_IP || r == REASON_DST_PRIVATE ||
		r == REASON_DST_SELF || r == REASON_DST_PORT);
}

void
judged_host(const struct flow *f, struct host *host)
{
	struct slice name = { 0 };
	struct parse_fail fail;
	struct ip literal;

	*host = f->sni;
	if (f->sni.n != 0)
		return;
	(void)policy_kind(f->generation->program, &f->dst, f->port, &name);
	if (ip_parse(name, &literal))
		host_from_ip(&literal, host);
	else if (host_from_policy(name, host, &fail) != PARSE_DONE)
		host->n = 0;
}

static enum step
judge_tls(struct flow *f)
{
	if (!budget_take(&f->sandbox->handshakes, clock_ms()))
		flow_fault(f, REASON_LIMIT_RATE, "too many handshakes");
	if (f->verdict.allow && choose_is_needed(f))
		return flow_enter(f, PHASE_CHOOSE);
	if (f->verdict.allow || may_explain(f))
		return flow_enter(f, PHASE_SHAKE);
	f->alert = (uint8_t)alert_of(f);
	return flow_enter(f, PHASE_REFUSE);
}

enum step
step_judge(struct flow *f)
{
	if (!f->is_tls && f->facts.scheme != SCHEME_TCP)
		f->facts.scheme = SCHEME_HTTP;
	else if (!scheme_is_passed(f->facts.scheme))
		f->facts.scheme = SCHEME_HTTPS;
	f->facts.has_sni = f->sni.n != 0;
	f->facts.sni = host_slice(&f->sni);
	record_judge(f->generation, &f->facts, &f->verdict);
	/* Names that share a wildcard share its address, but a tunnel has one
	 * name alone. */
	if (f->verdict.allow && entry_is_other(f, &f->sni))
		flow_fault(f, REASON_TLS_DST_MISMATCH,
		    "another name than the tunnel's");
	if (scheme_is_passed(f->facts.scheme)) {
		/* But for an end in due form. */
		f->reset = true;
		return flow_enter(f,
		    f->verdict.allow ? PHASE_DIAL : PHASE_CLOSE);
	}
	if (f->is_tls)
		return judge_tls(f);
	if (ssh_refuse(f))
		return flow_enter(f, PHASE_REFUSE);
	/* Other protocols get a reset; HTTP is told why in HTTP. */
	if (f->verdict.reason == REASON_TLS_NOT_TLS) {
		f->reset = true;
		return flow_enter(f, PHASE_CLOSE);
	}
	return flow_enter(f, PHASE_SERVE);
}
