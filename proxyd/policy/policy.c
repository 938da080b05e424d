/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A decision goes through stages; each may refuse.
 *
 *	connection   the address belongs to a pattern of this program, and the
 *	             name that the client says (SNI, else Host) is of it, on a
 *	             port and with a scheme that some rule could allow
 *	one name     the Host of the request is that name
 *	placeholders none in a wrong place, none of somebody else
 *	rules        policy/rules.c: from the top; the first that matches.  Rules
 *	             with `report:` stand behind all others (load/read_policy.c): one of them
 *	             decides only what would be refused without it
 *	carry        what the rule that allows asks of the client's own
 *	             credentials: policy/carry.c
 */
#include <assert.h>

#include "policy/carry.h"
#include "policy/inside.h"
#include "policy/policy.h"
#include "policy/rules.h"
#include "policy/walk.h"

/*
 * A rule with `report:` fits what no other rule allows, since they came no
 * further than `best`: let it through?  A name, a port that such a rule names,
 * a path, a method, a query; never another scheme than that of the port.
 */
static bool
let_through(struct ask *a, enum progress best)
{
	if (best == PROGRESS_PORT)
		return false;
	a->unenforced = rules_reason(a, best);
	return true;
}

/* What the first rule says that could decide about host, port and scheme. */
static enum progress
first_word(struct ask *a, const struct host_matches *found, uint32_t *denies)
{
	bool fits =
	    walk_kind(a->m, found, a->f->port) == scheme_kind(a->f->scheme);
	enum progress best = PROGRESS_NONE, enforced = PROGRESS_NONE;
	COUNTED struct walk w;

	*denies = VERDICT_NONE;
	a->unenforced = REASON_ALLOW;
	walk_init_heads(&w, a->m, found, a->f);
	for (uint32_t r = walk_next(&w); r != IMAGE_NONE; r = walk_next(&w)) {
		bool is_deny = walk_is_deny(a->m, r);
		if (is_deny && !walk_is_total(a->m, r))
			continue;
		enum progress come = walk_connect(a->m, r, a->f);
		if (come == PROGRESS_SCHEME && !fits)
			come = PROGRESS_PORT;
		uint32_t rule = image_word(a->m, TABLE_ROUTES, r, ROUTE_RULE);
		if (is_deny && come == PROGRESS_SCHEME) {
			*denies = rule;
			return PROGRESS_SCHEME;
		}
		bool is_report = walk_is_report(a->m, r);
		if (is_report && come == PROGRESS_SCHEME &&
		    !let_through(a, enforced))
			come = PROGRESS_PORT;
		if (!is_report && !is_deny && come > enforced)
			enforced = come;
		if (is_deny || come <= best)
			continue;
		best = come;
		a->v.nearest = rule;
		if (come == PROGRESS_SCHEME)
			return come;
	}
	return best;
}

/* The pattern whose address a name has, or IMAGE_NONE. */
static uint32_t
own_pattern(const struct host_matches *found)
{
	for (uint32_t i = 0; i < found->n; i++)
		if (!found->at[i].deny_only)
			return found->at[i].host;
	return IMAGE_NONE;
}

/* Host, port and scheme against the patterns in `found`. */
static enum reason
judge_patterns(struct ask *a, const struct host_matches *found)
{
	uint32_t denies;

	enum progress come = first_word(a, found, &denies);
	if (denies != VERDICT_NONE) {
		a->v.rule = denies;
		return REASON_DENY_RULE;
	}
	return come == PROGRESS_SCHEME ? REASON_ALLOW : rules_reason(a, come);
}

/*
 * Nothing is known but where the client went, or the name it says is of another
 * pattern: the port is judged by the pattern of the address.
 */
static enum reason
judge_address(struct ask *a, uint32_t pattern)
{
	COUNTED struct host_matches covering;

	hostset_covering(a->m, pattern, &covering);
	enum reason reason = judge_patterns(a, &covering);
	if (a->name.n == 0 || reason == REASON_DST_PORT)
		return reason;
	a->v.rule = a->v.nearest = VERDICT_NONE;
	return REASON_ALLOW;
}

