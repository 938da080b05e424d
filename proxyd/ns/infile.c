/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ns/infile.h"
#include "ns/mount.h"

/* A file that has no name any more is nobody else's. */
static bool
is_read_file(int fd)
{
	struct stat st;
	int flags = fcntl(fd, F_GETFL);

	return flags != -1 && (flags & O_ACCMODE) == O_RDONLY &&
	    fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_nlink != 0;
}

/* The same file below `host`, by its name; -1 if another has that name. */
static int
find(int host, const char *link, int fd)
{
	char path[PATH_MAX];
	struct stat is, was;
	ssize_t n = readlink(link, path, sizeof(path) - 1);

	if (n <= 0)
		return -1;
	path[n] = '\0';
	int found = mount_find_plain(host, path);
	if (found == -1)
		return -1;
	if (fstat(found, &is) == 0 && fstat(fd, &was) == 0 &&
	    is.st_dev == was.st_dev && is.st_ino == was.st_ino)
		return found;
	close(found);
	return -1;
}

static int
put_anew(int fd, int file)
{
	off_t at = lseek(fd, 0, SEEK_CUR);
	int result = -1;

	if (at != -1 && lseek(file, at, SEEK_SET) == at)
		result = dup3(file, fd, fd > 2 ? O_CLOEXEC : 0);
	close(file);
	return result == -1 ? -1 : 0;
}

static int
protect(int host, const char *proc, int fd, struct fail *fail)
{
	char link[PATH_MAX];

	snprintf(link, sizeof(link), "%s/self/fd/%d", proc, fd);
	int found = find(host, link, fd);
	int tree = found == -1 ? -1 : mount_copy(found, MOUNT_READ);
	mount_close(found);
	if (tree != -1) {
		snprintf(link, sizeof(link), "%s/self/fd/%d", proc, tree);
		int file = open(link, O_RDONLY | O_CLOEXEC | O_NOCTTY);
		bool foreign = file == -1 && errno == EACCES;
		close(tree);
		if (foreign)
			return 0; /* the command cannot open it either */
		if (file != -1 && put_anew(fd, file) == 0)
			return 0;
	}
	return fail_set(fail, ERR_DENIED,
	    "descriptor %d is a file that cannot be made read-only for the "
	    "command. Give it by a pipe instead: cat FILE | duenna run ...",
	    fd);
}

int
infile_protect(int host, const char *proc, const struct child *child,
    struct fail *fail)
{
	for (int fd = 0; fd <= 2; fd++)
		if (is_read_file(fd) && protect(host, proc, fd, fail) == -1)
			return -1;
	for (size_t i = 0; i < child->n_keep_fd; i++)
		if (is_read_file(child->keep_fd[i]) &&
		    protect(host, proc, child->keep_fd[i], fail) == -1)
			return -1;
	return 0;
}
