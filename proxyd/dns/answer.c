/* SPDX-License-Identifier: Apache-2.0 */
#include "dns/answer.h"
#include "base/ascii.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/rd.h"
#include "policy/policy.h"
#include "wire/dns_msg.h"

static bool
is_host_byte(uint8_t c)
{
	return ascii_is_alnum(c) || c == '-' || c == '_';
}

/* A name that is no host's, for the record: printable, and of bounded length. */
static struct slice
readable(struct slice wire, char out[HOST_MAX + 1])
{
	struct wr w = wr_of(out, HOST_MAX);
	struct rd r = rd_of(wire);

	for (uint8_t n; (n = rd_u8(&r)) != 0;) {
		struct slice label = rd_bytes(&r, n);
		if (w.n != 0)
			wr_u8(&w, '.');
		for (size_t i = 0; i < label.n; i++)
			wr_u8(&w,
			    is_host_byte(label.p[i]) ? ascii_lower(label.p[i]) :
						       '?');
	}
	return slice_of(out, w.n);
}

static void
decide(const struct program *p, struct dns_said *said)
{
	said->verdict = policy_decide(p, &said->facts);
	said->reason = said->verdict.reason;
}

/* Where a refused name leads: to the connection that is explained, or nowhere. */
static void
refuse_name(const struct program *p, struct dns_answer *a)
{
	if (program_denies_names(p))
		a->rcode = DNS_NXDOMAIN;
	else
		a->ip = program_refusal_address(p);
}

/* What policy says of a well-formed question. */
static struct dns_answer
judge(const struct program *p, const struct dns_query *q, struct dns_said *said)
{
	struct dns_answer a = { .ttl_s = LIMIT_DNS_REFUSED_TTL_S };
	struct parse_fail fail;
	struct host host;

	said->facts.qtype = q->type;
	if (host_from_dns(q->name, &host, &fail) != PARSE_DONE) {
		said->facts.fault = fail.reason;
		said->facts.host = readable(q->name, said->name);
		said->detail = fail.detail;
		decide(p, said);
		/* With such bytes it is nobody's name, so nothing to explain. */
		if (fail.reason == REASON_DNS_MALFORMED)
			a.rcode = DNS_NXDOMAIN;
		else
			refuse_name(p, &a);
		return a;
	}
	memcpy(said->name, host.text, host.n);
	said->facts.host = slice_of(said->name, host.n);
	decide(p, said);
	if (said->reason != REASON_ALLOW && said->reason != REASON_DNS_QTYPE)
		refuse_name(p, &a);
	else if (program_address(p, said->facts.host, &a.ip))
		a.ttl_s = LIMIT_DNS_TTL_S;
	return a;
}

void
dns_answer(const struct program *p, struct slice msg, struct wr *w,
    struct dns_said *said)
{
	struct parse_fail fail = { .detail = "no question" };
	struct dns_answer a = { 0 };
	struct dns_query q;

	*said = (struct dns_said){ .detail = "" };
	said->facts.kind = FACTS_NAME;
	said->facts.now_s = clock_wall_us() / 1000000;
	switch (dns_query_parse(msg, &q, &a.rcode, &fail)) {
	case PARSE_DONE:
		a = judge(p, &q, said);
		break;
	case PARSE_BAD:
		dns_refuse(p, REASON_DNS_MALFORMED, fail.detail, said);
		break;
	case PARSE_MORE:
		/* Silence: answers that are answered could go on for ever. */
		dns_refuse(p, REASON_DNS_MALFORMED, fail.detail, said);
		return;
	}
	dns_put_answer(w, &q, &a);
}

void
dns_refuse(const struct program *p, enum reason reason, const char *detail,
    struct dns_said *said)
{
	*said = (struct dns_said){ .detail = detail };
	said->facts.kind = FACTS_NAME;
	said->facts.now_s = clock_wall_us() / 1000000;
	said->facts.fault = reason;
	decide(p, said);
}
