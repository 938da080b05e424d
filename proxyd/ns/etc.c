/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ns/etc.h"
#include "ns/merge.h"
#include "ns/mount.h"
#include "ns/netns.h"
#include "ns/path.h"

/* Names come from /etc/hosts and from us: no daemon of the host is asked. */
static const char nsswitch[] = "passwd: files\n"
			       "group: files\n"
			       "shadow: files\n"
			       "gshadow: files\n"
			       "hosts: files dns\n"
			       "networks: files\n"
			       "protocols: files\n"
			       "services: files\n"
			       "ethers: files\n"
			       "rpc: files\n"
			       "netgroup: files\n";
static const char resolv[] = "nameserver " NETNS_ADDR4 "\n";

static int
write_all(int fd, struct slice data)
{
	while (data.n != 0) {
		ssize_t n = write(fd, data.p, data.n);
		if (n == -1)
			return -1;
		data = slice_from(data, (size_t)n);
	}
	return 0;
}

/* A file below `stage`, its folders too. */
static int
put(int stage, const char *path, struct slice data, struct fail *fail)
{
	char folder[PATH_MAX];
	const char *name = strrchr(path, '/');
	int fd = -1;

	if (!path_folder(folder, sizeof(folder), path))
		return fail_set(fail, ERR_FULL, "too long a path: %s", path);
	int at = mount_make_place(stage, folder, true);
	if (at != -1)
		fd = openat(at, name + 1,
		    O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC,
		    0644);
	if (fd == -1 || write_all(fd, data) == -1) {
		fail_errno(fail, "cannot write /etc%s of the sandbox", path);
		mount_close(at);
		mount_close(fd);
		return -1;
	}
	close(at);
	close(fd);
	return 0;
}

/*
 * Root in there is root to the host's files, capability or not, and /etc is
 * where it keeps what is for its eyes alone: keys of sshd, of VPNs, of package
 * sources.  Each file that others may not read is an empty one.
 */
static int
hide(int stage, const char *host, const char *path, bool all, struct fail *fail)
{
	char below[PATH_MAX];
	const struct dirent *d;
	struct stat st;
	int result = 0;

	snprintf(below, sizeof(below), "%s%s", host, path);
	DIR *dir = opendir(below);
	if (dir == NULL)
		return errno == EACCES ? 0 : fail_errno(fail, "%s", below);
	while (result == 0 && (d = readdir(dir)) != NULL) {
		int n =
		    snprintf(below, sizeof(below), "%s/%s", path, d->d_name);
		if (strcmp(d->d_name, ".") == 0 ||
		    strcmp(d->d_name, "..") == 0 || n >= (int)sizeof(below) ||
		    fstatat(dirfd(dir), d->d_name, &st, AT_SYMLINK_NOFOLLOW))
			continue;
		if (S_ISDIR(st.st_mode))
			result = hide(stage, host, below,
			    all || (st.st_mode & S_IXOTH) == 0, fail);
		else if (S_ISREG(st.st_mode) &&
		    (all || (st.st_mode & S_IROTH) == 0))
			result = put(stage, below, SLICE(""), fail);
	}
	closedir(dir);
	return result;
}

static int
put_hosts(int stage, const char *host, struct fail *fail)
{
	char text[512];

	snprintf(text, sizeof(text),
	    "127.0.0.1\tlocalhost\n"
	    "127.0.1.1\t%s\n"
	    "::1\tlocalhost ip6-localhost ip6-loopback\n",
	    host);
	if (put(stage, "/hosts", slice_of_str(text), fail) == -1)
		return -1;
	snprintf(text, sizeof(text), "%s\n", host);
	return put(stage, "/hostname", slice_of_str(text), fail);
}

static int
fill(int stage, const char *etc, const struct view *view, struct fail *fail)
{
	if (view->root && hide(stage, etc, "", false, fail) == -1)
		return -1;
	for (size_t i = 0; i < view->n_files; i++) {
		const struct view_file *f = &view->files[i];
		if (!path_is_clean(f->path) || !path_is_below(f->path, "/etc"))
			return fail_set(fail, ERR_MESSAGE,
			    "%s is no file in /etc", f->path);
		if (put(stage, f->path + strlen("/etc"), f->data, fail) == -1)
			return -1;
	}
	/* Ours last: no file of the caller's stands in for them. */
	if (put(stage, "/resolv.conf", slice_of_str(resolv), fail) == -1 ||
	    put(stage, "/nsswitch.conf", slice_of_str(nsswitch), fail) == -1 ||
	    put_hosts(stage, view->host, fail) == -1)
		return -1;
	return 0;
}

static int
make_overlay(const char *stage, const char *host)
{
	char lower[128];
	const char *options[] = { "lowerdir", lower, NULL, NULL };

	snprintf(lower, sizeof(lower), "%s:%s", stage, host);
	return mount_new("overlay", options, MOUNT_READ);
}

/* Without an overlay: the host's entries are bound into `stage`, one by one. */
static int
make_merged(int stage, const char *host, struct fail *fail)
{
	int from = open(host, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (from == -1)
		return fail_errno(fail, "cannot open the host's /etc");
	int filled = merge_fill(stage, from, fail);
	close(from);
	if (filled == -1)
		return -1;
	int tree = mount_copy(stage, MOUNT_READ);
	if (tree == -1)
		return fail_refused(fail, FAIL_MOUNT, "cannot show /etc");
	return tree;
}

int
etc_make(const struct view *view, const char *stage, const char *host,
    struct fail *fail)
{
	int fd = open(stage, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd == -1)
		return fail_errno(fail, "cannot open %s", stage);
	if (fill(fd, host, view, fail) == -1) {
		close(fd);
		return -1;
	}
	int tree = make_overlay(stage, host);
	/* Something is mounted in /etc, or it is an overlay on an overlay. */
	if (tree == -1 && errno == EINVAL)
		tree = make_merged(fd, host, fail);
	else if (tree == -1)
		fail_refused(fail, FAIL_OVERLAY,
		    "cannot mount an overlay over /etc");
	close(fd);
	return tree;
}
