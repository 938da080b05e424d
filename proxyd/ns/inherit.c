/* SPDX-License-Identifier: Apache-2.0 */
/* What the command would inherit from the caller: judged in the monitor. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/mem.h"
#include "ns/child.h"
#include "ns/env.h"
#include "ns/path.h"

#define MEMORY_MAJOR 1 /* null, zero, full, random, urandom: devices.txt */
#define NULL_MINOR 3

/* An end of a socketpair(): neither it nor its peer has a name, so it leads
 * to no program that listens. */
static bool
is_unnamed_unix(int fd)
{
	struct sockaddr_storage sa;
	int domain = 0;
	socklen_t n = sizeof(domain);

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &n) == -1 ||
	    domain != AF_UNIX)
		return false;
	n = sizeof(sa);
	if (getsockname(fd, (struct sockaddr *)&sa, &n) == -1 ||
	    n != sizeof(sa_family_t))
		return false;
	n = sizeof(sa);
	return getpeername(fd, (struct sockaddr *)&sa, &n) == 0 &&
	    n == sizeof(sa_family_t);
}

static bool
is_harmless(int fd, const struct stat *st)
{
	if (S_ISREG(st->st_mode) || S_ISFIFO(st->st_mode))
		return true;
	if (S_ISSOCK(st->st_mode))
		return is_unnamed_unix(fd);
	if (!S_ISCHR(st->st_mode))
		return false;
	return isatty(fd) == 1 ||
	    (major(st->st_rdev) == MEMORY_MAJOR &&
		minor(st->st_rdev) >= NULL_MINOR);
}

static const char *
kind_of(const struct stat *st)
{
	if (S_ISDIR(st->st_mode))
		return "a directory";
	if (S_ISSOCK(st->st_mode))
		return "a socket";
	if (S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode))
		return "a device";
	return "of another kind";
}

static int
check_standard(int fd, struct fail *fail)
{
	static const char *const names[] = { "input", "output", "error" };
	struct stat st;

	if (fstat(fd, &st) == -1) {
		/* 0 to fd - 1 are open, so this becomes fd. */
		int null = open("/dev/null", O_RDWR);
		if (null != fd)
			return fail_errno(fail, "cannot open /dev/null");
		return 0;
	}
	if (is_harmless(fd, &st))
		return 0;
	return fail_set(fail, ERR_DENIED,
	    "standard %s is %s: the command could reach the host by it. Give "
	    "it a terminal, a pipe, a file or /dev/null instead.",
	    names[fd], kind_of(&st));
}

int
child_check(const struct child *child, struct fail *fail)
{
	for (int fd = 0; fd <= 2; fd++)
		if (check_standard(fd, fail) == -1)
			return -1;
	for (size_t i = 0; i < child->n_keep_fd; i++) {
		struct stat st;
		int fd = child->keep_fd[i];
		if (fstat(fd, &st) == -1)
			return fail_errno(fail, "--keep-fd %d", fd);
		if (fd > 2 && (S_ISFIFO(st.st_mode) || S_ISREG(st.st_mode)))
			continue;
		return fail_set(fail, ERR_DENIED,
		    "--keep-fd %d: it has to be a pipe or a regular file, "
		    "above 2",
		    fd);
	}
	return 0;
}

static char *
executable(const char *path)
{
	struct stat st;

	if (access(path, X_OK) == -1 || stat(path, &st) == -1 ||
	    !S_ISREG(st.st_mode))
		return NULL;
	return realpath(path, NULL);
}

void
child_host_path(const struct child *child, char **path)
{
	char one[PATH_MAX];
	const char *name = child->argv[0];
	const char *list = getenv("PATH");

	*path = NULL;
	if (strchr(name, '/') != NULL) {
		*path = executable(name);
		return;
	}
	while (*path == NULL && list != NULL && *list != '\0') {
		size_t n = strcspn(list, ":");
		int size = snprintf(one, sizeof(one), "%.*s/%s",
		    n == 0 ? 1 : (int)n, n == 0 ? "." : list, name);
		if (size > 0 && (size_t)size < sizeof(one))
			*path = executable(one);
		list += n + (list[n] == ':');
	}
}
