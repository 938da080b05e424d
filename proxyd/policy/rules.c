/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/rules.h"
#include "base/limits.h"
#include "policy/gitrule.h"
#include "policy/walk.h"

/* The reason for a rule's having come no further than that. */
enum reason
rules_reason(const struct ask *a, enum progress best)
{
	const struct facts *f = a->f;

	switch (best) {
	case PROGRESS_NONE:
		return f->has_sni ? REASON_TLS_SNI_DENIED :
				    REASON_HTTP_HOST_DENIED;
	case PROGRESS_HOST:
		return REASON_DST_PORT;
	case PROGRESS_PORT:
		/* A port speaks what its rules say and nothing else. */
		if (f->kind != FACTS_CONNECT || scheme_is_passed(f->scheme))
			return REASON_HTTP_UPGRADE;
		return f->scheme == SCHEME_HTTP ? REASON_TLS_NOT_TLS :
						  REASON_HTTP_MALFORMED;
	case PROGRESS_SCHEME:
		return a->is_git ? REASON_GIT_REPO : REASON_HTTP_PATH_DENIED;
	case PROGRESS_PATH:
		return a->is_named ? REASON_GIT_SERVICE :
				     REASON_HTTP_METHOD_DENIED;
	case PROGRESS_METHOD:
		return REASON_HTTP_QUERY_DENIED;
	case PROGRESS_QUERY:
		return REASON_GIT_API;
	case PROGRESS_ALL:
		break;
	}
	return REASON_INTERNAL;
}

/*
 * The rule decides, and no other: of a push about all of its commands, so that
 * one push is never of two rules.
 */
static enum reason
allowed_by(struct ask *a, uint32_t rule)
{
	enum reason why = gitrule_push(a->m, rule, a->f, &a->v.command);

	return why != REASON_ALLOW ? why : carry_judge(a);
}

static enum reason
judge_rules(struct ask *a, const struct walk_request *request)
{
	enum progress best = PROGRESS_NONE, enforced = PROGRESS_SCHEME;
	bool reached = false; /* by any, a hidden one too */
	struct walk w;

	walk_init(&w, a->m, &a->found, a->f);
	for (uint32_t r = walk_next(&w); r != IMAGE_NONE; r = walk_next(&w)) {
		enum progress come = walk_request(a->m, r, request);
		/* As far as others came that count: no news. */
		if (reached && come <= best && come <= enforced)
			continue;
		uint32_t rule = image_word(a->m, TABLE_ROUTES, r, ROUTE_RULE);
		uint32_t flags =
		    image_word(a->m, TABLE_RULES, rule, RULE_FLAG_BITS);
		if (come == PROGRESS_ALL) {
			a->v.rule = rule;
			if ((flags & RULE_REPORT) == 0)
				a->v.nearest = VERDICT_NONE;
			else if (a->unenforced == REASON_ALLOW)
				a->unenforced = rules_reason(a, enforced);
			return (flags & RULE_DENY) != 0 ? REASON_DENY_RULE :
							  allowed_by(a, rule);
		}
		if (come >= PROGRESS_SCHEME && (flags & RULE_DENY) == 0)
			reached = true;
		if ((flags & (RULE_DENY | RULE_REPORT | RULE_HIDDEN)) == 0 &&
		    come > enforced)
			enforced = come;
		if (come > best && (flags & (RULE_DENY | RULE_HIDDEN)) == 0) {
			best = come;
			a->v.nearest = rule;
		}
	}
	/*
	 * The connection is one that some rule could allow, if only one that
	 * is hidden: what is missing is no port and no scheme, unless it is
	 * the upgrade.
	 */
	if (best < PROGRESS_SCHEME)
		best = reached ? PROGRESS_SCHEME : PROGRESS_PORT;
	return rules_reason(a, best);
}

/* A path with escapes needs room to be folded; most have none. */
static NOINLINE enum reason
judge_escaped(struct ask *a)
{
	uint8_t folded[LIMIT_PATH_SIZE];
	struct walk_request request;

	walk_prepare(&request, a->f, folded);
	return judge_rules(a, &request);
}

/* Where some rule speaks of git, what a request is of git's comes first. */
static NOINLINE enum reason
judge_git(struct ask *a)
{
	uint8_t folded[LIMIT_PATH_SIZE], lowered[LIMIT_PATH_SIZE];
	struct walk_request request;

	walk_prepare(&request, a->f, folded);
	enum reason fault =
	    walk_prepare_git(&request, a->m, &a->found, lowered);
	if (fault != REASON_ALLOW)
		return fault;
	a->is_git = request.git.is.service != GITPATH_NONE;
	a->is_named = request.git.named;
	if (!a->is_git)
		walk_prepare_door(&request, a->m, lowered);
	return judge_rules(a, &request);
}

enum reason
rules_judge(struct ask *a)
{
	struct slice path = a->f->path;
	struct walk_request request;

	if ((image_flags(a->m) & PROGRAM_GIT) != 0)
		return judge_git(a);
	if (path.n != 0 && memchr(path.p, '%', path.n) != NULL)
		return judge_escaped(a);
	walk_prepare(&request, a->f, NULL);
	return judge_rules(a, &request);
}
