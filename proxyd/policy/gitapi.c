/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/gitapi.h"
#include "base/ascii.h"
#include "base/attr.h"
#include "base/limits.h"
#include "base/wr.h"
#include "policy/pathglob.h"

#define DEPTH 5 /* segments behind the repository that are looked at */

/* Hosts of APIs that are not those of the repositories. */
static const struct {
	const char *api, *host;
} hosts[] = {
	{ "api.github.com", "github.com" },
	{ "uploads.github.com", "github.com" },
	{ "api.bitbucket.org", "bitbucket.org" },
};

/* Where an API begins, and how many segments name a repository there. */
static const struct root {
	enum git_forge forge;
	bool own_host; /* the API has one: the table above */
	const char *path;
	unsigned n; /* 0: it is one segment, a number or OWNER%2FNAME */
	bool by_number;
} roots[] = {
	{ FORGE_GITHUB, true, "/repos/", 2, false },
	{ FORGE_GITHUB, true, "/repositories/", 0, true },
	{ FORGE_GITHUB, false, "/api/v3/repos/", 2, false },
	{ FORGE_GITHUB, false, "/api/v3/repositories/", 0, true },
	{ FORGE_GITHUB, false, "/api/uploads/repos/", 2, false },
	{ FORGE_GITHUB, false, "/api/uploads/repositories/", 0, true },
	{ FORGE_GITLAB, false, "/api/v4/projects/", 0, false },
	{ FORGE_GITLAB, false, "/api/v4/suggestions/", 0, true },
	{ FORGE_FORGEJO, false, "/api/v1/repos/", 2, false },
	{ FORGE_FORGEJO, false, "/api/v1/repositories/", 0, true },
	{ FORGE_BITBUCKET, true, "/2.0/repositories/", 2, false },
};

/* GraphQL: what is in the body only a parser of it could say. */
static const struct {
	enum git_forge forge;
	bool own_host;
	const char *path;
} graphs[] = {
	{ FORGE_GITHUB, true, "/graphql" },
	{ FORGE_GITHUB, false, "/api/graphql" },
	{ FORGE_GITLAB, false, "/api/graphql" },
};

/*
 * Segments behind a repository, anywhere in the first few, under which
 * something is written that moves refs, runs CI or lets others in.  GitHub
 * merges the default branch into what is deployed, unless it is told not to;
 * GitLab takes a line such as `/merge` in a note for a command.
 */
static const char *const github[] = { "contents", "git", "merges",
	"merge-upstream", "merge", "update-branch", "rename", "protection",
	"releases", "forks", "transfer", "keys", "hooks", "actions",
	"dispatches", "rulesets", "collaborators", "import", "pages",
	"environments", "autolinks", "generate", "autofix", "deployments",
	"codespaces", "invitations", NULL };
static const char *const gitlab[] = { "commits", "files", "branches", "tags",
	"merged_branches", "merge", "rebase", "remote_mirrors", "deploy_keys",
	"deploy_tokens", "hooks", "protected_branches", "protected_tags",
	"fork", "pipeline", "pipelines", "trigger", "triggers", "variables",
	"jobs", "releases", "push_rule", "members", "access_tokens", "approve",
	"transfer", "import", "mirror", "submodules", "integrations",
	"services", "changelog", "merge_trains", "pipeline_schedules",
	"runners", "job_token_scope", "share", "invitations", "wikis", "notes",
	"discussions", "draft_notes", "apply", NULL };
static const char *const forgejo[] = { "contents", "branches", "tags", "git",
	"merge", "update", "push_mirrors", "mirror-sync", "releases", "keys",
	"hooks", "forks", "transfer", "branch_protections", "tag_protections",
	"actions", "diffpatch", "collaborators", "wiki", "generate",
	"merge-upstream", "sync_fork", "teams", NULL };
static const char *const bitbucket[] = { "src", "refs", "merge", "hooks",
	"deploy-keys", "forks", "pipelines", "pipelines_config",
	"branch-restrictions", "branching-model", "permissions-config",
	"downloads", "environments", NULL };

