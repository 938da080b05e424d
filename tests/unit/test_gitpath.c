/* SPDX-License-Identifier: Apache-2.0 */
#include "row.h"
#include "wire/gitpath.h"

#define UP "?service=git-upload-pack"
#define RECEIVE "?service=git-receive-pack"

static const struct {
	const char *method, *target;
	enum gitpath_service service;
	bool discover;
	const char *repository;
} rows[] = {
	{ "GET", "/a/b.git/info/refs" UP, GITPATH_FETCH, true, "/a/b.git" },
	{ "GET", "/a/b/info/refs" RECEIVE, GITPATH_PUSH, true, "/a/b" },
	{ "POST", "/a/b/git-upload-pack", GITPATH_FETCH, false, "/a/b" },
	{ "POST", "/a/b.git/git-receive-pack", GITPATH_PUSH, false,
	    "/a/b.git" },
	{ "POST", "/a/b/git-upload-archive", GITPATH_ARCHIVE, false, "/a/b" },
	{ "POST", "/a/b.git/info/lfs/objects/batch", GITPATH_LFS, false,
	    "/a/b.git" },
	{ "GET", "/a/info/lfs/locks", GITPATH_LFS, false, "/a" },
	/* GT-28, GT-29, GT-30: of git's form, and no request of git's. */
	{ "GET", "/a/b/info/refs" UP "&service=git-receive-pack", GITPATH_OTHER,
	    true, "/a/b" },
	{ "GET", "/a/b/info/refs?service=git-receive-pack&x=1", GITPATH_OTHER,
	    true, "/a/b" },
	{ "GET", "/a/b/info/refs?service=git%2Dupload-pack", GITPATH_OTHER,
	    true, "/a/b" },
	{ "GET", "/a/b/info/refs?service=GIT-UPLOAD-PACK", GITPATH_OTHER, true,
	    "/a/b" },
	{ "GET", "/a/b/info/refs?", GITPATH_OTHER, true, "/a/b" },
	{ "GET", "/a/b/info/refs", GITPATH_OTHER, true, "/a/b" },
	{ "HEAD", "/a/b/info/refs" UP, GITPATH_OTHER, true, "/a/b" },
	{ "get", "/a/b/info/refs" UP, GITPATH_OTHER, true, "/a/b" },
	{ "POST", "/a/b/info/refs" UP, GITPATH_OTHER, true, "/a/b" },
	{ "GET", "/a/b/INFO/refs" UP, GITPATH_OTHER, true, "/a/b" },
	{ "GET", "/a/b/info/REFS" UP, GITPATH_OTHER, true, "/a/b" },
	{ "POST", "/a/b/git-receive-pack?x", GITPATH_OTHER, false, "/a/b" },
	{ "POST", "/a/b/git-receive-pack?", GITPATH_OTHER, false, "/a/b" },
	{ "GET", "/a/b/git-receive-pack", GITPATH_OTHER, false, "/a/b" },
	{ "POST", "/a/b/Git-Receive-Pack", GITPATH_OTHER, false, "/a/b" },
	{ "POST", "/a/b/git-receive-pack;x", GITPATH_OTHER, false, "/a/b" },
	{ "POST", "/a/b/git-receive-pack%20", GITPATH_OTHER, false, "/a/b" },
	{ "GET", "/a/b.git/HEAD", GITPATH_OTHER, false, "/a/b.git" },
	{ "PUT", "/a/b.GIT/objects/aa/bb", GITPATH_OTHER, false, "/a/b.GIT" },
	{ "LOCK", "/a.git/b.git/refs/x", GITPATH_OTHER, false, "/a.git" },
	{ "GET", "/a/.git/config", GITPATH_OTHER, false, "/a/.git" },
	{ "GET", "/a/b.git/", GITPATH_OTHER, false, "/a/b.git" },
	{ "POST", "/a/b/Info/Lfs/objects/batch", GITPATH_OTHER, false, "/a/b" },
	/* Nothing of git's. */
	{ "GET", "/", GITPATH_NONE, false, "" },
	{ "GET", "/a/b.git", GITPATH_NONE, false, "" },
	{ "GET", "/a/b", GITPATH_NONE, false, "" },
	{ "GET", "/.git/config", GITPATH_OTHER, false, "/.git" },
	{ "GET", "/info/refs" UP, GITPATH_NONE, false, "" },
	{ "POST", "/git-receive-pack", GITPATH_NONE, false, "" },
	{ "POST", "/info/lfs/objects/batch", GITPATH_NONE, false, "" },
	{ "GET", "/a/b/xinfo/refs", GITPATH_NONE, false, "" },
	{ "POST", "/a/git-receive-pack/x", GITPATH_NONE, false, "" },
	{ "GET", "", GITPATH_NONE, false, "" },
};

