/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules of two kinds (policy/scheme.h) for one exact host and port.  What a
 * connection is has to be known before any byte of it, so only one of them can
 * be meant.  Where a wildcard is in it, the first rule counts: load/hidden.c.
 */
#include "base/mem.h"
#include "load/compile.h"

#define PORTS 65536

/* The first route for each port, of the host that `host_of` says. */
struct seen {
	uint32_t route[PORTS], host_of[PORTS];
};

static bool
look_at_route(struct seen *seen, const struct compile_hosts *h, uint32_t host,
    uint32_t route, struct load_report *report)
{
	const struct load_pattern *p = h->patterns[route];

	if (seen->host_of[p->port] != host) {
		seen->host_of[p->port] = host;
		seen->route[p->port] = route;
		return true;
	}
	uint32_t earlier = seen->route[p->port];
	const struct load_pattern *first = h->patterns[earlier];
	if (scheme_kind(first->scheme) == scheme_kind(p->scheme))
		return true;
	load_error(report, p->at,
	    "`%.*s` and `%.*s` of rule `%.*s` (%.*s:%u) are two kinds for one "
	    "host and port: a connection there is served, passed behind its "
	    "ClientHello (`tls`), or passed unread (`tcp`)",
	    SLICE_ARG(p->text), SLICE_ARG(first->text),
	    SLICE_ARG(h->rules[earlier]->name), SLICE_ARG(first->at.file),
	    first->at.line);
	return false;
}

static bool
has_passed(const struct compile_hosts *h)
{
	for (uint32_t i = 0; i < h->n_routes; i++)
		if (scheme_is_passed(h->patterns[i]->scheme))
			return true;
	return false;
}

bool
compile_kinds(const struct compile_hosts *h, struct load_report *report)
{
	if (!has_passed(h))
		return true;
	struct seen *seen = mem_array(1, sizeof(*seen));
	bool good = true;

	memset(seen->host_of, 0xff, sizeof(seen->host_of)); /* none's */
	for (uint32_t host = 0; host < h->n; host++) {
		enum host_kind kind = h->hosts[host]->kind;
		if (kind != HOST_EXACT && kind != HOST_LITERAL)
			continue;
		for (uint32_t i = h->first[host]; i < h->first[host + 1]; i++)
			good =
			    look_at_route(seen, h, host, h->list[i], report) &&
			    good;
	}
	free(seen);
	return good;
}