static bool
speaks_tls(const struct facts *f)
{
	return f->scheme == SCHEME_HTTPS || f->scheme == SCHEME_TLS;
}

static enum reason
no_name(struct ask *a, uint32_t pattern)
{
	if (speaks_tls(a->f))
		return REASON_TLS_NO_SNI;
	/* Where nothing is read, only the name of an address can be meant. */
	if (a->f->scheme == SCHEME_TCP)
		return REASON_HTTP_HOST_DENIED;
	/* Plain HTTP before its head; at the refusal address no rule can fit,
	 * and what comes to another port is mostly no HTTP. */
	if (pattern != IMAGE_NONE)
		return REASON_ALLOW;
	return a->f->port == 80 ? REASON_HTTP_HOST_DENIED : REASON_DST_PORT;
}

/* The name that the client says; over TLS to a literal, the literal. */
static struct slice
said_name(const struct ask *a, uint32_t pattern)
{
	const struct facts *f = a->f;

	if (f->has_sni)
		return f->sni;
	/* Of one that has yet to begin: what a proxy's client says. */
	if (f->kind == FACTS_CONNECT && f->host.n != 0)
		return f->host;
	if (!speaks_tls(f) || f->dst.family == 0)
		return f->host;
	if (pattern != IMAGE_NONE &&
	    image_word(a->m, TABLE_HOSTS, pattern, HOST_KIND) == HOST_LITERAL)
		return image_string(a->m, TABLE_HOSTS, pattern, HOST_TEXT_S);
	return (struct slice){ 0 };
}

/* The pattern of where the client went; false: nobody gave that address out. */
static bool
find_pattern(const struct program *p, const struct ip *dst, uint32_t *pattern)
{
	struct ip refusal = program_refusal_address(p);

	*pattern = IMAGE_NONE;
	if (dst->family == 0 || ip_eq(dst, &refusal))
		return true;
	*pattern = hostset_by_address(&p->image, dst);
	if (*pattern == IMAGE_NONE)
		*pattern = hostset_literal(&p->image, dst);
	return *pattern != IMAGE_NONE;
}

/*
 * The pattern of where the client went and the name that it says, and the
 * patterns of that.  Mostly it went where its name leads, as the pattern of the
 * name itself says: then no table of addresses is searched.  False: nobody gave
 * that address out.
 */
static bool
find_name(struct ask *a, const struct program *p, uint32_t *pattern)
{
	const struct ip *dst = &a->f->dst;
	struct ip own;

	a->name = said_name(a, IMAGE_NONE);
	hostset_match(a->m, a->name, &a->found);
	*pattern = own_pattern(&a->found);
	if (*pattern != IMAGE_NONE && hostset_address(a->m, *pattern, &own) &&
	    ip_eq(dst, &own))
		return true;
	if (!find_pattern(p, dst, pattern))
		return false;
	struct slice name = said_name(a, *pattern);
	if (!slice_eq(name, a->name))
		hostset_match(a->m, name, &a->found);
	a->name = name;
	return true;
}

static enum reason
judge_connection(struct ask *a, const struct program *p)
{
	bool known = a->f->dst.family != 0;
	enum reason reason;
	uint32_t pattern;

	if (!find_name(a, p, &pattern))
		return REASON_DST_UNMAPPED_IP;
	bool same = !known || own_pattern(&a->found) == pattern;
	if (a->name.n == 0)
		same = false;
	if (!same && pattern != IMAGE_NONE) {
		reason = judge_address(a, pattern);
		if (reason != REASON_ALLOW)
			return reason;
	}
	if (a->name.n == 0)
		return no_name(a, pattern);

	reason = judge_patterns(a, &a->found);
	if (reason == REASON_TLS_SNI_DENIED ||
	    reason == REASON_HTTP_HOST_DENIED || reason == REASON_DENY_RULE)
		return reason;
	if (!same)
		return a->f->has_sni ? REASON_TLS_DST_MISMATCH :
				       REASON_HTTP_HOST_MISMATCH;
	return reason;
}