#define OID "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

/* What of LFS; OTHER is granted by no rule. */
static const struct {
	const char *method, *target;
	enum gitpath_service service;
	enum gitpath_lfs lfs;
} moved[] = {
	{ "POST", "/a/info/lfs/objects/batch", GITPATH_LFS, GITPATH_LFS_BATCH },
	{ "POST", "/a/info/lfs/objects/batch?", GITPATH_LFS,
	    GITPATH_LFS_OTHER },
	{ "GET", "/a/info/lfs/objects/batch", GITPATH_LFS, GITPATH_LFS_OTHER },
	{ "POST", "/a/info/lfs/objects/Batch", GITPATH_LFS, GITPATH_LFS_OTHER },
	{ "GET", "/a/info/lfs/objects/" OID, GITPATH_LFS,
	    GITPATH_LFS_DOWNLOAD },
	{ "GET", "/a/info/lfs/objects/" OID "/a.bin", GITPATH_LFS,
	    GITPATH_LFS_DOWNLOAD },
	{ "GET", "/a/info/lfs/objects/" OID "/", GITPATH_LFS,
	    GITPATH_LFS_OTHER },
	{ "GET", "/a/info/lfs/objects/" OID "/a/b", GITPATH_LFS,
	    GITPATH_LFS_OTHER },
	{ "GET", "/a/info/lfs/objects/" OID "/%2E", GITPATH_LFS,
	    GITPATH_LFS_OTHER },
	{ "GET", "/a/info/lfs/objects/" OID "0", GITPATH_LFS,
	    GITPATH_LFS_OTHER },
	{ "GET", "/a/info/lfs/objects/x" OID, GITPATH_LFS, GITPATH_LFS_OTHER },
	{ "PUT", "/a/info/lfs/objects/" OID "/12", GITPATH_LFS,
	    GITPATH_LFS_UPLOAD },
	{ "POST", "/a/info/lfs/objects/" OID, GITPATH_LFS, GITPATH_LFS_OTHER },
	{ "DELETE", "/a/info/lfs/objects/" OID, GITPATH_LFS,
	    GITPATH_LFS_OTHER },
	{ "POST", "/a/info/lfs/verify", GITPATH_LFS, GITPATH_LFS_VERIFY },
	{ "POST", "/a/info/lfs/locks/verify", GITPATH_LFS, GITPATH_LFS_OTHER },
	{ "POST", "/a/info/lfs/locks", GITPATH_LFS, GITPATH_LFS_OTHER },
	{ "POST", "/a/info/lfs/locks/1/unlock", GITPATH_LFS,
	    GITPATH_LFS_OTHER },
	{ "PUT", "/a.git/gitlab-lfs/objects/" OID "/12", GITPATH_LFS,
	    GITPATH_LFS_UPLOAD },
	{ "GET", "/a.git/gitlab-lfs/objects/" OID, GITPATH_LFS,
	    GITPATH_LFS_DOWNLOAD },
	{ "GET", "/a.git/Gitlab-lfs/objects/" OID, GITPATH_OTHER,
	    GITPATH_LFS_OTHER },
	{ "GET", "/a.git/objects/" OID, GITPATH_OTHER, GITPATH_LFS_OTHER },
	{ "GET", "/a/gitlab-lfs/objects/" OID, GITPATH_NONE,
	    GITPATH_LFS_OTHER },
};