static const char *const *const doors[FORGES] = {
	[FORGE_GITHUB] = github,
	[FORGE_GITLAB] = gitlab,
	[FORGE_FORGEJO] = forgejo,
	[FORGE_BITBUCKET] = bitbucket,
};

/* Behind the repository: where a ref stands, and what its name begins with. */
static const struct {
	enum git_forge forge;
	const char *path, *refs;
} refs[] = {
	{ FORGE_GITHUB, "git/refs/", "refs/" },
	{ FORGE_GITLAB, "repository/branches/", "refs/heads/" },
	{ FORGE_GITLAB, "repository/tags/", "refs/tags/" },
	{ FORGE_FORGEJO, "branches/", "refs/heads/" },
	{ FORGE_FORGEJO, "tags/", "refs/tags/" },
	{ FORGE_BITBUCKET, "refs/branches/", "refs/heads/" },
	{ FORGE_BITBUCKET, "refs/tags/", "refs/tags/" },
};

static bool
begins(struct slice s, struct slice with)
{
	return ascii_eq_fold(slice_first(s, with.n), with);
}

/* Up to the next slash, off the front, and the slash. */
static struct slice
take_segment(struct slice *rest)
{
	size_t n = 0;

	while (n < rest->n && rest->p[n] != '/')
		n++;
	struct slice segment = slice_first(*rest, n);
	*rest = slice_from(*rest, n + 1);
	return segment;
}

static bool
has_slash_at(struct slice s, size_t i)
{
	return s.p[i] == '/' ||
	    (s.p[i] == '%' && slice_has_prefix(slice_from(s, i), SLICE("%2F")));
}

/* As take_segment(), where a slash that is escaped is one, too: some servers
 * decode it before they look. */
static struct slice
take_part(struct slice *rest)
{
	size_t n = 0;

	while (n < rest->n && !has_slash_at(*rest, n))
		n++;
	struct slice part = slice_first(*rest, n);
	*rest =
	    slice_from(*rest, n + (n < rest->n && rest->p[n] == '%' ? 3 : 1));
	return part;
}

static bool
has_escaped_slash(struct slice s)
{
	while (s.n != 0 && (s.p[0] == '/' || !has_slash_at(s, 0)))
		s = slice_from(s, 1);
	return s.n != 0;
}

/* GitLab takes `commits.json` for `commits`: no door has a dot in its name, nor
 * a parameter. */
static struct slice
without_suffix(struct slice part)
{
	size_t n = 0;

	while (n < part.n && part.p[n] != '.' && part.p[n] != ';')
		n++;
	return slice_first(part, n);
}

/* Few begin as it does: the others are not measured. */
static bool
is_door(struct slice part, const char *door)
{
	return part.n != 0 && ascii_lower(part.p[0]) == (uint8_t)door[0] &&
	    ascii_eq_fold(part, slice_of_str(door));
}

/* Which of the forge's doors the rest of the path goes by. */
static bool
find_door(enum git_forge forge, struct slice rest, struct slice *segment)
{
	for (unsigned i = 0; i < DEPTH && rest.n != 0; i++) {
		struct slice part = without_suffix(take_part(&rest));
		for (const char *const *d = doors[forge]; *d != NULL; d++)
			if (is_door(part, *d)) {
				*segment = part;
				return true;
			}
	}
	return false;
}

bool
gitapi_only_reads(struct slice method)
{
	return slice_eq(method, SLICE("GET")) ||
	    slice_eq(method, SLICE("HEAD")) ||
	    slice_eq(method, SLICE("OPTIONS"));
}

static bool
is_number(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (!ascii_is_digit(s.p[i]))
			return false;
	return true;
}

