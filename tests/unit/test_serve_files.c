/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <sys/stat.h>

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "serve/files.h"

struct bed {
	char dir[64];
	struct files files;
	struct buf why;
};

static void
path_of(const struct bed *b, const char *name, char path[256])
{
	snprintf(path, 256, "%s/%s", b->dir, name);
}

static void
put(const struct bed *b, const char *name, const char *text)
{
	char path[256];

	path_of(b, name, path);
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void
make_dir(const struct bed *b, const char *name)
{
	char path[256];

	path_of(b, name, path);
	assert_int_equal(mkdir(path, 0755), 0);
}

static int
set_up(void **state)
{
	struct bed *b = calloc(1, sizeof(*b));

	snprintf(b->dir, sizeof(b->dir), "/tmp/duenna-files-XXXXXX");
	assert_non_null(mkdtemp(b->dir));
	buf_init(&b->why, 4096);
	make_dir(b, "policies");
	make_dir(b, "policies/more");
	put(b, "a.yaml", "a");
	put(b, "policies/web.yaml", "web");
	put(b, "policies/more/part.yaml", "part");
	put(b, "policies/notes.txt", "no policy");
	*state = b;
	return 0;
}

static int
tear_down(void **state)
{
	struct bed *b = *state;
	char line[128];

	files_release(&b->files);
	buf_release(&b->why);
	snprintf(line, sizeof(line), "rm -rf %s", b->dir);
	int status = system(line);
	free(b);
	return status;
}

static size_t
find(const struct bed *b, const char *name)
{
	char path[256];

	path_of(b, name, path);
	return files_find(&b->files, path);
}

static void
files_are_read_once(void **state)
{
	struct bed *b = *state;
	char text[16] = "";

	assert_int_equal(files_read(&b->files, b->dir, &b->why), 0);
	assert_int_equal(b->files.n, 3);
	assert_int_equal(b->files.n_config, 1);
	assert_int_equal(find(b, "policies/notes.txt"), 3);
	size_t web = find(b, "policies/web.yaml");
	put(b, "policies/web.yaml", "changed");
	for (int i = 0; i < 2; i++) {
		int fd = files_open(&b->files, web);
		assert_int_equal(read(fd, text, sizeof(text)), 3);
		assert_memory_equal(text, "web", 3);
		assert_true(write(fd, "x", 1) < 0);
		close(fd);
	}
	assert_true(write(b->files.at[web].fd, "x", 1) < 0);
}

static size_t
include(const struct bed *b, const char *name)
{
	const char *why;

	return files_include(&b->files, find(b, "policies/web.yaml"),
	    slice_of_str(name), &why);
}

static void
an_include_stays_below_its_folder(void **state)
{
	static const char *const wrong[] = { "", "/etc/passwd", "../a.yaml",
		"more/../../a.yaml", "more//part.yaml", "more/./part.yaml",
		"more/", "none.yaml", "notes.txt", ".", "..", "./" };
	struct bed *b = *state;
	const char *why;

	assert_int_equal(files_read(&b->files, b->dir, &b->why), 0);
	size_t part = find(b, "policies/more/part.yaml");
	assert_true(part < b->files.n);
	assert_int_equal(include(b, "more/part.yaml"), part);
	assert_int_equal(include(b, "./more/part.yaml"), part);
	for (size_t i = 0; i < COUNT_OF(wrong); i++)
		assert_int_equal(include(b, wrong[i]), b->files.n);
	assert_int_equal(files_include(&b->files, 0,
			     slice_of("policies/web.yaml\0", 18), &why),
	    b->files.n);
	assert_int_equal(files_include(&b->files, part, SLICE("web.yaml"),
			     &why),
	    b->files.n);
	/* A number that there is not. */
	assert_int_equal(files_include(&b->files, b->files.n, SLICE("a.yaml"),
			     &why),
	    b->files.n);
}

static void
want(struct bed *b, const char *said)
{
	assert_int_equal(files_read(&b->files, b->dir, &b->why), -1);
	assert_int_equal(b->files.n, 0);
	assert_non_null(strstr(buf_text(&b->why), said));
	buf_clear(&b->why);
}

static void
what_others_may_change_is_not_read(void **state)
{
	struct bed *b = *state;
	char path[256], link[256];

	path_of(b, "policies/more/part.yaml", path);
	assert_int_equal(chmod(path, 0666), 0);
	want(b, "part.yaml: others may write it");
	assert_int_equal(chmod(path, 0644), 0);
	path_of(b, "policies/more", path);
	assert_int_equal(chmod(path, 0777), 0);
	want(b, "more: others may write it");
	assert_int_equal(chmod(path, 0755), 0);
	path_of(b, "policies/link.yaml", link);
	path_of(b, "a.yaml", path);
	assert_int_equal(symlink(path, link), 0);
	want(b, "link.yaml: it is a symbolic link");
	assert_int_equal(unlink(link), 0);
	assert_int_equal(mkfifo(link, 0600), 0);
	want(b, "link.yaml: it is no regular file");
	assert_int_equal(unlink(link), 0);
	assert_int_equal(files_read(&b->files, b->dir, &b->why), 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(files_are_read_once, set_up,
		    tear_down),
		cmocka_unit_test_setup_teardown(
		    an_include_stays_below_its_folder, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
		    what_others_may_change_is_not_read, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
