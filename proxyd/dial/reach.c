/* SPDX-License-Identifier: Apache-2.0 */
/* From a name to a connection: to the origin, or through the owner's proxy. */
#include "base/clock.h"
#include "base/limits.h"
#include "dial/inside.h"
#include "dial/tell.h"
#include "policy/address.h"

static bool
has_proxy(const struct ask *q)
{
	return q->proxy.host.n != 0;
}

/* A canonical name or address, which it is by the policy or the owner. */
static bool
host_of(struct slice text, struct host *host)
{
	struct parse_fail fail;
	struct ip ip;

	if (!ip_parse(text, &ip))
		return host_from_policy(text, host, &fail) == PARSE_DONE;
	host_from_ip(&ip, host);
	return true;
}

/* What went wrong on the way to the proxy is not the origin's. */
static void
refuse(struct ask *q, enum reason reason, const char *detail)
{
	if (!has_proxy(q)) {
		ask_refuse(q, reason, detail);
		return;
	}
	snprintf(q->note, sizeof(q->note), "the proxy: %s", detail);
	ask_refuse(q, reason == REASON_UP_RESOLVE ? REASON_UP_CONNECT : reason,
	    q->note);
}

static void
on_tunnelled(enum reason reason, const char *detail, void *arg)
{
	struct ask *q = arg;

	q->tunnel = NULL;
	if (reason == REASON_ALLOW) {
		ask_confirm(q);
		return;
	}
	snprintf(q->note, sizeof(q->note), "%s", detail);
	ask_refuse(q, reason, q->note);
}

/* Less than the worker waits for the whole: it shall hear who was silent. */
static void
limit_proxy(struct ask *q)
{
	uint64_t now = clock_ms();

	if (q->limit.due_ms > now + LIMIT_PROXY_MS)
		timer_set(&q->limit, LIMIT_PROXY_MS);
}

static void
tunnel_to(struct ask *q)
{
	enum err err = ERR_MEMORY;
	struct host host;
	const struct tunnel_want want = {
		.fd = q->fd,
		.host = &host,
		.port = q->request.port,
		.may_speak_first = q->account.facts.scheme == SCHEME_TCP,
	};

	ask_enter(q, ASK_TUNNEL);
	limit_proxy(q);
	if (host_of(q->account.facts.host, &host))
		q->tunnel =
		    tunnel_start(q->asks->loop, &want, on_tunnelled, q, &err);
	if (q->tunnel == NULL)
		ask_refuse(q, REASON_INTERNAL, err_text(err));
}

static void
on_connected(const struct connected *c, void *arg)
{
	struct ask *q = arg;
	enum err err = ERR_NONE;

	q->connecting = NULL;
	resolve_cancel(q->resolution); /* what is late is not needed */
	q->resolution = NULL;
	q->account.n_refused = c->n_refused;
	q->account.first_refused = c->refused;
	if (c->reason != REASON_ALLOW) {
		refuse(q, c->reason, c->detail);
		return;
	}
	q->fd = c->fd;
	q->account.peer = c->peer;
	if (tell_cookie(q->fd, &q->account.cookie, &err) != 0)
		ask_refuse(q, REASON_INTERNAL, "no cookie");
	else if (has_proxy(q))
		tunnel_to(q);
	else
		ask_confirm(q);
}

static void
connect_to(struct ask *q, const struct ip *ips, size_t n, bool more)
{
	struct connect_want want = {
		.program = q->page->program,
		.host = q->account.facts.host,
		.port = q->request.port,
		.ips = ips,
		.n = n,
		.more = more,
		.public_only =
		    program_rule(q->page->program, q->request.rule).report,
	};
	enum err err = ERR_NONE;

	if (has_proxy(q)) {
		want.program = NULL;
		want.port = q->proxy.port;
	}
	ask_enter(q, ASK_CONNECT);
	q->connecting =
	    connect_start(q->asks->loop, &want, on_connected, q, &err);
	if (q->connecting == NULL)
		ask_refuse(q, REASON_INTERNAL, err_text(err));
}

static void
on_resolved(const struct resolved *r, void *arg)
{
	struct ask *q = arg;

	if (!r->more)
		q->resolution = NULL;
	if (r->reason != REASON_ALLOW)
		refuse(q, r->reason, r->detail);
	else if (q->phase == ASK_RESOLVE)
		connect_to(q, r->ips, r->n, r->more);
	else
		connect_add(q->connecting, r->ips, r->n);
}

/* `servers` NULL: the host's own. */
static void
resolve(struct ask *q, struct slice host, const struct servers *servers)
{
	enum err err = ERR_NONE;
	struct ip ip;

	if (ip_parse(host, &ip)) {
		connect_to(q, &ip, 1, false);
		return;
	}
	q->resolution = resolve_start(q->asks->resolver, host, servers,
	    on_resolved, q, &err);
	if (q->resolution == NULL)
		ask_refuse(q, REASON_LIMIT_CONNS,
		    "too many names are being asked");
}

/* A proxy connects to whatever it is told: an address is judged before. */
static bool
is_bad_literal(struct ask *q)
{
	struct slice host = q->account.facts.host;
	struct ip ip;

	if (!ip_parse(host, &ip))
		return false;
	enum reason reason =
	    connect_judge(q->page->program, host, q->request.port, &ip);
	if (reason == REASON_ALLOW)
		return false;
	q->account.n_refused = 1;
	q->account.first_refused = ip;
	ask_refuse(q, reason, "no address of it may be dialled");
	return true;
}

/* The proxy instead: its name is the owner's, and resolved as the host does. */
static void
reach_proxy(struct ask *q, const struct owner_upstream *up)
{
	uint8_t text[HOST_PUT_MAX];

	/* `report:` reaches public addresses alone, and nobody sees these. */
	if (program_rule(q->page->program, q->request.rule).report) {
		ask_refuse(q, REASON_UP_PRIVATE,
		    "the proxy chooses the address, so `report:` does not "
		    "reach it: it wants a rule of its own");
		return;
	}
	if (is_bad_literal(q))
		return;
	if (!host_of(up->proxy, &q->proxy.host)) {
		ask_refuse(q, REASON_INTERNAL, "the proxy has no host");
		return;
	}
	q->proxy.port = up->proxy_port;
	snprintf(q->proxy.text, sizeof(q->proxy.text), "%.*s:%u",
	    (int)host_put(&q->proxy.host, text), (const char *)text,
	    up->proxy_port);
	q->account.proxy = q->proxy.text;
	q->account.proxy_port = up->proxy_port;
	resolve(q, host_slice(&q->proxy.host), NULL);
}

void
ask_reach(struct ask *q)
{
	struct slice host = q->account.facts.host;
	struct owner_upstream up = owner_upstream(q->asks->owner, host);
	struct servers servers = { .n = up.found ? up.n_resolvers : 0 };
	struct ip ip;

	_Static_assert(SERVERS_MAX >= OWNER_RESOLVERS_MAX, "they all fit");
	for (size_t i = 0; i < servers.n; i++) {
		servers.ips[i] = up.resolvers[i];
		servers.ports[i] = up.resolver_ports[i];
	}
	if (up.found && up.proxy.n != 0)
		reach_proxy(q, &up);
	else if (up.found && up.n_addresses != 0 && !ip_parse(host, &ip))
		connect_to(q, up.addresses, up.n_addresses, false);
	else
		resolve(q, host, servers.n == 0 ? NULL : &servers);
}