/* Behind the root: the repository, and what is done with it. */
static bool
read_root(const struct root *root, struct slice path, struct gitapi *g)
{
	struct slice all = slice_from(path, strlen(root->path) - 1);
	struct slice rest = slice_from(all, 1);
	size_t before = rest.n;

	for (unsigned i = 0; i < (root->n == 0 ? 1 : root->n); i++)
		(void)take_segment(&rest);
	size_t n = before - rest.n + (rest.n == 0 ? 1 : 0);
	g->repository = slice_first(all, n);
	if (g->repository.p[n - 1] == '/' && n > 1)
		g->repository = slice_first(all, n - 1);
	g->segment = slice_first(all, 0);
	g->behind = rest;
	struct slice name = slice_from(g->repository, 1);
	struct slice first = take_part(&name);
	if (root->by_number || (root->n == 0 && is_number(first)))
		g->repository = slice_first(all, 0);
	/* No owner and no name has a slash: any door may stand behind it. */
	if (root->n == 2 && has_escaped_slash(g->repository)) {
		g->repository = slice_first(all, 0);
		return true;
	}
	/* The repository itself: its default branch, its name, its end. */
	return rest.n == 0 || find_door(root->forge, rest, &g->segment);
}

struct slice
gitapi_host(struct slice api)
{
	for (size_t i = 0; i < COUNT_OF(hosts); i++)
		if (slice_eq_str(api, hosts[i].api))
			return slice_of_str(hosts[i].host);
	return api;
}

bool
gitapi_read(enum git_forge forge, struct slice host, struct slice api,
    struct slice method, struct slice path, struct gitapi *g)
{
	bool own = !slice_eq(host, api);

	if (gitapi_only_reads(method))
		return false;
	*g = (struct gitapi){ .repository = slice_first(path, 0),
		.forge = forge };
	for (size_t i = 0; i < COUNT_OF(graphs); i++)
		if (graphs[i].forge == forge && graphs[i].own_host == own &&
		    begins(path, slice_of_str(graphs[i].path))) {
			g->segment = SLICE("graphql");
			return true;
		}
	for (size_t i = 0; i < COUNT_OF(roots); i++)
		if (roots[i].forge == forge && roots[i].own_host == own &&
		    begins(path, slice_of_str(roots[i].path)))
			return read_root(&roots[i], path, g);
	return false;
}

bool
gitapi_deletes(const struct gitapi *g, const struct facts *f, uint8_t *room,
    struct slice *ref)
{
	struct wr w = wr_of(room, LIMIT_PATH_SIZE);
	struct slice name = { 0 };
	size_t i = 0;

	/* A forge may take `branch=` of a query for what the path says. */
	if (!slice_eq(f->method, SLICE("DELETE")) || f->has_query)
		return false;
	while (i < COUNT_OF(refs) &&
	    (refs[i].forge != g->forge ||
		!slice_has_prefix(g->behind, slice_of_str(refs[i].path))))
		i++;
	if (i == COUNT_OF(refs))
		return false;
	name = slice_from(g->behind, strlen(refs[i].path));
	wr_bytes(&w, slice_of_str(refs[i].refs));
	while (name.n != 0) {
		bool slash = slice_has_prefix(name, SLICE("%2F"));
		wr_u8(&w, slash ? '/' : name.p[0]);
		name = slice_from(name, slash ? 3 : 1);
	}
	*ref = wr_slice(&w);
	return !w.bad;
}

bool
gitapi_is_opened(struct slice pattern, struct slice segment)
{
	struct slice rest = slice_from(pattern, 1);
	bool stars = false;

	while (rest.n != 0) {
		struct slice part = take_segment(&rest);
		if (segment.n != 0 && ascii_eq_fold(part, segment))
			return true;
		for (size_t i = 0; i < part.n; i++)
			stars = stars || part.p[i] == PATHGLOB_STAR ||
			    part.p[i] == PATHGLOB_DOUBLE;
	}
	return !stars;
}

bool
gitapi_is_door(struct slice pattern)
{
	struct slice rest = slice_from(pattern, 1), segment;

	while (rest.n != 0) {
		struct slice one = take_segment(&rest);
		if (ascii_eq_fold(one, SLICE("graphql")))
			return true;
		for (unsigned forge = 0; forge < FORGES; forge++)
			if (doors[forge] != NULL &&
			    find_door((enum git_forge)forge, one, &segment))
				return true;
	}
	return gitapi_is_opened(pattern, slice_first(pattern, 0));
}
