/* SPDX-License-Identifier: Apache-2.0 */
/* ENTRY: where does a client of a proxy want to go? */
#include "flow/entry.h"
#include "flow/record.h"
#include "flow/step.h"
#include "net/stream_tcp.h"
#include "wire/socks5.h"

void
entry_new(struct sandbox *sb, struct stream *client)
{
	struct entry *e = calloc(1, sizeof(*e));

	if (e == NULL)
		stream_reset(client);
	else
		flow_new_entry(sb, client, e);
}

void
entry_accept(struct sandbox *sb, int fd)
{
	enum err err;
	struct stream *s = stream_tcp_new(sb->loop, fd, &err);

	if (s != NULL)
		entry_new(sb, s);
}

void
entry_free(struct entry *e)
{
	if (e != NULL)
		free(e->req);
	free(e);
}

bool
entry_forwards(const struct flow *f)
{
	return f->proxy != NULL && f->proxy->forwards;
}

bool
entry_is_other(const struct flow *f, const struct host *host)
{
	return f->proxy != NULL && f->proxy->host.n != 0 &&
	    !f->proxy->host.is_ip && host->n != 0 &&
	    !host_eq(host, &f->proxy->host);
}

struct ip
entry_address(const struct flow *f, const struct host *host)
{
	const struct program *p = f->generation->program;
	struct ip ip;

	if (host->is_ip)
		return host->ip;
	if (!program_address(p, host_slice(host), &ip))
		ip = program_refusal_address(p);
	return ip;
}

bool
entry_is_given(const struct flow *f, const struct ip *ip)
{
	const struct program *p = f->generation->program;
	struct ip refusal = program_refusal_address(p), literal;
	struct slice pattern = policy_destination(p, ip);

	return ip_eq(ip, &refusal) ||
	    (pattern.n != 0 && !ip_parse(pattern, &literal));
}

/* Would it be allowed if it went on with that? */
static bool
would_allow(struct flow *f, enum scheme scheme)
{
	f->facts.scheme = scheme;
	f->facts.host = host_slice(&f->proxy->host);
	record_judge(f->generation, &f->facts, &f->verdict);
	return f->verdict.allow;
}

/*
 * Could some rule allow what this may turn out to be?  What is refused is
 * judged last, and so recorded, as what is usual on that port.
 */
static bool
may_begin(struct flow *f)
{
	const struct facts before = f->facts;
	bool plain = f->port == 80;
	bool may;

	if (scheme_is_passed(before.scheme) || before.fault != REASON_ALLOW)
		may = would_allow(f, before.scheme);
	else
		may = would_allow(f, plain ? SCHEME_HTTPS : SCHEME_HTTP) ||
		    would_allow(f, plain ? SCHEME_HTTP : SCHEME_HTTPS);
	/* What it is, it has yet to say. */
	if (may)
		f->facts = before;
	return may;
}

bool
entry_aim(struct flow *f, const struct host *host, uint16_t port)
{
	struct ip dst = entry_address(f, host);

	f->proxy->host = *host;
	flow_set_destination(f, &dst, port);
	if (host->is_ip && entry_is_given(f, &dst)) {
		f->facts.fault = REASON_DST_UNMAPPED_IP;
		snprintf(f->detail, sizeof(f->detail),
		    "an address that stands for names");
	}
	return may_begin(f);
}

enum step
step_entry(struct flow *f)
{
	struct entry *e = f->proxy;
	struct slice in = stream_peek(f->client);
	enum step step = STEP_WAIT;

	/* Who is told so by TLS or by a splice must have been told by us. */
	if (e->answered && stream_backlog(f->client) == 0)
		return flow_enter(f, PHASE_PEEK);
	if (in.n != 0 && in.p[0] == SOCKS5_VERSION)
		e->is_socks = true;
	if (!e->answered && in.n != 0)
		step = e->is_socks ? entry_socks(f) : entry_http(f);
	if (step != STEP_WAIT)
		return step;
	if (stream_is_broken(f->client) || (f->client->ended && !e->answered))
		return flow_stop(f, REASON_CLIENT_ABORT,
		    "ended before it said where to");
	if (f->expired)
		return flow_stop(f, REASON_LIMIT_TIME,
		    "did not say where to in time");
	return STEP_WAIT;
}
