/* SPDX-License-Identifier: Apache-2.0 */
/* Repositories of every kind are found, and nothing beside them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "ns/home.h"
#include "ns/repos.h"

static char top[] = "/tmp/test-repos-XXXXXX";

static void
folder(const char *path)
{
	assert_int_equal(mkdir(path, 0755), 0);
}

static void
file(const char *path)
{
	int fd = open(path, O_CREAT | O_WRONLY | O_EXCL, 0644);

	assert_true(fd >= 0);
	close(fd);
}

/* A repository's inside, at a path that exists. */
static void
inside(const char *path)
{
	char name[256];

	snprintf(name, sizeof(name), "%s/objects", path);
	folder(name);
	snprintf(name, sizeof(name), "%s/refs", path);
	folder(name);
	snprintf(name, sizeof(name), "%s/HEAD", path);
	file(name);
}

static int
make(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(top));
	assert_int_equal(chdir(top), 0);
	folder("a");
	folder("a/.git");
	inside("a/.git");
	folder("a/.git/modules");
	folder("a/.git/modules/m");
	inside("a/.git/modules/m");
	folder("a/.git/objects/.git"); /* nobody looks in there */
	folder("bare.git");
	inside("bare.git");
	folder("tree");
	file("tree/.git");
	folder("other");
	assert_int_equal(symlink("../a/.git", "other/.git"), 0);
	assert_int_equal(symlink("a", "again"), 0);
	folder("near");
	folder("near/objects");
	file("near/HEAD");
	return 0;
}

static int
clean(void **state)
{
	struct fail fail = { 0 };

	(void)state;
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(home_remove(top, &fail), 0);
	return 0;
}

static const struct repo *
find(const struct repos *r, const char *path)
{
	for (size_t i = 0; i < r->n; i++)
		if (strcmp(r->repo[i].path, path) == 0)
			return &r->repo[i];
	return NULL;
}

static void
repos_finds_each_kind(void **state)
{
	static const struct {
		const char *path;
		enum repo_kind kind;
	} want[] = {
		{ "a/.git", REPO_FOLDER },
		{ "a/.git/modules/m", REPO_FOLDER },
		{ "bare.git", REPO_FOLDER },
		{ "tree/.git", REPO_FILE },
		{ "other/.git", REPO_LINK },
	};
	struct repos r;
	int fd = open(top, O_PATH | O_DIRECTORY);

	(void)state;
	repos_find(&r, fd, true);
	for (size_t i = 0; i < COUNT_OF(want); i++) {
		const struct repo *one = find(&r, want[i].path);
		print_message("# %s\n", want[i].path);
		assert_non_null(one);
		assert_int_equal(one->kind, want[i].kind);
	}
	assert_int_equal(r.n, COUNT_OF(want));
	assert_null(r.socket);
	assert_false(r.cut);
	repos_release(&r);
	close(fd);
}

static void
repos_looks_no_deeper_than_asked(void **state)
{
	struct repos r;
	int fd = open("a", O_PATH | O_DIRECTORY);

	(void)state;
	repos_find(&r, fd, false);
	assert_non_null(find(&r, ".git"));
	assert_non_null(find(&r, ".git/modules/m"));
	assert_int_equal(r.n, 2);
	repos_release(&r);
	close(fd);
	fd = open(top, O_PATH | O_DIRECTORY);
	repos_find(&r, fd, false);
	assert_int_equal(r.n, 0);
	repos_release(&r);
	close(fd);
	fd = open("bare.git", O_PATH | O_DIRECTORY);
	repos_find(&r, fd, true);
	assert_int_equal(r.n, 1);
	assert_string_equal(r.repo[0].path, "");
	repos_release(&r);
	close(fd);
}

static void
repos_sees_sockets_in_a_repository_too(void **state)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX,
		.sun_path = "a/.git/fsmonitor--daemon.ipc" };
	struct repos r;
	int s = socket(AF_UNIX, SOCK_STREAM, 0);
	int fd = open(top, O_PATH | O_DIRECTORY);

	(void)state;
	assert_int_equal(bind(s, (struct sockaddr *)&sa, sizeof(sa)), 0);
	repos_find(&r, fd, true);
	assert_string_equal(r.socket, "a/.git/fsmonitor--daemon.ipc");
	repos_release(&r);
	close(fd);
	close(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(repos_finds_each_kind),
		cmocka_unit_test(repos_looks_no_deeper_than_asked),
		cmocka_unit_test(repos_sees_sockets_in_a_repository_too),
	};

	return cmocka_run_group_tests(tests, make, clean);
}
