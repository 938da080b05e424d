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

#define DEPTH_MAX 64 /* folders in each other with a descriptor for each */

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

/* What a removal has to carry along. */
struct removal {
	int top; /* borrowed; the folder that holds the home */
	unsigned
	    n_moved; /* folders that were too deep, now in the home's top */
	const char *home; /* borrowed; its name in `top` */
};

static int empty(struct removal *r, int folder, int depth);

/*
 * A folder so deep that a descriptor a level would not do is moved to the top
 * and removed from there in another round.
 */
static int
move_up(struct removal *r, int folder, const char *name)
{
	char to[PATH_MAX];

	snprintf(to, sizeof(to), "%s/.duenna-deep-%u", r->home, r->n_moved++);
	return renameat(folder, name, r->top, to);
}

/* Remove `name`; the sandbox may have taken our rights to a folder of its. */
static int
remove_one(struct removal *r, int folder, const char *name, int depth)
{
	char self[32];

	if (unlinkat(folder, name, 0) == 0)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -1;
	int fd =
	    openat(folder, name, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd == -1)
		return -1;
	/* By its descriptor: the name may be a link by now, and lead outside. */
	snprintf(self, sizeof(self), "/proc/self/fd/%d", fd);
	(void)!chmod(self, 0700);
	if (depth >= DEPTH_MAX) {
		close(fd);
		return move_up(r, folder, name);
	}
	int inner = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	close(fd);
	if (inner == -1 || empty(r, inner, depth + 1) == -1)
		return -1;
	return unlinkat(folder, name, AT_REMOVEDIR);
}

/* Remove all that is in `folder`, and close it. */
static int
empty(struct removal *r, int folder, int depth)
{
	const struct dirent *d;
	int result = 0;
	DIR *dir = fdopendir(folder);

	if (dir == NULL) {
		mount_close(folder);
		return -1;
	}
	while ((d = readdir(dir)) != NULL) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0)
			continue;
		if (remove_one(r, dirfd(dir), d->d_name, depth) == -1)
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
	struct removal r = { .top = fd, .home = name + 1 };
	unsigned before;
	int result;
	do {
		before = r.n_moved;
		result = remove_one(&r, fd, name + 1, 0);
	} while (result == -1 && r.n_moved != before);
	if (result == -1)
		fail_errno(fail, "cannot remove all of %s", path);
	close(fd);
	return result;
}
