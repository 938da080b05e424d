/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/gitpath.h"
#include "base/ascii.h"

#define REFS SLICE("/info/refs")
#define LFS SLICE("/info/lfs/")
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
read_lfs(const struct gitpath_request *r, struct gitpath *g)
{
	for (size_t i = 0; i + LFS.n <= r->path.n; i++) {
		if (!begins(slice_from(r->path, i), LFS))
			continue;
		g->repository = slice_first(r->path, i);
		g->service = slice_has_prefix(slice_from(r->path, i), LFS) ?
		    GITPATH_LFS :
		    GITPATH_OTHER;
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
		g->repository = slice_first(r->path, i);
		g->service = GITPATH_OTHER;
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
	return bare.p[bare.n - 1] == '/' ? without(bare, 1) : bare;
}
