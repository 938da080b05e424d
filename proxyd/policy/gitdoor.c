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

/* A name's rules of git+https, and a request to its forge's API. */
struct door {
	const struct image *m;
	const struct facts *f;
	struct slice host;
	const struct host_matches *found; /* borrowed: of the host */
	enum git_forge known;		  /* of the host itself, or FORGES */
	enum git_forge forge;		  /* that is asked about */
	bool any; /* it may be of any repository, else of that: */
	struct walk_git named;
};

static bool
is_git(const struct image *m, uint32_t route)
{
	return image_word(m, TABLE_ROUTES, route, ROUTE_SCHEME) == SCHEME_GIT;
}

static uint32_t
record_of(const struct image *m, uint32_t route)
{
	uint32_t rule = image_word(m, TABLE_ROUTES, route, ROUTE_RULE);

	return image_word(m, TABLE_RULES, rule, RULE_GIT);
}

/* A rule that allows, of the forge that is asked about. */
static bool
is_of_forge(const struct door *d, uint32_t route)
{
	uint32_t git = record_of(d->m, route);

	if (git == IMAGE_NONE)
		return false;
	/* A rule with a wildcard says nothing of forges, and covers some. */
	return d->known != FORGES ||
	    image_word(d->m, TABLE_GIT, git, GIT_FORGE) == d->forge;
}

static bool
denies_or_pushes(const struct door *d, uint32_t route)
{
	uint32_t git = record_of(d->m, route);

	return git == IMAGE_NONE ||
	    (image_word(d->m, TABLE_GIT, git, GIT_FLAG_BITS) & GIT_PUSH) != 0;
}

/* The first before `best`, of that port, that counts and names it; or `best`. */
static uint32_t
first_named(const struct door *d, uint16_t port,
    bool (*counts)(const struct door *, uint32_t), uint32_t best)
{
	COUNTED struct seek s;

	seek_init(&s, d->m, d->found, d->f, port);
	gitrule_seek(&s, &d->named);
	for (uint32_t i = seek_next(&s); i != IMAGE_NONE; i = seek_next(&s))
		if (i < best && is_git(d->m, i) && counts(d, i) &&
		    gitrule_names(d->m, i, &d->named))
			best = i;
	return best;
}

/* The first of all ports, or IMAGE_NONE. */
static uint32_t
first_of_git(const struct door *d,
    bool (*counts)(const struct door *, uint32_t))
{
	uint32_t best = IMAGE_NONE, before = UINT32_MAX;
	COUNTED struct walk w;

	walk_init_heads(&w, d->m, d->found, d->f);
	for (uint32_t i = walk_next(&w); i != IMAGE_NONE; i = walk_next(&w)) {
		uint32_t port = image_word(d->m, TABLE_ROUTES, i, ROUTE_PORT);
		if (!is_git(d->m, i))
			continue;
		if (d->any && i < best && counts(d, i))
			best = i; /* a head is the first of its sort */
		else if (!d->any && port != before)
			best = first_named(d, (uint16_t)port, counts, best);
		before = port;
	}
	return best;
}

/* Which repository the door is of, by its name in lower case, into `room`. */
static void
read_name(struct door *d, const struct gitapi *api, uint8_t *room)
{
	struct slice plain = { 0 };

	d->any = api->repository.n == 0 ||
	    !plain_name(api->repository, room, &plain);
	/* Every forge takes both cases for one. */
	d->named =
	    (struct walk_git){ .bare = plain, .lowered = plain, .folds = true };
}

/* Bits of those forges that some rule of git+https of the host is of. */
static uint32_t
forges_of(struct door *d)
{
	uint32_t forges = 0;
	COUNTED struct walk w;

	walk_init_heads(&w, d->m, d->found, d->f);
	for (uint32_t i = walk_next(&w); i != IMAGE_NONE; i = walk_next(&w)) {
		uint32_t git =
		    is_git(d->m, i) ? record_of(d->m, i) : IMAGE_NONE;
		if (git == IMAGE_NONE)
			continue;
		forges |= 1U << (d->known != FORGES ?
				  (uint32_t)d->known :
				  image_word(d->m, TABLE_GIT, git, GIT_FORGE));
	}
	return forges;
}

/* Of each forge that the host may be: the first rule that it leads past. */
static void
find_door(struct walk_request *r, struct door *d, uint8_t *room)
{
	const struct facts *f = d->f;
	uint32_t best = IMAGE_NONE, forges = forges_of(d);

	for (unsigned i = FORGE_NONE; i < FORGES; i++) {
		struct gitapi api;
		d->forge = (enum git_forge)i;
		if ((forges & 1U << i) == 0 ||
		    !gitapi_read(d->forge, d->host, f->host, f->method, f->path,
			&api))
			continue;
		read_name(d, &api, room);
		uint32_t route = first_of_git(d, is_of_forge);
		if (route >= best)
			continue;
		best = route;
		r->door = api;
		r->is_door = true;
	}
}

/*
 * `api: follow`: may the ref be deleted by the rule that a push would be of,
 * which is the first that names the repository and grants a push?
 */
static bool
is_followed(const struct walk_request *r, struct door *d, uint8_t *room)
{
	struct git_command c = { .kind = GIT_COMMAND_DELETE };

	/* Most doors delete nothing: no rule is looked for then. */
	if (r->door.repository.n == 0 ||
	    !gitapi_deletes(&r->door, d->f, room, &c.ref))
		return false;
	read_name(d, &r->door, room); /* in the room of the ref */
	uint32_t route = first_of_git(d, denies_or_pushes);
	if (route == IMAGE_NONE || record_of(d->m, route) == IMAGE_NONE)
		return false;
	uint32_t git = record_of(d->m, route);
	return (image_word(d->m, TABLE_GIT, git, GIT_FLAG_BITS) &
		   GIT_API_FOLLOW) != 0 &&
	    gitapi_deletes(&r->door, d->f, room, &c.ref) &&
	    gitrule_command(d->m,
		image_word(d->m, TABLE_ROUTES, route, ROUTE_RULE),
		&c) == REASON_ALLOW;
}

void
walk_prepare_door(struct walk_request *r, const struct image *m,
    const struct host_matches *found, uint8_t *room)
{
	struct door d = { .m = m, .f = r->facts, .found = found };
	COUNTED struct host_matches of_host;

	if (r->facts->path.n > LIMIT_PATH_SIZE ||
	    gitapi_only_reads(r->facts->method))
		return;
	d.host = gitapi_host(r->facts->host);
	d.known = git_forge_of_host(d.host);
	/* Most forges have their API where the repositories are. */
	if (!slice_eq(d.host, r->facts->host)) {
		hostset_match(m, d.host, &of_host);
		d.found = &of_host;
	}
	find_door(r, &d, room);
	if (r->is_door && is_followed(r, &d, room))
		r->is_door = false;
}
