/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "ns/home.h"
#include "ns/mount.h"
#include "ns/path.h"

#define DEPTH_MAX 1000 /* folders in each other; descriptors are the limit */

/* The sandbox's user has to get there, nobody else. */
static int
make_folder(const char *path, const struct netns_user *user, bool own,
    struct fail *fail)
{
	struct stat st;

	if (mkdir(path, own ? 0700 : 0711) == -1 && errno != EEXIST)
		return fail_errno(fail, "cannot make %s", path);
	if (lstat(path, &st) == -1)
		return fail_errno(fail, "cannot look at %s", path);
	if (!S_ISDIR(st.st_mode))
		return fail_set(fail, ERR_EXISTS, "%s is not a folder", path);
	if (own && st.st_uid != user->uid &&
	    lchown(path, user->uid, user->gid) == -1)
		return fail_errno(fail, "cannot give %s to its user", path);
	return 0;
}

int
home_make(const char *state, const char *name, const struct netns_user *user,
    char **path, struct fail *fail)
{
	char homes[PATH_MAX], home[PATH_MAX];

	if (!path_join(homes, sizeof(homes), state, "homes") ||
	    !path_join(home, sizeof(home), homes, name))
		return fail_set(fail, ERR_FULL, "too long a path: %s", state);
	if (make_folder(homes, user, false, fail) == -1 ||
	    make_folder(home, user, true, fail) == -1)
		return -1;
	*path = mem_strdup(home);
	return 0;
}

static int empty(int folder, int depth);

/* Remove `name`; the sandbox may have taken our rights to a folder of its. */
static int
remove_one(int folder, const char *name, int depth)
{
	if (unlinkat(folder, name, 0) == 0)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -1;
	int fd =
	    openat(folder, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return -1;
	(void)!fchmodat(folder, name, 0700, 0);
	int inner = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	close(fd);
	if (inner == -1)
		return -1;
	if (empty(inner, depth + 1) == -1)
		return -1;
	return unlinkat(folder, name, AT_REMOVEDIR);
}

/* Remove all that is in `folder`, and close it. */
static int
empty(int folder, int depth)
{
	const struct dirent *d;
	int result = 0;
	DIR *dir = depth > DEPTH_MAX ? NULL : fdopendir(folder);

	if (dir == NULL) {
		errno = depth > DEPTH_MAX ? ENAMETOOLONG : errno;
		mount_close(folder);
		return -1;
	}
	while ((d = readdir(dir)) != NULL) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		if (remove_one(dirfd(dir), d->d_name, depth) == -1)
			result = -1;
	}
	int number = errno;
	closedir(dir);
	errno = number;
	return result;
}

int
home_remove(const char *path, struct fail *fail)
{
	char folder[PATH_MAX];
	const char *name = strrchr(path, '/');

	if (name == NULL || !path_folder(folder, sizeof(folder), path))
		return fail_set(fail, ERR_MESSAGE, "%s is no path", path);
	int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd == -1)
		return fail_errno(fail, "cannot open %s", folder);
	int result = remove_one(fd, name + 1, 0);
	if (result == -1)
		fail_errno(fail, "cannot remove all of %s", path);
	close(fd);
	return result;
}
