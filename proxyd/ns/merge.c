/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ns/merge.h"
#include "ns/mount.h"

struct merge {
	size_t n; /* entries so far */
	struct fail *fail;
};

static int merge_folder(struct merge *m, int ours, int host);

static int
copy_link(struct merge *m, int ours, int host, const char *name)
{
	char target[PATH_MAX];
	ssize_t n = readlinkat(host, name, target, sizeof(target) - 1);

	if (n == -1)
		return 0;
	target[n] = '\0';
	if (symlinkat(target, ours, name) == -1)
		return fail_errno(m->fail, "cannot make the link %s", name);
	return 0;
}

static int
bind_one(struct merge *m, int ours, int host, const char *name)
{
	struct stat st;
	int from = openat(host, name, O_PATH | O_NOFOLLOW | O_CLOEXEC);

	if (from == -1)
		return 0;
	/* Looked at once more: what is bound is what was opened. */
	if (fstat(from, &st) == -1 ||
	    (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode))) {
		close(from);
		return 0;
	}
	int at = mount_make_place(ours, name, S_ISDIR(st.st_mode));
	int tree = at == -1 ? -1 : mount_copy(from, MOUNT_READ);
	mount_close(from);
	if (tree == -1 || mount_put(tree, at) == -1) {
		fail_refused(m->fail, FAIL_MOUNT, "cannot show %s", name);
		mount_close(at);
		return -1;
	}
	close(at);
	return 0;
}

static int
merge_below(struct merge *m, int ours, int host, const char *name)
{
	int flags = O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	int its = openat(host, name, O_PATH | flags);

	if (its == -1)
		return 0;
	int mine = openat(ours, name, O_PATH | flags);
	if (mine == -1) {
		fail_errno(m->fail, "cannot open our folder %s", name);
		close(its);
		return -1;
	}
	int result = merge_folder(m, mine, its);
	close(mine);
	close(its);
	return result;
}

static int
merge_one(struct merge *m, int ours, int host, const char *name)
{
	struct stat mine, its;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 0;
	if (++m->n > MERGE_ENTRIES_MAX)
		return fail_set(m->fail, ERR_FULL,
		    "more than %d entries would have to be shown one by one",
		    MERGE_ENTRIES_MAX);
	if (fstatat(host, name, &its, AT_SYMLINK_NOFOLLOW) == -1)
		return 0;
	if (fstatat(ours, name, &mine, AT_SYMLINK_NOFOLLOW) == 0) {
		bool both = S_ISDIR(mine.st_mode) && S_ISDIR(its.st_mode);
		return both ? merge_below(m, ours, host, name) : 0;
	}
	return S_ISLNK(its.st_mode) ? copy_link(m, ours, host, name) :
				      bind_one(m, ours, host, name);
}

/* As deep as our own folders are, not the host's. */
static int
merge_folder(struct merge *m, int ours, int host)
{
	const struct dirent *d;
	int result = 0;
	int fd = openat(host, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd == -1 ? NULL : fdopendir(fd);

	if (dir == NULL) {
		mount_close(fd);
		return errno == EACCES ?
		    0 :
		    fail_errno(m->fail, "cannot list a folder");
	}
	while (result == 0 && (d = readdir(dir)) != NULL)
		result = merge_one(m, ours, host, d->d_name);
	closedir(dir);
	return result;
}

int
merge_fill(int ours, int host, struct fail *fail)
{
	struct merge m = { .fail = fail };

	return merge_folder(&m, ours, host);
}
