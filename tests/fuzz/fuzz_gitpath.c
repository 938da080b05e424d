/* SPDX-License-Identifier: Apache-2.0 */
/* Input: method LF path LF query.  What is a service is spelt one way only. */
#include "fuzz.h"
#include "wire/gitpath.h"

static struct slice
take(struct slice *rest)
{
	const uint8_t *end =
	    rest->n == 0 ? NULL : memchr(rest->p, '\n', rest->n);
	size_t n = end == NULL ? rest->n : (size_t)(end - rest->p);
	struct slice part = slice_first(*rest, n);

	*rest = slice_from(*rest, n + 1);
	return part;
}

static bool
ends(struct slice s, const char *with)
{
	size_t n = strlen(with);

	return s.n >= n && slice_eq_str(slice_from(s, s.n - n), with);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice rest = { data, size };
	struct gitpath_request r = { .method = take(&rest) };
	struct parse_fail fail = { 0 };
	struct gitpath g;

	r.path = take(&rest);
	r.has_query = rest.n != 0;
	r.query = rest;
	enum parse got = gitpath_read(&r, &g, &fail);
	CHECK(got == PARSE_DONE || got == PARSE_BAD);
	if (got == PARSE_BAD) {
		CHECK(fail.at < r.path.n && fail.detail != NULL);
		return 0;
	}
	CHECK((g.service == GITPATH_NONE) == (g.repository.n == 0));
	CHECK(lies_in(g.repository, r.path));
	CHECK(slice_has_prefix(r.path, g.repository));
	struct slice bare = gitpath_bare(g.repository);
	CHECK(slice_has_prefix(g.repository, bare));
	if (g.service == GITPATH_PUSH && g.discover)
		CHECK(slice_eq_str(r.query, "service=git-receive-pack"));
	if (g.service == GITPATH_PUSH && !g.discover)
		CHECK(!r.has_query && ends(r.path, "/git-receive-pack"));
	if (g.service == GITPATH_FETCH && !g.discover)
		CHECK(slice_eq_str(r.method, "POST"));
	return 0;
}
