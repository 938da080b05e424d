/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/rules.h"
#include "base/limits.h"
#include "policy/gitrule.h"
#include "policy/seek.h"
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

/*
 * What was seen of the rules, in whatever order they were looked at.  Routes
 * are numbered in the order of the file: the first is the least.
 */
struct tally {
	/* The first route that came so far, or IMAGE_NONE: all the way, of
	 * any rule; less far, of those that count for the nearest. */
	uint32_t first[PROGRESS_ALL + 1];
	enum progress enforced; /* what came furthest and is no report */
	bool reached;		/* by any, a hidden one too */
};

static void
tally_init(struct tally *t)
{
	for (unsigned i = 0; i <= PROGRESS_ALL; i++)
		t->first[i] = IMAGE_NONE;
	t->enforced = PROGRESS_SCHEME;
	t->reached = false;
}

static void
count_route(struct tally *t, const struct image *m, uint32_t route,
    const struct walk_request *request)
{
	if (route >= t->first[PROGRESS_ALL])
		return; /* one before it decides */
	enum progress come = walk_request(m, route, request);
	if (come == PROGRESS_ALL) {
		t->first[come] = route;
		return;
	}
	/* As far as an earlier one came that counts: no news. */
	if (t->reached && route > t->first[come] && come <= t->enforced)
		return;
	uint32_t rule = image_word(m, TABLE_ROUTES, route, ROUTE_RULE);
	uint32_t flags = image_word(m, TABLE_RULES, rule, RULE_FLAG_BITS);
	if ((flags & RULE_DENY) != 0)
		return;
	if (come >= PROGRESS_SCHEME)
		t->reached = true;
	if ((flags & RULE_HIDDEN) != 0)
		return;
	if ((flags & RULE_REPORT) == 0 && come > t->enforced)
		t->enforced = come;
	if (route < t->first[come])
		t->first[come] = route;
}

/* The furthest that a route came which stands before the one that decides. */
static enum progress
furthest(const struct tally *t)
{
	unsigned come = PROGRESS_ALL - 1;

	while (come != PROGRESS_NONE &&
	    (t->first[come] == IMAGE_NONE ||
		t->first[come] > t->first[PROGRESS_ALL]))
		come--;
	return (enum progress)come;
}

/* The routes whose path may fit; all whose path does are among them. */
static void
count_paths(struct tally *t, const struct ask *a,
    const struct walk_request *request)
{
	COUNTED struct seek s;

	seek_init(&s, a->m, &a->found, a->f, a->f->port);
	seek_path(&s, request->path, false);
	if (request->git.is.service != GITPATH_NONE)
		gitrule_seek(&s, &request->git);
	for (uint32_t r = seek_next(&s); r != IMAGE_NONE; r = seek_next(&s))
		count_route(t, a->m, r, request);
}

/*
 * Of those whose path does not fit the first of each sort: none comes further
 * than one of its sort before it.
 */
static void
count_heads(struct tally *t, const struct ask *a,
    const struct walk_request *request)
{
	COUNTED struct walk w;

	walk_init_heads(&w, a->m, &a->found, a->f);
	for (uint32_t r = walk_next(&w); r != IMAGE_NONE; r = walk_next(&w))
		count_route(t, a->m, r, request);
}

static uint32_t
rule_of(const struct ask *a, uint32_t route)
{
	return image_word(a->m, TABLE_ROUTES, route, ROUTE_RULE);
}

/* No rule fits. */
static enum reason
refuse(struct ask *a, const struct tally *t)
{
	enum progress best = furthest(t);

	if (best != PROGRESS_NONE)
		a->v.nearest = rule_of(a, t->first[best]);
	/*
	 * The connection is one that some rule could allow, if only one that
	 * is hidden: what is missing is no port and no scheme, unless it is
	 * the upgrade.
	 */
	if (best < PROGRESS_SCHEME)
		best = t->reached ? PROGRESS_SCHEME : PROGRESS_PORT;
	return rules_reason(a, best);
}

/* The rule fits, and does no more than report: what is missing otherwise. */
static void
report(struct ask *a, const struct tally *t)
{
	enum progress best = furthest(t);

	if (best != PROGRESS_NONE)
		a->v.nearest = rule_of(a, t->first[best]);
	if (a->unenforced == REASON_ALLOW)
		a->unenforced = rules_reason(a, t->enforced);
}

static enum reason
judge_rules(struct ask *a, const struct walk_request *request)
{
	struct tally t;

	tally_init(&t);
	count_paths(&t, a, request);
	uint32_t first = t.first[PROGRESS_ALL];
	if (first == IMAGE_NONE || walk_is_report(a->m, first))
		count_heads(&t, a, request);
	if (first == IMAGE_NONE)
		return refuse(a, &t);
	uint32_t rule = rule_of(a, first);
	a->v.rule = rule;
	if (walk_is_report(a->m, first))
		report(a, &t);
	else
		a->v.nearest = VERDICT_NONE;
	return walk_is_deny(a->m, first) ? REASON_DENY_RULE :
					   allowed_by(a, rule);
}

/* A path with escapes needs room to be folded; most have none. */
static NOINLINE enum reason
judge_escaped(struct ask *a)
{
	COUNTED uint8_t folded[LIMIT_PATH_SIZE];
	struct walk_request request;

	walk_prepare(&request, a->f, folded);
	return judge_rules(a, &request);
}

/* Where some rule speaks of git, what a request is of git's comes first. */
static NOINLINE enum reason
judge_git(struct ask *a, uint8_t *folded)
{
	COUNTED uint8_t lowered[LIMIT_PATH_SIZE];
	struct walk_request request;

	walk_prepare(&request, a->f, folded);
	enum reason fault =
	    walk_prepare_git(&request, a->m, &a->found, lowered);
	if (fault != REASON_ALLOW)
		return fault;
	a->is_git = request.git.is.service != GITPATH_NONE;
	a->is_named = request.git.named;
	if (!a->is_git)
		walk_prepare_door(&request, a->m, &a->found, lowered);
	return judge_rules(a, &request);
}

static NOINLINE enum reason
judge_git_escaped(struct ask *a)
{
	COUNTED uint8_t folded[LIMIT_PATH_SIZE];

	return judge_git(a, folded);
}

enum reason
rules_judge(struct ask *a)
{
	struct slice path = a->f->path;
	bool escaped = path.n != 0 && memchr(path.p, '%', path.n) != NULL;
	struct walk_request request;

	if ((image_flags(a->m) & PROGRAM_GIT) != 0)
		return escaped ? judge_git_escaped(a) : judge_git(a, NULL);
	if (escaped)
		return judge_escaped(a);
	walk_prepare(&request, a->f, NULL);
	return judge_rules(a, &request);
}
