/* SPDX-License-Identifier: Apache-2.0 */
/* Files that nobody finds. */
#include <sys/stat.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "ns/nameless.h"
#include "row.h"

static char folder[] = "/tmp/duenna-nameless-XXXXXX";

static unsigned
n_entries(void)
{
	DIR *dir = opendir(folder);
	unsigned n = 0;

	assert_non_null(dir);
	while (readdir(dir) != NULL)
		n++;
	closedir(dir);
	return n;
}

static void
a_file_without_a_name(void **state)
{
	char path[64], there[64];
	struct stat st;
	char back[6];
	int fd = nameless_file(folder);

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(n_entries(), 2);
	assert_int_equal(fstat(fd, &st), 0);
	assert_true(S_ISREG(st.st_mode));
	assert_int_equal(st.st_mode & 0777, 0600);
	assert_int_equal(st.st_nlink, 0);
	assert_int_equal(st.st_size, 0);
	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(pwrite(fd, "hello", 6, 0), 6);
	assert_int_equal(pread(fd, back, 6, 0), 6);
	assert_string_equal(back, "hello");
	/* Nor can it be given one. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	snprintf(there, sizeof(there), "%s/x", folder);
	assert_int_equal(linkat(AT_FDCWD, path, AT_FDCWD, there,
			     AT_SYMLINK_FOLLOW),
	    -1);
	close(fd);
	assert_int_equal(n_entries(), 2);
}

static void
a_folder_that_has_none(void **state)
{
	(void)state;
	assert_int_equal(nameless_file("/nonexistent"), -1);
	assert_int_equal(errno, ENOENT);
	/* Knows no file without a name, and no new one with a name either. */
	assert_int_equal(nameless_file("/proc"), -1);
	assert_int_not_equal(errno, 0);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_without_a_name),
		cmocka_unit_test(a_folder_that_has_none),
	};

	if (mkdtemp(folder) == NULL)
		return 1;
	int failed = cmocka_run_group_tests(tests, NULL, NULL);
	rmdir(folder);
	return failed;
}
