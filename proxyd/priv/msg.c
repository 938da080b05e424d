/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/socket.h>

#include <errno.h>
#include <unistd.h>

#include "base/log.h"
#include "base/rd.h"
#include "base/wr.h"
#include "priv/msg.h"

#define HEAD_SIZE 6 /* operation and id */

union control {
	char bytes[CMSG_SPACE(sizeof(int) * MSG_FDS_MAX)];
	struct cmsghdr align;
};

int
msg_send(int fd, const struct msg *m, enum err *err)
{
	uint8_t head[HEAD_SIZE];
	struct wr w = wr_of(head, sizeof(head));
	union control control;
	struct iovec parts[2] = {
		{ .iov_base = head, .iov_len = sizeof(head) },
		/* sendmsg does not write to it, its type just cannot say so. */
		{ .iov_base = (void *)(uintptr_t)m->body.p,
		    .iov_len = m->body.n },
	};
	struct msghdr packet = { .msg_iov = parts, .msg_iovlen = 2 };

	if (m->body.n > MSG_BODY_MAX || m->n_fds > MSG_FDS_MAX) {
		*err = ERR_MESSAGE;
		return -1;
	}
	wr_u16(&w, m->op);
	wr_u32(&w, m->id);
	if (m->n_fds != 0) {
		size_t n = sizeof(int) * m->n_fds;
		memset(&control, 0, sizeof(control));
		packet.msg_control = control.bytes;
		packet.msg_controllen = CMSG_SPACE(n);
		struct cmsghdr *c = CMSG_FIRSTHDR(&packet);
		c->cmsg_level = SOL_SOCKET;
		c->cmsg_type = SCM_RIGHTS;
		c->cmsg_len = CMSG_LEN(n);
		memcpy(CMSG_DATA(c), m->fds, n);
	}
	ssize_t sent;
	do
		sent = sendmsg(fd, &packet, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (sent < 0 && errno == EINTR);
	if (sent >= 0)
		return 0;
	*err = errno == ENOBUFS ? ERR_AGAIN : err_from_errno(errno);
	return -1;
}

/* Note the descriptors of one control message; too many are closed. */
static void
collect(struct msg *m, const struct cmsghdr *c)
{
	size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

	for (size_t i = 0; i < n; i++) {
		int got;
		memcpy(&got, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
		if (m->n_fds < MSG_FDS_MAX)
			m->fds[m->n_fds++] = got;
		else
			close(got);
	}
}

int
msg_recv(int fd, uint8_t *packet, struct msg *m, enum err *err)
{
	union control control;
	struct iovec part = { .iov_base = packet, .iov_len = MSG_SIZE_MAX };
	struct msghdr h = { .msg_iov = &part,
		.msg_iovlen = 1,
		.msg_control = control.bytes,
		.msg_controllen = sizeof(control.bytes) };
	ssize_t n;

	*m = (struct msg){ 0 };
	/*
	 * Who closes with something unread leaves ECONNRESET before what it
	 * had sent: said once, and the last words stand behind it.
	 */
	do
		n = recvmsg(fd, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	while (n < 0 && (errno == EINTR || errno == ECONNRESET));
	if (n <= 0) {
		*err = n == 0 ? ERR_CLOSED : err_from_errno(errno);
		return -1;
	}
	for (struct cmsghdr *c = CMSG_FIRSTHDR(&h); c != NULL;
	     c = CMSG_NXTHDR(&h, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			collect(m, c);
	bool cut = (h.msg_flags & MSG_CTRUNC) != 0;
	if ((h.msg_flags & MSG_TRUNC) != 0 || n < HEAD_SIZE ||
	    (cut && m->n_fds == MSG_FDS_MAX)) {
		msg_close_fds(m);
		*err = ERR_MESSAGE;
		return -1;
	}
	/* We had no number left for a descriptor: that is no fault of the
	 * peer's.  Which of several are missing cannot be told. */
	if (cut)
		msg_close_fds(m);
	struct rd r = rd_of(slice_of(packet, (size_t)n));
	m->op = rd_u16(&r);
	m->id = rd_u32(&r);
	m->body = r.in;
	return 0;
}

void
msg_close_fds(struct msg *m)
{
	for (size_t i = 0; i < m->n_fds; i++)
		if (m->fds[i] >= 0)
			close(m->fds[i]);
	m->n_fds = 0;
}

int
msg_take_fd(struct msg *m, size_t i)
{
	if (i >= m->n_fds)
		return -1;
	int fd = m->fds[i];
	m->fds[i] = -1;
	return fd;
}
