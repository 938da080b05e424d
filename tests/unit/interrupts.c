/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "interrupts.h"

static unsigned calls;

static bool
is_interrupted(void)
{
	if (++calls % 2 == 0)
		return false;
	errno = EINTR;
	return true;
}

/* A test in which nothing was interrupted has shown nothing. */
__attribute__((destructor)) static void
check_at_the_end(void)
{
	if (calls == 0) {
		fprintf(stderr, "no system call was interrupted\n");
		_Exit(1);
	}
}

#define WRAP(type, name, parameters, arguments)                         \
	type __wrap_##name parameters;                                  \
	type __wrap_##name parameters                                   \
	{                                                               \
		return is_interrupted() ? -1 : __real_##name arguments; \
	}

WRAP(ssize_t, read, (int fd, void *p, size_t n), (fd, p, n))
WRAP(ssize_t, write, (int fd, const void *p, size_t n), (fd, p, n))
WRAP(ssize_t, recv, (int fd, void *p, size_t n, int f), (fd, p, n, f))
WRAP(ssize_t, send, (int fd, const void *p, size_t n, int f), (fd, p, n, f))
WRAP(ssize_t, recvmsg, (int fd, struct msghdr *m, int f), (fd, m, f))
WRAP(ssize_t, sendmsg, (int fd, const struct msghdr *m, int f), (fd, m, f))
WRAP(int, accept4, (int fd, struct sockaddr *sa, socklen_t *n, int f),
    (fd, sa, n, f))
WRAP(int, fdatasync, (int fd), (fd))
