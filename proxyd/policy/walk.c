/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/walk.h"
#include "base/limits.h"
#include "policy/gitrule.h"
#include "policy/heads.h"
#include "policy/inside.h"
#include "policy/method.h"
#include "policy/pathglob.h"
#include "policy/policy.h"
#include "policy/querycond.h"
#include "wire/urlpath.h"

static void
begin(struct walk *w, const struct image *m, const struct facts *f)
{
	w->m = m;
	w->f = m->timed ? f : NULL;
	w->n = 0;
	w->plain = false;
}

static void
add_list(struct walk *w, uint32_t at, uint32_t end, bool deny_only)
{
	w->lists[w->n].at = at;
	w->lists[w->n].end = end;
	w->lists[w->n].deny_only = deny_only;
	w->n++;
	w->plain = w->n == 1 && w->f == NULL && !deny_only;
}

void
walk_init(struct walk *w, const struct image *m,
    const struct host_matches *found, const struct facts *f)
{
	begin(w, m, f);
	for (uint32_t i = 0; i < found->n; i++) {
		const uint8_t *host =
		    image_record(m, TABLE_HOSTS, found->at[i].host);
		uint32_t at = image_at(host, HOST_LIST);
		add_list(w, at, at + image_at(host, HOST_N_LIST),
		    found->at[i].deny_only);
	}
}

void
walk_init_heads(struct walk *w, const struct image *m,
    const struct host_matches *found, const struct facts *f)
{
	begin(w, m, f);
	for (uint32_t i = 0; i < found->n; i++) {
		struct heads_range heads = heads_of(m, found->at[i].host);
		add_list(w, heads.at, heads.end, found->at[i].deny_only);
	}
}

/* The first place from `at` on with a route of at least that number. */
static uint32_t
find_route(const struct image *m, uint32_t at, uint32_t end, uint32_t route)
{
	while (at < end) {
		uint32_t mid = at + (end - at) / 2;
		if (image_word(m, TABLE_LISTS, mid, 0) < route)
			at = mid + 1;
		else
			end = mid;
	}
	return at;
}

/* The routes of a rule have numbers in a row. */
void
walk_init_rule(struct walk *w, const struct image *m,
    const struct host_matches *found, const struct facts *f, uint32_t rule)
{
	uint32_t first = image_word(m, TABLE_RULES, rule, RULE_ROUTES);
	uint32_t last = first + image_word(m, TABLE_RULES, rule, RULE_N_ROUTES);

	walk_init(w, m, found, f);
	for (uint32_t i = 0; i < w->n; i++) {
		uint32_t at = w->lists[i].at, end = w->lists[i].end;
		w->lists[i].at = find_route(m, at, end, first);
		w->lists[i].end = find_route(m, at, end, last);
	}
}

bool
walk_has_expired(const struct image *m, uint32_t rule, uint64_t now_s)
{
	uint32_t flags = image_word(m, TABLE_RULES, rule, RULE_FLAG_BITS);

	/* Most rules do not: what stands behind is not looked at. */
	return (flags & RULE_EXPIRES) != 0 &&
	    (now_s == 0 ||
		now_s >= image_size(m, TABLE_RULES, rule, RULE_UNTIL));
}

static uint32_t
flags_of(const struct image *m, uint32_t route)
{
	uint32_t rule = image_word(m, TABLE_ROUTES, route, ROUTE_RULE);

	return image_word(m, TABLE_RULES, rule, RULE_FLAG_BITS);
}

static enum scheme
scheme_of(const struct image *m, uint32_t route)
{
	return (enum scheme)image_word(m, TABLE_ROUTES, route, ROUTE_SCHEME);
}

bool
walk_is_deny(const struct image *m, uint32_t route)
{
	return (flags_of(m, route) & RULE_DENY) != 0;
}

bool
walk_is_report(const struct image *m, uint32_t route)
{
	return (flags_of(m, route) & RULE_REPORT) != 0;
}

/* Routes are numbered in the order of the file: the lowest is the next. */
static uint32_t
take_lowest(struct walk *w, bool *deny_only)
{
	uint32_t best = IMAGE_NONE, from = 0;

	for (uint32_t i = 0; i < w->n; i++) {
		if (w->lists[i].at == w->lists[i].end)
			continue;
		uint32_t route =
		    image_word(w->m, TABLE_LISTS, w->lists[i].at, 0);
		if (best == IMAGE_NONE || route < best) {
			best = route;
			from = i;
		}
	}
	if (best != IMAGE_NONE) {
		w->lists[from].at++;
		*deny_only = w->lists[from].deny_only;
	}
	return best;
}

uint32_t
walk_next_of_several(struct walk *w)
{
	for (;;) {
		bool deny_only = false;
		uint32_t route = take_lowest(w, &deny_only);
		if (route == IMAGE_NONE)
			return route;
		if (w->f != NULL &&
		    walk_has_expired(w->m,
			image_word(w->m, TABLE_ROUTES, route, ROUTE_RULE),
			w->f->now_s))
			continue;
		if (!deny_only || walk_is_deny(w->m, route))
			return route;
	}
}

bool
walk_is_total(const struct image *m, uint32_t route)
{
	const uint32_t want = RULE_DENY | RULE_ANY_METHOD;
	uint32_t flags = flags_of(m, route);

	/* A connection for other requests may still be wanted. */
	if (scheme_of(m, route) != scheme_below(scheme_of(m, route)))
		return false;
	return (flags & (want | RULE_QUERY)) == want &&
	    slice_eq(image_string(m, TABLE_ROUTES, route, ROUTE_PATH_S),
		SLICE("/\x02"));
}

