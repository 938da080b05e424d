/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules that can never decide, and deny rules that mean something else than
 * they say.  First match wins, so a rule is hidden if for each of its patterns
 * an earlier rule matches whatever it does.
 */
#include "base/mem.h"
#include "load/compile.h"
#include "load/pattern.h"
#include "policy/gitapi.h"
#include "policy/method.h"
#include "policy/shape.h"

/* Comparisons of one policy; above it the rest is not looked at. */
#define COMPARISONS_MAX 20000000

struct look {
	struct compile_hosts *h;
	struct load_report *report;
	uint32_t *wild; /* owned: hosts with wildcards */
	uint32_t n_wild;
	uint64_t *segments; /* owned: literal_segments() of each route */
	uint64_t left;	    /* comparisons that may still be made */
	bool has_git;	    /* some rule is of git+https */
};

/* Of another kind (policy/scheme.h), for the same connections? */
static bool
patterns_differ_in_kind(const struct load_pattern *a,
    const struct load_pattern *b)
{
	return scheme_kind(a->scheme) != scheme_kind(b->scheme) &&
	    a->port == b->port && pattern_host_covers(&a->host, &b->host);
}

/* Does a pattern of `rule` match what `b` does, method and query aside? */
static bool
pattern_of_covers(const struct load_rule *rule, const struct load_pattern *a,
    const struct load_pattern *b)
{
	struct load_pattern below = *b;

	/* What denies requests denies those that ask for an upgrade, too. */
	if (rule->deny && scheme_is_upgrade(b->scheme) &&
	    !scheme_is_upgrade(a->scheme))
		below.scheme = scheme_below(b->scheme);
	return pattern_covers(a, &below);
}

static bool
spend(struct look *l)
{
	if (l->left == 0)
		return false;
	l->left--;
	return true;
}

/* Does it grant every service that the other does, in every spelling? */
static bool
git_hides(const struct load_rule *a, const struct load_rule *b)
{
	const uint32_t services = GIT_FETCH | GIT_PUSH | GIT_ARCHIVE;

	return a->git != NULL &&
	    (b->git->flags & ~a->git->flags & services) == 0 &&
	    (a->git->forge != FORGE_NONE || b->git->forge == FORGE_NONE);
}

/*
 * A bit for each literal segment of a path pattern, by its hash.  A pattern
 * covers none that lacks one of its literal segments: a star there matches
 * others, too.
 */
static uint64_t
literal_segments(struct slice path)
{
	struct slice rest = slice_from(path, 1);
	uint64_t bits = 0;

	while (rest.n != 0) {
		struct slice segment = shape_take(&rest);
		if (segment.n != 0 && shape_is_literal(segment))
			bits |= (uint64_t)1
			    << shape_slot(shape_hash_segment(segment), 64);
	}
	return bits;
}

/* Does the rule of route `a` match whatever that of route `b` does? */
static bool
route_hides(struct look *l, uint32_t a, uint32_t b)
{
	const struct load_rule *ra = l->h->rules[a], *rb = l->h->rules[b];

	if (!spend(l))
		return false;
	/* The first rule for a host and port says what is spoken there. */
	if (patterns_differ_in_kind(l->h->patterns[a], l->h->patterns[b]))
		return true;
	/* Most patterns of a host name something else. */
	if ((l->segments[a] & ~l->segments[b]) != 0 || ra->has_query)
		return false;
	/* It hides what is gone when it is gone itself. */
	if (ra->expires_s != 0 &&
	    (rb->expires_s == 0 || rb->expires_s > ra->expires_s))
		return false;
	if (!ra->any_method &&
	    (rb->any_method || (rb->methods & ~ra->methods) != 0))
		return false;
	if (rb->git != NULL && !ra->deny && !git_hides(ra, rb))
		return false;
	/* A side door of a repository is opened by what names it itself. */
	if (l->has_git && !ra->deny && rb->git == NULL &&
	    gitapi_is_door(l->h->patterns[b]->path))
		return false;
	/* What only `encoded_slash` lets through is not hidden. */
	if (rb->encoded_slash && !ra->encoded_slash && !ra->deny)
		return false;
	return pattern_of_covers(ra, l->h->patterns[a], l->h->patterns[b]);
}