/* Could anything be allowed on some port of this name? */
static bool
could_allow(struct ask *a)
{
	struct facts f = { .kind = FACTS_CONNECT, .now_s = a->f->now_s };
	const struct facts *asked = a->f;
	COUNTED struct walk w;
	bool could = false;

	walk_init_heads(&w, a->m, &a->found, a->f);
	a->f = &f;
	for (uint32_t r = walk_next(&w); r != IMAGE_NONE && !could;
	     r = walk_next(&w)) {
		uint32_t denies;
		if (walk_is_deny(a->m, r))
			continue;
		f.port =
		    (uint16_t)image_word(a->m, TABLE_ROUTES, r, ROUTE_PORT);
		f.scheme = scheme_below((enum scheme)image_word(a->m,
		    TABLE_ROUTES, r, ROUTE_SCHEME));
		could = first_word(a, &a->found, &denies) == PROGRESS_SCHEME &&
		    denies == VERDICT_NONE;
	}
	a->f = asked;
	a->v.nearest = VERDICT_NONE;
	return could;
}

static enum reason
judge_name(struct ask *a)
{
	const uint16_t type_a = 1, type_aaaa = 28; /* RFC 1035, 3596 */

	hostset_match(a->m, a->f->host, &a->found);
	if (!could_allow(a))
		return REASON_DNS_DENIED;
	return a->f->qtype == type_a || a->f->qtype == type_aaaa ?
	    REASON_ALLOW :
	    REASON_DNS_QTYPE;
}

static enum reason
judge_dial(struct ask *a)
{
	uint32_t rule = a->f->rule;
	enum progress best = PROGRESS_NONE;
	COUNTED struct walk w;

	if (rule >= image_count(a->m, TABLE_RULES))
		return REASON_INTERNAL;
	a->v.rule = rule;
	/* The worker may have asked a moment ago. */
	if (walk_has_expired(a->m, rule, a->f->now_s))
		return REASON_POLICY_CHANGED;
	hostset_match(a->m, a->f->host, &a->found);
	bool fits =
	    walk_kind(a->m, &a->found, a->f->port) == scheme_kind(a->f->scheme);
	walk_init_rule(&w, a->m, &a->found, a->f, rule);
	for (uint32_t r = walk_next(&w);
	     r != IMAGE_NONE && best != PROGRESS_SCHEME; r = walk_next(&w)) {
		if (walk_is_deny(a->m, r))
			return REASON_DENY_RULE;
		enum progress come = walk_connect(a->m, r, a->f);
		if (come == PROGRESS_SCHEME && !fits)
			come = PROGRESS_PORT;
		best = come > best ? come : best;
	}
	/* A dial without a port is of no rule. */
	if (a->f->port == 0)
		return REASON_DST_PORT;
	return best == PROGRESS_SCHEME ? REASON_ALLOW : rules_reason(a, best);
}

static enum reason
judge_request(struct ask *a, const struct program *p)
{
	enum reason reason = judge_connection(a, p);

	if (reason != REASON_ALLOW)
		return reason;
	/* What passes unread has no requests. */
	if (scheme_is_passed(a->f->scheme))
		return REASON_HTTP_UPGRADE;
	if (!slice_eq(a->name, a->f->host))
		return REASON_HTTP_HOST_MISMATCH;
	if (a->f->placeholder == PLACEHOLDER_MISPLACED)
		return REASON_CRED_MISPLACED;
	if (a->f->placeholder == PLACEHOLDER_FOREIGN)
		return REASON_CRED_FOREIGN;
	return rules_judge(a);
}

static enum reason
judge(struct ask *a, const struct program *p)
{
	switch (a->f->kind) {
	case FACTS_NAME:
		return judge_name(a);
	case FACTS_CONNECT:
		return judge_connection(a, p);
	case FACTS_REQUEST:
	case FACTS_COMMAND:
	case FACTS_PUSH:
		return judge_request(a, p);
	case FACTS_DIAL:
		return judge_dial(a);
	}
	return REASON_INTERNAL;
}

