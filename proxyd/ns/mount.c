/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ns/mount.h"

static int
find(int root, const char *path, int flags, uint64_t resolve)
{
	struct open_how how = { .flags = (uint64_t)flags | O_CLOEXEC,
		.resolve = resolve };

	while (*path == '/')
		path++;
	return (int)syscall(SYS_openat2, root, *path == '\0' ? "." : path, &how,
	    sizeof(how));
}

int
mount_find(int root, const char *path)
{
	return find(root, path, O_PATH, RESOLVE_IN_ROOT);
}

int
mount_find_plain(int root, const char *path)
{
	return mount_open_plain(root, path, O_PATH);
}

int
mount_open_plain(int root, const char *path, int flags)
{
	return find(root, path, flags, RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS);
}

static int
set(int fd, uint64_t attributes, unsigned flags)
{
	struct mount_attr attr = { .attr_set = attributes };

	return mount_setattr(fd, "", AT_EMPTY_PATH | flags, &attr,
	    sizeof(attr));
}

void
mount_close(int fd)
{
	int number = errno;

	if (fd != -1)
		close(fd);
	errno = number;
}

static int
closed(int fd)
{
	mount_close(fd);
	return -1;
}

int
mount_copy(int fd, uint64_t attributes)
{
	int tree = open_tree(fd, "",
	    OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_EMPTY_PATH | AT_RECURSIVE);

	if (tree == -1)
		return -1;
	if (set(tree, attributes, AT_RECURSIVE) == -1)
		return closed(tree);
	return tree;
}

int
mount_new(const char *type, const char *const *options, uint64_t attributes)
{
	int tree = -1;
	int fs = fsopen(type, FSOPEN_CLOEXEC);

	if (fs == -1)
		return -1;
	for (; options != NULL && options[0] != NULL; options += 2) {
		bool flag = options[1][0] == '\0';
		if (fsconfig(fs, flag ? FSCONFIG_SET_FLAG : FSCONFIG_SET_STRING,
			options[0], flag ? NULL : options[1], 0) == -1)
			return closed(fs);
	}
	if (fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) == -1)
		return closed(fs);
	tree = fsmount(fs, FSMOUNT_CLOEXEC, (unsigned)attributes);
	if (tree == -1)
		return closed(fs);
	close(fs);
	return tree;
}

int
mount_change(int fd, uint64_t attributes)
{
	return set(fd, attributes, 0);
}

int
mount_put(int tree, int at)
{
	int result = move_mount(tree, "", at, "",
	    MOVE_MOUNT_F_EMPTY_PATH | MOVE_MOUNT_T_EMPTY_PATH);

	mount_close(tree);
	return result;
}

/* One part of a path below `folder`, which is closed; made if missing. */
static int
enter(int folder, const char *name, bool is_folder)
{
	int fd = mount_find_plain(folder, name);

	if (fd == -1 && errno == ENOENT) {
		int file = -1;
		if (is_folder)
			(void)mkdirat(folder, name, 0755);
		else
			file = openat(folder, name,
			    O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
		if (file != -1)
			close(file);
		fd = mount_find_plain(folder, name);
	}
	mount_close(folder);
	return fd;
}

int
mount_make_place(int root, const char *path, bool folder)
{
	char name[NAME_MAX + 1];
	int fd = fcntl(root, F_DUPFD_CLOEXEC, 0);

	while (fd != -1) {
		path += strspn(path, "/");
		if (*path == '\0')
			break;
		size_t n = strcspn(path, "/");
		if (n >= sizeof(name)) {
			errno = ENAMETOOLONG;
			return closed(fd);
		}
		memcpy(name, path, n);
		name[n] = '\0';
		path += n;
		bool last = path[strspn(path, "/")] == '\0';
		fd = enter(fd, name, folder || !last);
	}
	return fd;
}