enum scheme
walk_kind(const struct image *m, const struct host_matches *found,
    uint16_t port)
{
	struct walk w;

	walk_init_heads(&w, m, found, NULL);
	for (uint32_t r = walk_next(&w); r != IMAGE_NONE; r = walk_next(&w))
		if (image_word(m, TABLE_ROUTES, r, ROUTE_PORT) == port)
			return scheme_kind(scheme_of(m, r));
	return SCHEME_HTTPS;
}

static inline enum progress
connect_at(const uint8_t *route, const struct facts *f)
{
	if (f->port != 0 && image_at(route, ROUTE_PORT) != f->port)
		return PROGRESS_HOST;
	if (scheme_below((enum scheme)image_at(route, ROUTE_SCHEME)) !=
	    f->scheme)
		return PROGRESS_PORT;
	return PROGRESS_SCHEME;
}

enum progress
walk_connect(const struct image *m, uint32_t route, const struct facts *f)
{
	return connect_at(image_record(m, TABLE_ROUTES, route), f);
}

enum progress
walk_request(const struct image *m, uint32_t route,
    const struct walk_request *r)
{
	const uint8_t *here = image_record(m, TABLE_ROUTES, route);
	enum progress come = connect_at(here, r->facts);
	enum scheme scheme = (enum scheme)image_at(here, ROUTE_SCHEME);
	uint32_t rule = image_at(here, ROUTE_RULE);
	struct slice key;

	if (come != PROGRESS_SCHEME)
		return come;
	if (scheme == SCHEME_GIT)
		return gitrule_walk(m, route, r);
	/* Most of a host's rules are for another path, and whatever else they
	 * say: the rule itself is not looked at, a cache line less of each. */
	bool matches =
	    pathglob_match(image_text(m, here, ROUTE_PATH_S), r->path);
	if (!matches && !r->facts->upgrade && !scheme_is_upgrade(scheme))
		return PROGRESS_SCHEME;
	uint32_t flags = image_word(m, TABLE_RULES, rule, RULE_FLAG_BITS);
	bool deny = (flags & RULE_DENY) != 0;
	if (r->git.named && !deny)
		return PROGRESS_SCHEME;
	/* What denies requests denies those that ask for an upgrade, too. */
	bool asks = r->facts->upgrade;
	if (scheme_is_upgrade(scheme) ? !asks : asks && !deny)
		return PROGRESS_PORT;
	if (!deny && r->encoded_slash &&
	    ((flags & RULE_ENCODED_SLASH) == 0 || r->encoded_dots))
		return PROGRESS_SCHEME;
	if (!matches)
		return PROGRESS_SCHEME;
	if ((flags & RULE_ANY_METHOD) == 0 &&
	    (image_word(m, TABLE_RULES, rule, RULE_METHODS) & r->method) == 0)
		return PROGRESS_PATH;
	if (!querycond_match(m, rule, r->facts->query, &key))
		return PROGRESS_METHOD;
	if (!deny && r->is_door &&
	    !gitapi_is_opened(image_text(m, here, ROUTE_PATH_S),
		r->door.segment))
		return PROGRESS_QUERY;
	return PROGRESS_ALL;
}

static bool
has_encoded_slash(struct slice path)
{
	const uint8_t *p = path.p;
	const uint8_t *end = path.p + path.n;

	while (p != NULL && p < end) {
		p = memchr(p, '%', (size_t)(end - p));
		if (p == NULL || end - p < 3)
			return false;
		if (p[1] == '2' && p[2] == 'F')
			return true;
		p++;
	}
	return false;
}

void
walk_prepare(struct walk_request *r, const struct facts *f, uint8_t *folded)
{
	struct urlpath path = { 0 };
	struct parse_fail fail;

	*r = (struct walk_request){ .facts = f,
		.method = method_bit(f->method) };
	/* Over HTTP/2 a CONNECT opens a WebSocket (RFC 8441 4), else a GET. */
	if (f->upgrade && slice_eq(f->method, SLICE("CONNECT")))
		r->method = METHOD_BIT(METHOD_GET);
	if (f->path.n > LIMIT_PATH_SIZE)
		return; /* longer than any canonical path: matches nothing */
	r->encoded_slash = has_encoded_slash(f->path);
	if (r->encoded_slash)
		r->encoded_dots = urlpath_canon(f->path, LIMIT_PATH_SIZE,
				      folded, &path, &fail) != PARSE_DONE ||
		    path.has_encoded_dots;
	r->path = pathglob_fold(f->path, folded);
}

bool
policy_judges_value(const struct program *p, struct slice host,
    struct slice key)
{
	struct host_matches found;
	struct walk w;

	hostset_match(&p->image, host, &found);
	walk_init_heads(&w, &p->image, &found, NULL);
	for (uint32_t r = walk_next(&w); r != IMAGE_NONE; r = walk_next(&w)) {
		uint32_t rule =
		    image_word(&p->image, TABLE_ROUTES, r, ROUTE_RULE);
		if (querycond_judges_value(&p->image, rule, key))
			return true;
		if (scheme_of(&p->image, r) == SCHEME_GIT &&
		    slice_eq(key, SLICE("service")))
			return true;
	}
	return false;
}

bool
policy_may_upgrade(const struct program *p, struct slice host, uint16_t port)
{
	struct host_matches found;
	struct walk w;

	hostset_match(&p->image, host, &found);
	walk_init_heads(&w, &p->image, &found, NULL);
	for (uint32_t r = walk_next(&w); r != IMAGE_NONE; r = walk_next(&w))
		if (!walk_is_deny(&p->image, r) &&
		    scheme_is_upgrade(scheme_of(&p->image, r)) &&
		    image_word(&p->image, TABLE_ROUTES, r, ROUTE_PORT) == port)
			return true;
	return false;
}
