/* SPDX-License-Identifier: Apache-2.0 */
#include "base/ascii.h"
#include "base/limits.h"
#include "policy/git.h"
#include "policy/gitrule.h"
#include "policy/pathglob.h"

/*
 * The name as rules have it, into `out`: the slash between owner and repository
 * may be an escape there.  False: an escape is left, so it may be any name.
 */
static bool
plain_name(struct slice name, uint8_t *out, struct slice *plain)
{
	struct slice folded = pathglob_fold(name, out);
	size_t n = 0;

	for (size_t i = 0; i < folded.n; i++) {
		uint8_t c = folded.p[i];
		if (c == '%' && folded.n - i >= 3 && folded.p[i + 1] == '2' &&
		    folded.p[i + 2] == 'F') {
			c = '/';
			i += 2;
		}
		if (c == '%')
			return false;
		out[n++] = ascii_lower(c);
	}
	*plain = gitpath_bare(slice_of(out, n));
	return true;
}

/* Of a route of git+https: does it name the repository of the door? */
static bool
is_named(const struct walk_request *r, const struct image *m, uint32_t route,
    uint8_t *room)
{
	/* Every forge takes both cases for one. */
	struct walk_git named = { .folds = true };

	return r->door.repository.n == 0 ||
	    !plain_name(r->door.repository, room, &named.lowered) ||
	    gitrule_names(m, route, &named);
}

/* Does the route's rule, of a forge, name the repository of the request? */
static bool
is_door_of(struct walk_request *r, const struct image *m, uint32_t route,
    struct slice host, uint8_t *room)
{
	const struct facts *f = r->facts;
	uint32_t rule = image_word(m, TABLE_ROUTES, route, ROUTE_RULE);
	uint32_t git = image_word(m, TABLE_RULES, rule, RULE_GIT);

	if (git == IMAGE_NONE)
		return false;
	/* A rule with a wildcard says nothing of forges, and covers some. */
	enum git_forge forge = git_forge_of_host(host);
	if (forge == FORGES)
		forge =
		    (enum git_forge)image_word(m, TABLE_GIT, git, GIT_FORGE);
	return gitapi_read(forge, host, f->host, f->method, f->path,
		   &r->door) &&
	    is_named(r, m, route, room);
}

static bool
is_git(const struct image *m, uint32_t route)
{
	return image_word(m, TABLE_ROUTES, route, ROUTE_SCHEME) == SCHEME_GIT;
}

/*
 * `api: follow`: may the ref be deleted by the rule that a push would be of,
 * which is the first that names the repository and grants a push?
 */
static bool
is_followed(const struct walk_request *r, const struct image *m,
    const struct host_matches *found, uint8_t *room)
{
	struct git_command c = { .kind = GIT_COMMAND_DELETE };
	struct walk w;

	if (r->door.repository.n == 0)
		return false;
	walk_init(&w, m, found, r->facts);
	for (uint32_t i = walk_next(&w); i != IMAGE_NONE; i = walk_next(&w)) {
		uint32_t rule = image_word(m, TABLE_ROUTES, i, ROUTE_RULE);
		uint32_t git = image_word(m, TABLE_RULES, rule, RULE_GIT);
		if (!is_git(m, i) || !is_named(r, m, i, room))
			continue;
		if (git == IMAGE_NONE) /* it denies */
			return false;
		uint32_t flags = image_word(m, TABLE_GIT, git, GIT_FLAG_BITS);
		if ((flags & GIT_PUSH) != 0)
			return (flags & GIT_API_FOLLOW) != 0 &&
			    gitapi_deletes(&r->door, r->facts, room, &c.ref) &&
			    gitrule_command(m, rule, &c) == REASON_ALLOW;
	}
	return false;
}

void
walk_prepare_door(struct walk_request *r, const struct image *m, uint8_t *room)
{
	struct slice host = gitapi_host(r->facts->host);
	struct host_matches found;
	struct walk w;

	if (r->facts->path.n > LIMIT_PATH_SIZE)
		return;
	hostset_match(m, host, &found);
	walk_init(&w, m, &found, r->facts);
	for (uint32_t i = walk_next(&w); i != IMAGE_NONE && !r->is_door;
	     i = walk_next(&w))
		r->is_door = is_git(m, i) && is_door_of(r, m, i, host, room);
	if (r->is_door && is_followed(r, m, &found, room))
		r->is_door = false;
}