static struct gitpath_request
request(const char *method, struct slice target)
{
	const uint8_t *mark =
	    target.n == 0 ? NULL : memchr(target.p, '?', target.n);
	struct gitpath_request r = { .method = slice_of_str(method),
		.path = target };

	if (mark != NULL) {
		size_t n = (size_t)(mark - target.p);
		r.path = slice_first(target, n);
		r.has_query = true;
		r.query = slice_from(target, n + 1);
	}
	return r;
}

static void
gitpath_reads_each_case(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct slice target = exact(slice_of_str(rows[i].target));
		struct gitpath_request r = request(rows[i].method, target);
		struct parse_fail fail;
		struct gitpath g;

		print_message("# %s %s\n", rows[i].method, rows[i].target);
		assert_int_equal(gitpath_read(&r, &g, &fail), PARSE_DONE);
		assert_int_equal(g.service, rows[i].service);
		assert_int_equal(g.discover, rows[i].discover);
		assert_slice(g.repository, slice_of_str(rows[i].repository));
		drop(target);
	}
}

static void
gitpath_refuses_escapes_and_parameters(void **state)
{
	static const char *const targets[] = { "/a%2Fb/git-receive-pack",
		"/a/b;x.git/git-receive-pack", "/a/%20/info/refs" UP,
		"/a/b%00/info/lfs/locks", "/a%2F/b.git/HEAD" };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(targets); i++) {
		struct gitpath_request r =
		    request("POST", slice_of_str(targets[i]));
		struct parse_fail fail = { .detail = "" };
		struct gitpath g;

		assert_int_equal(gitpath_read(&r, &g, &fail), PARSE_BAD);
		assert_int_equal(fail.reason, REASON_HTTP_PATH_INVALID);
		assert_string_equal(fail.detail,
		    "escape or parameter in a repository");
		assert_memory_equal(r.path.p + fail.at,
		    strchr(targets[i], ';') != NULL ? ";" : "%", 1);
	}
}

static void
gitpath_bare_is_without_its_suffix(void **state)
{
	(void)state;
	assert_slice(gitpath_bare(SLICE("/a/b.git")), SLICE("/a/b"));
	assert_slice(gitpath_bare(SLICE("/a/b.Git")), SLICE("/a/b"));
	assert_slice(gitpath_bare(SLICE("/a/b.git.git")), SLICE("/a/b.git"));
	assert_slice(gitpath_bare(SLICE("/a/b")), SLICE("/a/b"));
	assert_slice(gitpath_bare(SLICE("/a/.git")), SLICE("/a"));
	assert_slice(gitpath_bare(SLICE("/a/b.git/.git")), SLICE("/a/b"));
	assert_slice(gitpath_bare(SLICE("/a/b.git/.GIT/.git")), SLICE("/a/b"));
	assert_slice(gitpath_bare(SLICE("/a/.git/.git")), SLICE("/a"));
	assert_slice(gitpath_bare(SLICE("/.git/.git")), SLICE("/.git"));
	assert_slice(gitpath_bare(SLICE("/.git")), SLICE("/.git"));
	assert_slice(gitpath_bare(SLICE(".git")), SLICE(".git"));
	assert_slice(gitpath_bare(SLICE("")), SLICE(""));
}

static void
gitpath_knows_what_of_lfs(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(moved); i++) {
		struct gitpath_request r =
		    request(moved[i].method, slice_of_str(moved[i].target));
		struct parse_fail fail;
		struct gitpath g;
		print_message("# %s %s\n", moved[i].method, moved[i].target);
		bool good = gitpath_read(&r, &g, &fail) == PARSE_DONE;
		assert_true(good);
		assert_int_equal(g.service, moved[i].service);
		assert_int_equal(g.lfs, moved[i].lfs);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(gitpath_knows_what_of_lfs),
		cmocka_unit_test(gitpath_reads_each_case),
		cmocka_unit_test(gitpath_refuses_escapes_and_parameters),
		cmocka_unit_test(gitpath_bare_is_without_its_suffix),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
