/* SPDX-License-Identifier: Apache-2.0 */
#include "dial/request.h"
#include "base/clock.h"
#include "base/rd.h"
#include "wire/host.h"

/* True for the one spelling of a name, or of a literal address. */
static bool
is_canonical(struct slice text)
{
	struct parse_fail fail;
	struct host host;
	struct ip ip;

	if (ip_parse(text, &ip)) {
		host_from_ip(&ip, &host);
		return slice_eq(host_slice(&host), text);
	}
	return host_from_policy(text, &host, &fail) == PARSE_DONE &&
	    slice_eq(host_slice(&host), text);
}

bool
request_read(struct slice body, struct request *r)
{
	struct rd in = rd_of(body);

	if (!who_read(&in, &r->who))
		return false;
	r->rule = rd_u32(&in);
	r->port = rd_u16(&in);
	r->host = rd_slice8(&in);
	return rd_is_done(&in) && (r->host.n == 0 || is_canonical(r->host));
}

struct verdict
request_decide(const struct program *p, const struct request *r,
    struct facts *facts)
{
	/* As good as any, to say no by: the first. */
	static const enum scheme schemes[] = { SCHEME_HTTPS, SCHEME_HTTP,
		SCHEME_TLS, SCHEME_TCP };
	struct verdict v, other;

	*facts = (struct facts){
		.kind = FACTS_DIAL,
		.rule = r->rule,
		.port = r->port,
		.host = r->host,
		.scheme = schemes[0],
		.now_s = clock_wall_us() / 1000000,
	};
	/* Without a name only a rule that has just one is meant. */
	if (r->host.n == 0 &&
	    (r->rule >= program_n_rules(p) ||
		!program_rule_host(p, r->rule, &facts->host)))
		facts->fault = REASON_HTTP_HOST_DENIED;
	v = policy_decide(p, facts);
	if (v.allow || facts->fault != REASON_ALLOW)
		return v;
	for (size_t i = 1; i < COUNT_OF(schemes); i++) {
		facts->scheme = schemes[i];
		other = policy_decide(p, facts);
		if (other.allow)
			return other;
	}
	facts->scheme = schemes[0];
	return v;
}