/* The first route before `route`, of host `host`, that hides it. */
static uint32_t
hider_in(struct look *l, uint32_t host, uint32_t route)
{
	const struct compile_hosts *h = l->h;

	for (uint32_t i = h->first[host]; i < h->first[host + 1]; i++) {
		uint32_t other = h->list[i];
		/* A list is in order; a rule does not hide itself. */
		if (h->rules[other] >= h->rules[route] || l->left == 0)
			break;
		if (route_hides(l, other, route))
			return other;
	}
	return IMAGE_NONE;
}

static uint32_t
find_hider(struct look *l, uint32_t route)
{
	uint32_t host = l->h->of_route[route];
	uint32_t best = hider_in(l, host, route);

	for (uint32_t i = 0; i < l->n_wild; i++) {
		if (l->wild[i] == host || !spend(l) ||
		    !pattern_host_covers(l->h->hosts[l->wild[i]],
			l->h->hosts[host]))
			continue;
		uint32_t other = hider_in(l, l->wild[i], route);
		best = other < best ? other : best;
	}
	return best;
}

static void
warn_hidden(struct look *l, uint32_t route, uint32_t hider, bool whole)
{
	const struct load_rule *by = l->h->rules[hider];
	const struct load_pattern *p = l->h->patterns[route];
	struct slice what = whole ? l->h->rules[route]->name : p->text;

	load_warn(l->report, p->at,
	    "%s`%.*s` is hidden by the %s rule `%.*s` (%.*s:%u), which "
	    "matches whatever it does",
	    whole ? "rule " : "", SLICE_ARG(what), by->deny ? "deny" : "allow",
	    SLICE_ARG(by->name), SLICE_ARG(by->at.file), by->at.line);
}

static void
look_at_rule(struct look *l, struct load_rule *rule, uint32_t first)
{
	uint32_t n = rule->n_patterns, hidden = 0;

	for (uint32_t i = 0; i < n; i++)
		hidden += find_hider(l, first + i) != IMAGE_NONE ? 1 : 0;
	if (hidden == 0)
		return;
	rule->hidden = hidden == n;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t hider = find_hider(l, first + i);
		if (hider == IMAGE_NONE)
			continue;
		warn_hidden(l, first + i, hider, rule->hidden);
		if (rule->hidden)
			return; /* once is enough */
	}
}

/* Can both match one connection? */
static bool
routes_meet(const struct load_pattern *a, const struct load_pattern *b)
{
	return (a->scheme == b->scheme ||
		   a->scheme == scheme_below(b->scheme) ||
		   (a->scheme == SCHEME_GIT && b->scheme == SCHEME_HTTPS) ||
		   scheme_is_passed(b->scheme)) &&
	    a->port == b->port &&
	    (pattern_host_covers(&a->host, &b->host) ||
		pattern_host_covers(&b->host, &a->host));
}

/* What follows the deny rule of route `deny`, on its hosts? */
static void
look_at_deny(struct look *l, uint32_t deny)
{
	const struct load_pattern *p = l->h->patterns[deny];
	const struct load_rule *rule = l->h->rules[deny];
	bool cuts = false, spares = false;

	for (uint32_t i = deny + 1; i < l->h->n_routes && !spares; i++) {
		if (l->h->rules[i]->deny || !spend(l) ||
		    !routes_meet(p, l->h->patterns[i]))
			continue;
		cuts = true;
		spares = !route_hides(l, deny, i);
	}
	if (l->left == 0)
		return;
	if (!cuts)
		load_warn(l->report, p->at,
		    "deny rule `%.*s` has nothing to cut out: no rule after "
		    "it allows this host",
		    SLICE_ARG(rule->name));
	else if (!spares)
		load_warn(l->report, p->at,
		    "deny rule `%.*s` denies all that follows for this host",
		    SLICE_ARG(rule->name));
	else
		load_advise(l->report, p->at,
		    "a deny rule is no boundary: the origin may have other "
		    "spellings of the same path; where it matters, `allow` "
		    "only the paths that are wanted");
}

