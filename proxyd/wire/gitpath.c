/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/gitpath.h"
#include "base/ascii.h"

#define REFS SLICE("/info/refs")
#define LFS SLICE("/info/lfs/")
#define GITLAB_LFS SLICE("/gitlab-lfs/")
#define LFS_OID ((size_t)64) /* hex digits: sha256 */
#define DOT_GIT SLICE(".git")
#define FETCH_QUERY SLICE("service=git-upload-pack")
#define PUSH_QUERY SLICE("service=git-receive-pack")

static const struct {
	const char *name; /* the last segment of its path */
	enum gitpath_service service;
} services[] = {
	{ "/git-upload-pack", GITPATH_FETCH },
	{ "/git-receive-pack", GITPATH_PUSH },
	{ "/git-upload-archive", GITPATH_ARCHIVE },
};

static bool
begins(struct slice s, struct slice with)
{
	return ascii_eq_fold(slice_first(s, with.n), with);
}

static struct slice
last_segment(struct slice path)
{
	size_t at = path.n;

	while (at > 0 && path.p[at - 1] != '/')
		at--;
	return slice_from(path, at == 0 ? 0 : at - 1);
}

static struct slice
without(struct slice path, size_t n)
{
	return slice_first(path, path.n - n);
}

/* `info/refs`: what the query asks for. */
static void
read_refs(const struct gitpath_request *r, struct gitpath *g)
{
	g->repository = without(r->path, REFS.n);
	g->service = GITPATH_OTHER;
	g->discover = true;
	if (!slice_eq(r->method, SLICE("GET")) || !r->has_query ||
	    !slice_eq(slice_from(r->path, g->repository.n), REFS))
		return;
	if (slice_eq(r->query, FETCH_QUERY))
		g->service = GITPATH_FETCH;
	else if (slice_eq(r->query, PUSH_QUERY))
		g->service = GITPATH_PUSH;
}

/* The service itself, by its name alone; with anything behind it, another. */
static bool
read_service(const struct gitpath_request *r, struct gitpath *g)
{
	struct slice last = last_segment(r->path);

	for (size_t i = 0; i < COUNT_OF(services); i++) {
		if (!begins(last, slice_of_str(services[i].name)))
			continue;
		bool exact = slice_eq_str(last, services[i].name) &&
		    slice_eq(r->method, SLICE("POST")) && !r->has_query;
		g->service = exact ? services[i].service : GITPATH_OTHER;
		g->repository = without(r->path, last.n);
		return true;
	}
	return false;
}

static bool
is_oid(struct slice s)
{
	for (size_t i = 0; i < s.n; i++)
		if (ascii_hex(s.p[i]) < 0 || s.p[i] != ascii_lower(s.p[i]))
			return false;
	return s.n == LFS_OID;
}

/* Behind an object's id: nothing, or a size or a name. */
static bool
is_tail(struct slice s)
{
	return s.n == 0 ||
	    (s.n > 1 && s.p[0] == '/' &&
		memchr(s.p + 1, '/', s.n - 1) == NULL &&
		memchr(s.p, '%', s.n) == NULL);
}

/* `what` stands behind `info/lfs/`, or what GitLab has for it. */
static enum gitpath_lfs
lfs_of(const struct gitpath_request *r, struct slice what)
{
	const struct slice objects = SLICE("objects/");
	struct slice object = slice_from(what, objects.n);
	bool post = slice_eq(r->method, SLICE("POST"));

	if (r->has_query)
		return GITPATH_LFS_OTHER;
	if (post && slice_eq(what, SLICE("objects/batch")))
		return GITPATH_LFS_BATCH;
	if (post && slice_eq(what, SLICE("verify")))
		return GITPATH_LFS_VERIFY;
	if (!slice_has_prefix(what, objects) ||
	    !is_oid(slice_first(object, LFS_OID)) ||
	    !is_tail(slice_from(object, LFS_OID)))
		return GITPATH_LFS_OTHER;
	if (slice_eq(r->method, SLICE("GET")))
		return GITPATH_LFS_DOWNLOAD;
	return slice_eq(r->method, SLICE("PUT")) ? GITPATH_LFS_UPLOAD :
						   GITPATH_LFS_OTHER;
}

static bool
read_lfs(const struct gitpath_request *r, struct gitpath *g)
{
	for (size_t i = 0; i + LFS.n <= r->path.n; i++) {
		if (!begins(slice_from(r->path, i), LFS))
			continue;
		g->repository = slice_first(r->path, i);
		g->service = slice_has_prefix(slice_from(r->path, i), LFS) ?
		    GITPATH_LFS :
		    GITPATH_OTHER;
		if (g->service == GITPATH_LFS)
			g->lfs = lfs_of(r, slice_from(r->path, i + LFS.n));
		return true;
	}
	return false;
}

/* Whatever lies below a segment that ends in ".git". */
static bool
read_below(const struct gitpath_request *r, struct gitpath *g)
{
	for (size_t i = DOT_GIT.n + 1; i < r->path.n; i++) {
		if (r->path.p[i] != '/' ||
		    !begins(slice_from(r->path, i - DOT_GIT.n), DOT_GIT))
			continue;
		struct slice below = slice_from(r->path, i);
		g->repository = slice_first(r->path, i);
		g->service = GITPATH_OTHER;
		if (!slice_has_prefix(below, GITLAB_LFS))
			return true;
		g->service = GITPATH_LFS;
		g->lfs = lfs_of(r, slice_from(below, GITLAB_LFS.n));
		return true;
	}
	return false;
}

enum parse
gitpath_read(const struct gitpath_request *r, struct gitpath *g,
    struct parse_fail *fail)
{
	size_t refs = r->path.n < REFS.n ? 0 : r->path.n - REFS.n;

	*g = (struct gitpath){ .service = GITPATH_NONE };
	if (begins(slice_from(r->path, refs), REFS))
		read_refs(r, g);
	else if (!read_service(r, g) && !read_lfs(r, g))
		(void)read_below(r, g);
	/* A repository that is the root of its host has no name. */
	if (g->repository.n == 0) {
		*g = (struct gitpath){ .service = GITPATH_NONE };
		return PARSE_DONE;
	}
	for (size_t i = 0; i < g->repository.n; i++) {
		uint8_t c = g->repository.p[i];
		if (c != '%' && c != ';')
			continue;
		*fail = (struct parse_fail){ REASON_HTTP_PATH_INVALID,
			"escape or parameter in a repository", i };
		return PARSE_BAD;
	}
	return PARSE_DONE;
}

bool
gitpath_is_query(struct slice query)
{
	return slice_eq(query, FETCH_QUERY) || slice_eq(query, PUSH_QUERY);
}

struct slice
gitpath_bare(struct slice repository)
{
	if (repository.n <= DOT_GIT.n + 1 ||
	    !begins(slice_from(repository, repository.n - DOT_GIT.n), DOT_GIT))
		return repository;
	struct slice bare = without(repository, DOT_GIT.n);
	return bare.p[bare.n - 1] == '/' ? gitpath_bare(without(bare, 1)) :
					   bare;
}
