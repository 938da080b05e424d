/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/socket.h>

#include <netinet/in.h>
#include <netinet/tcp.h>

#include "base/clock.h"
#include "base/rd.h"
#include "keep/grant.h"
#include "keep/store.h"
#include "keep/told.h"
#include "policy/git.h"
#include "policy/policy.h"
#include "policy/same.h"

bool
grant_read(struct grant *g, const struct msg *m)
{
	struct rd r = rd_of(m->body);

	*g = (struct grant){ 0 };
	if (!who_read(&r, &g->who))
		return false;
	g->rule = rd_u32(&r);
	g->credential = rd_u32(&r);
	if (!rd_is_done(&r) || m->n_fds != 1)
		return false;
	g->socket = m->fds[0];
	return true;
}

/* The number that the kernel gave the socket; 0 if it is none. */
static uint64_t
cookie_of(int fd)
{
	uint64_t cookie = 0;
	socklen_t n = sizeof(cookie);

	if (getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &n) != 0 ||
	    n != sizeof(cookie))
		return 0;
	return cookie;
}

static bool
is_established(int fd)
{
	struct tcp_info info = { 0 };
	socklen_t n = sizeof(info);

	return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &n) == 0 && n > 0 &&
	    info.tcpi_state == TCP_ESTABLISHED;
}

static struct slice
host_of(const struct told_dial *dial)
{
	return slice_of(dial->host, dial->host_n);
}

/* Does the rule name the credential? */
static bool
rule_carries(const struct grant *g)
{
	const struct program *p = g->known->program;

	if (g->rule >= program_n_rules(p))
		return false;
	struct program_rule rule = program_rule(p, g->rule);
	if (rule.deny)
		return false;
	for (uint32_t i = 0; i < rule.n_credentials; i++)
		if (rule.credentials[i] == g->credential)
			return true;
	return false;
}

/* Policy once more: may this rule dial that host and port, over TLS? */
static bool
rule_dials(const struct grant *g)
{
	const struct facts facts = { .kind = FACTS_DIAL,
		.fault = REASON_ALLOW,
		.scheme = SCHEME_HTTPS,
		.rule = g->rule,
		.port = g->dial->port,
		.host = host_of(g->dial),
		.now_s = clock_wall_us() / 1000000 };

	return policy_decide(g->known->program, &facts).allow;
}

/* The program names a credential by its place in the configuration: is that
 * still the same one? */
static bool
is_of_owner(const struct grant *g)
{
	const struct owner *owner = store_owner(g->store);

	if (g->credential >= owner_n_credentials(owner))
		return false;
	struct program_credential a =
	    program_credential(g->known->program, g->credential);
	struct program_credential b =
	    owner_credential(owner, g->credential).public;
	return same_credential(&a, &b);
}

/* What a worker that holds to the rules never asks; NULL: it does. */
static const char *
find_forgery(struct grant *g, struct told *told)
{
	if (g->known == NULL || g->known->program == NULL)
		return "release asked for a sandbox that is not there";
	switch (who_compare(&g->who, g->known->generation,
	    slice_of(g->known->digest, g->known->n_digest))) {
	case WHO_SAME:
		break;
	case WHO_OTHER_GENERATION:
		g->is_over = g->who.generation < g->known->generation;
		if (g->is_over)
			return "release asked by a policy that is over";
		return "release asked for another generation";
	case WHO_OTHER_DIGEST:
		return "release asked by another program";
	}
	if (!rule_carries(g))
		return "release asked for a credential that the rule lacks";
	g->is_over = !is_of_owner(g);
	if (g->is_over)
		return "the configuration has changed";
	g->cookie = cookie_of(g->socket);
	g->dial = g->cookie == 0 ? NULL : told_find(told, g->cookie);
	if (g->dial == NULL)
		return "release asked for a socket that was not dialled";
	g->is_over = g->dial->sandbox == g->who.sandbox &&
	    g->dial->generation < g->who.generation;
	if (g->is_over)
		return "the dial was made by a policy that is over";
	if (g->dial->sandbox != g->who.sandbox ||
	    g->dial->generation != g->who.generation)
		return "release asked for the dial of another sandbox or program";
	if (!rule_dials(g))
		return "release asked for a dial that the rule may not make";
	if (!owner_only_allows(store_owner(g->store), g->credential,
		host_of(g->dial), g->dial->port))
		return "release asked for outside of the credential's `only:`";
	return NULL;
}

const char *
grant_user(const struct grant *g)
{
	struct git_rule git;

	if (g->known == NULL || g->known->program == NULL ||
	    !git_rule(g->known->program, g->rule, &git))
		return NULL;
	return git_forge_user(git.forge);
}

enum grant_answer
grant_judge(struct grant *g, const struct store *store, struct told *told)
{
	g->store = store;
	g->known = store_find(store, g->who.sandbox);
	if (store_owner(store) == NULL) {
		g->detail = "the owner's configuration has not come";
		return GRANT_NO;
	}
	if (store_is_gone(store, g->who.sandbox)) {
		g->detail = "the sandbox is gone";
		return GRANT_NO;
	}
	g->detail = find_forgery(g, told);
	if (g->is_over)
		return GRANT_CHANGED;
	if (g->detail != NULL)
		return g->cookie != 0 && g->dial == NULL &&
			told_may_have_forgotten(told) ?
		    GRANT_NO :
		    GRANT_FORGED;
	/* What can happen to an honest one. */
	if (!is_established(g->socket)) {
		g->detail = "the connection is not established any more";
		return GRANT_NO;
	}
	if (!store_is_current(store, g->credential)) {
		g->detail = "the secret cannot be had";
		return GRANT_STALE;
	}
	return GRANT_YES;
}

static void
put_rule(const struct grant *g, struct event *e)
{
	const struct program *p = g->known->program;

	if (p == NULL)
		return;
	event_text(e, FIELD_POLICY, program_policy_name(p));
	event_text(e, FIELD_PROGRAM,
	    slice_of(g->known->digest, g->known->n_digest));
	event_number(e, FIELD_GENERATION, g->known->generation);
	if (g->rule >= program_n_rules(p))
		return;
	event_text(e, FIELD_RULE, program_rule(p, g->rule).name);
	event_number(e, FIELD_RULE_INDEX, g->rule);
}

void
grant_event(const struct grant *g, enum event_kind kind, struct event *e)
{
	event_init(e, kind);
	if (g->known != NULL) {
		event_text(e, FIELD_SANDBOX,
		    slice_of(g->known->name, g->known->n_name));
		put_rule(g, e);
	}
	event_str(e, FIELD_VERDICT, g->detail == NULL ? "allow" : "deny");
	event_reason(e,
	    g->detail == NULL ? REASON_ALLOW :
		g->is_over    ? REASON_POLICY_CHANGED :
				REASON_CRED_UNAVAILABLE);
	if (g->detail != NULL)
		event_str(e, FIELD_DETAIL, g->detail);
	if (g->dial != NULL) {
		event_text(e, FIELD_HOST, host_of(g->dial));
		event_number(e, FIELD_PORT, g->dial->port);
	}
	event_text(e, FIELD_CREDENTIAL, store_name(g->store, g->credential));
	event_text(e, FIELD_FLOW, g->who.flow);
	event_number(e, FIELD_COOKIE_SOCKET, g->cookie);
}