/* The first rule of git+https for that host that `wanted` is a flag of. */
static const struct load_rule *
find_git(struct look *l, struct slice host, bool forge, uint32_t wanted)
{
	for (uint32_t i = 0; i < l->h->n_routes && spend(l); i++) {
		const struct load_rule *rule = l->h->rules[i];
		if (rule->git != NULL &&
		    (!forge || rule->git->forge != FORGE_NONE) &&
		    (wanted == 0 || (rule->git->flags & wanted) != 0) &&
		    slice_eq(l->h->patterns[i]->host.text, host))
			return rule;
	}
	return NULL;
}

/* Does it lead past a rule of git+https: by an API, or by another protocol? */
static void
look_at_door(struct look *l, uint32_t route)
{
	const struct load_rule *rule = l->h->rules[route], *git;
	const struct load_pattern *p = l->h->patterns[route];
	bool writes = (rule->methods & ~(uint32_t)METHODS_DEFAULT) != 0;

	if (rule->deny || rule->git != NULL)
		return;
	if (scheme_is_passed(p->scheme)) {
		git = find_git(l, p->host.text, false, GIT_PUSH);
		if (git != NULL)
			load_advise(l->report, p->at,
			    "`%.*s`: a push that goes there, by SSH or "
			    "otherwise, is under no rule for branches, such "
			    "as `%.*s`",
			    SLICE_ARG(p->text), SLICE_ARG(git->name));
		return;
	}
	if (!writes || !gitapi_is_door(p->path))
		return;
	git = find_git(l, gitapi_host(p->host.text), true, 0);
	if (git != NULL)
		load_advise(l->report, p->at,
		    "`%.*s`: what writes there can change refs past the rule "
		    "`%.*s` of git+https",
		    SLICE_ARG(p->text), SLICE_ARG(git->name));
}

static void
find_segments(struct look *l)
{
	l->segments = mem_array(l->h->n_routes, sizeof(*l->segments));
	for (uint32_t i = 0; i < l->h->n_routes; i++)
		l->segments[i] = literal_segments(l->h->patterns[i]->path);
}

static void
find_wild(struct look *l)
{
	l->wild = mem_array(l->h->n, sizeof(*l->wild));
	for (uint32_t i = 0; i < l->h->n; i++) {
		enum host_kind kind = l->h->hosts[i]->kind;
		if (kind == HOST_STAR || kind == HOST_DOUBLE)
			l->wild[l->n_wild++] = i;
	}
}

void
compile_hidden(struct compile_hosts *h, struct load_policy_text *policy,
    struct load_report *report)
{
	struct look l = { .h = h, .report = report, .left = COMPARISONS_MAX };
	uint32_t route = 0;

	find_segments(&l);
	find_wild(&l);
	for (uint32_t i = 0; i < policy->n_rules && !l.has_git; i++)
		l.has_git = policy->rules[i].git != NULL;
	for (uint32_t i = 0; i < policy->n_rules && l.left != 0; i++) {
		struct load_rule *rule = &policy->rules[i];
		uint32_t n = rule->deny ? rule->n_patterns : 0;
		look_at_rule(&l, rule, route);
		for (uint32_t k = 0; l.has_git && k < rule->n_patterns; k++)
			look_at_door(&l, route + k);
		for (uint32_t k = 0; !rule->hidden && k < n; k++)
			look_at_deny(&l, route + k);
		route += rule->n_patterns;
	}
	if (l.left == 0)
		load_warn(report, policy->at,
		    "too many rules to look for hidden ones in all of them");
	free(l.wild);
	free(l.segments);
}