/* There are no requests to be judged: this is the last word, and its rule. */
static void
allow_unread(struct ask *a)
{
	a->v.rule = a->v.nearest;
	a->v.reason =
	    a->f->scheme == SCHEME_TLS ? REASON_ALLOW_PASS : REASON_ALLOW_TCP;
}

static void
allow(struct ask *a)
{
	enum facts_kind kind = a->f->kind;

	if (kind == FACTS_CONNECT && scheme_is_passed(a->f->scheme))
		allow_unread(a);
	else if (kind == FACTS_CONNECT && a->f->scheme == SCHEME_HTTPS)
		a->v.dial = a->v.nearest;
	if (kind != FACTS_REQUEST && kind != FACTS_COMMAND &&
	    kind != FACTS_PUSH)
		a->v.nearest = VERDICT_NONE;
	/* Of a name and of a dial that is no question: a rule allows them. */
	if ((kind == FACTS_CONNECT || kind == FACTS_REQUEST) &&
	    a->unenforced != REASON_ALLOW) {
		a->v.report = true;
		a->v.reason = a->unenforced;
	}
}

struct verdict
policy_decide(const struct program *p, const struct facts *f)
{
	struct ask a = { .m = &p->image, .f = f };

	a.v.rule = a.v.nearest = a.v.dial = a.v.command = VERDICT_NONE;
	a.v.reason = f->fault != REASON_ALLOW ? f->fault : judge(&a, p);
	a.v.allow = a.v.reason == REASON_ALLOW;
	if (!a.v.allow) {
		/* Nothing of a credential leaves with a refusal. */
		a.v.n_credentials = 0;
		a.v.strip = 0;
		a.v.strip_cookies = a.v.search_answer = false;
		memset(a.v.credentials, 0, sizeof(a.v.credentials));
	} else {
		allow(&a);
	}
	return a.v;
}

enum scheme
policy_kind(const struct program *p, const struct ip *dst, uint16_t port,
    struct slice *name)
{
	const struct image *m = &p->image;
	COUNTED struct host_matches found;
	uint32_t host;

	*name = (struct slice){ 0 };
	if (!find_pattern(p, dst, &host) || host == IMAGE_NONE)
		return SCHEME_HTTPS;
	uint32_t kind = image_word(m, TABLE_HOSTS, host, HOST_KIND);
	if (kind != HOST_EXACT && kind != HOST_LITERAL)
		return SCHEME_HTTPS;
	*name = image_string(m, TABLE_HOSTS, host, HOST_TEXT_S);
	hostset_match(m, *name, &found);
	return walk_kind(m, &found, port);
}

bool
policy_is_git(const struct program *p, const struct ip *dst, uint16_t *port)
{
	COUNTED struct host_matches found;
	uint32_t host;
	COUNTED struct walk w;

	if ((image_flags(&p->image) & PROGRAM_GIT) == 0 || dst->family == 0 ||
	    !find_pattern(p, dst, &host) || host == IMAGE_NONE)
		return false;
	hostset_covering(&p->image, host, &found);
	walk_init_heads(&w, &p->image, &found, NULL);
	for (uint32_t r = walk_next(&w); r != IMAGE_NONE; r = walk_next(&w))
		if (!walk_is_deny(&p->image, r) &&
		    image_word(&p->image, TABLE_ROUTES, r, ROUTE_SCHEME) ==
			SCHEME_GIT) {
			*port = (uint16_t)image_word(&p->image, TABLE_ROUTES, r,
			    ROUTE_PORT);
			return true;
		}
	return false;
}

struct slice
policy_destination(const struct program *p, const struct ip *dst)
{
	uint32_t host;

	if (dst->family == 0 || !find_pattern(p, dst, &host) ||
	    host == IMAGE_NONE)
		return (struct slice){ 0 };
	return image_string(&p->image, TABLE_HOSTS, host, HOST_TEXT_S);
}
