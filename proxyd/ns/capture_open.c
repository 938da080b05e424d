/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "ns/capture.h"

/* The machine's own namespace has this inode, in kernels that give it a fixed
 * one (linux/nsfs.h, NET_NS_INIT_INO); no other ever gets it. */
#define INITIAL_INODE 0xeffffff9

/* Is it the one whose file is at `path`? */
static bool
is_same(const struct stat *st, const char *path)
{
	struct stat other;

	return stat(path, &other) == 0 && other.st_dev == st->st_dev &&
	    other.st_ino == st->st_ino;
}

static int
check(int fd, const char *what, struct fail *fail)
{
	struct stat st;

	if (ioctl(fd, NS_GET_NSTYPE) != CLONE_NEWNET)
		return fail_set(fail, ERR_DENIED,
		    "%s is a namespace, but not of networks", what);
	if (fstat(fd, &st) == -1)
		return fail_errno(fail, "cannot look at %s", what);
	if (is_same(&st, "/proc/self/ns/net"))
		return fail_set(fail, ERR_DENIED,
		    "%s is duenna's own network namespace: a sandbox in it "
		    "would have duenna's way out. Give it one of its own.",
		    what);
	if (st.st_ino == INITIAL_INODE || is_same(&st, "/proc/1/ns/net"))
		return fail_set(fail, ERR_DENIED,
		    "%s is the machine's own network namespace. Give the "
		    "sandbox one of its own.",
		    what);
	return 0;
}

/*
 * Open a path for reading only once it is known to be a namespace's: to open
 * a device or a pipe may do something, or wait for ever.
 */
static int
open_path(const char *path, struct fail *fail)
{
	struct statfs fs;
	char self[64];
	int place = open(path, O_PATH | O_CLOEXEC);

	if (place == -1)
		return fail_errno(fail, "cannot open %s", path);
	if (fstatfs(place, &fs) == -1 || fs.f_type != NSFS_MAGIC) {
		close(place);
		return fail_set(fail, ERR_DENIED,
		    "%s is not the file of a namespace: expected one such as "
		    "/run/netns/NAME or /proc/PID/ns/net",
		    path);
	}
	snprintf(self, sizeof(self), "/proc/self/fd/%d", place);
	int fd = open(self, O_RDONLY | O_CLOEXEC);
	if (fd == -1)
		fail_errno(fail, "cannot open %s", path);
	close(place);
	return fd;
}

/*
 * The namespace of a process.  Its number is pinned first: if it is alive
 * after the opening, it was nobody else's meanwhile.
 */
static int
open_pid(uint32_t pid, struct fail *fail)
{
	char path[64];
	int pin = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);

	if (pin == -1 && (errno == ESRCH || errno == EINVAL))
		return fail_set(fail, ERR_MISSING, "there is no process %u",
		    pid);
	if (pin == -1)
		return fail_errno(fail, "cannot hold the process %u", pid);
	snprintf(path, sizeof(path), "/proc/%u/ns/net", pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int number = errno;
	bool alive = syscall(SYS_pidfd_send_signal, pin, 0, NULL, 0) == 0;
	close(pin);
	if (fd != -1 && alive)
		return fd;
	if (fd != -1)
		close(fd);
	if (!alive)
		return fail_set(fail, ERR_MISSING,
		    "the process %u ended meanwhile", pid);
	errno = number;
	return fail_errno(fail, "cannot open %s", path);
}

int
capture_open(const char *path, uint32_t pid, int *net_fd, struct fail *fail)
{
	char what[64];
	int fd;

	if (pid != 0) {
		snprintf(what, sizeof(what), "that of process %u", pid);
		fd = open_pid(pid, fail);
	} else
		fd = open_path(path, fail);
	if (fd == -1)
		return -1;
	if (check(fd, pid != 0 ? what : path, fail) == -1) {
		close(fd);
		return -1;
	}
	*net_fd = fd;
	return 0;
}
