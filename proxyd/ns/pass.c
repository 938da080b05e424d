/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "ns/pass.h"

union control {
	char bytes[CMSG_SPACE(sizeof(int) * PASS_FD_MAX)];
	struct cmsghdr align;
};

int
pass_send(int channel, struct slice data, const int *fd, size_t n_fd)
{
	union control control = { 0 };
	char copy[PASS_SIZE_MAX];
	struct iovec iov = { .iov_base = copy, .iov_len = data.n };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (data.n > sizeof(copy) || n_fd > PASS_FD_MAX) {
		errno = EMSGSIZE;
		return -1;
	}
	memcpy(copy, data.p, data.n);
	if (n_fd != 0) {
		msg.msg_control = control.bytes;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * n_fd);
		struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(sizeof(int) * n_fd);
		memcpy(CMSG_DATA(c), fd, sizeof(int) * n_fd);
	}
	ssize_t n;
	do {
		n = sendmsg(channel, &msg, MSG_NOSIGNAL);
	} while (n == -1 && errno == EINTR);
	return n == -1 ? -1 : 0;
}

static void
take_fds(struct msghdr *msg, int *fd)
{
	size_t n = 0;

	for (size_t i = 0; i < PASS_FD_MAX; i++)
		fd[i] = -1;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c != NULL;
	     c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_RIGHTS)
			continue;
		size_t have = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < have && n < PASS_FD_MAX; i++)
			memcpy(&fd[n++], CMSG_DATA(c) + i * sizeof(int),
			    sizeof(int));
	}
}

ssize_t
pass_receive(int channel, void *data, int *fd)
{
	union control control;
	struct iovec iov = { .iov_base = data, .iov_len = PASS_SIZE_MAX };
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes),
	};
	ssize_t n;

	do {
		n = recvmsg(channel, &msg, MSG_CMSG_CLOEXEC);
	} while (n == -1 && errno == EINTR);
	if (n == -1) {
		msg.msg_controllen = 0;
		take_fds(&msg, fd);
		return -1;
	}
	take_fds(&msg, fd);
	if ((msg.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) == 0)
		return n;
	for (size_t i = 0; i < PASS_FD_MAX; i++)
		if (fd[i] != -1)
			close(fd[i]);
	for (size_t i = 0; i < PASS_FD_MAX; i++)
		fd[i] = -1;
	errno = EMSGSIZE;
	return -1;
}
