/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/mman.h>
#include <sys/stat.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "priv/control_carry.h"

static int
write_all(int fd, struct slice bytes)
{
	while (bytes.n != 0) {
		ssize_t n = write(fd, bytes.p, bytes.n);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		bytes = slice_from(bytes, (size_t)n);
	}
	return 0;
}

int
control_carry_put(struct msg *m, struct slice bytes, enum err *err)
{
	if (bytes.n <= MSG_BODY_MAX) {
		m->body = bytes;
		return 0;
	}
	int fd = memfd_create("request", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || write_all(fd, bytes) != 0) {
		*err = err_from_errno(errno);
		if (fd >= 0)
			close(fd);
		return -1;
	}
	m->fds[m->n_fds++] = fd;
	return 0;
}

static int
read_all(int fd, size_t size, struct buf *out, enum err *err)
{
	uint8_t *p = buf_room(out, size);
	size_t done = 0;

	if (p == NULL) {
		*err = ERR_MEMORY;
		return -1;
	}
	while (done < size) {
		ssize_t n = pread(fd, p + done, size - done, (off_t)done);
		if (n < 0 && errno == EINTR)
			continue;
		/* Shorter than it was: its sender plays with it. */
		if (n <= 0) {
			*err = ERR_MESSAGE;
			return -1;
		}
		done += (size_t)n;
	}
	buf_added(out, size);
	return 0;
}

static int
read_file(int fd, struct buf *out, enum err *err)
{
	struct stat st;

	*err = ERR_MESSAGE;
	/* A pipe or a socket could keep us waiting; so could a file on a
	 * filesystem of the sender's, which no seal can be put on. */
	if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) ||
	    fcntl(fd, F_GET_SEALS) < 0 || st.st_size < 0 ||
	    (size_t)st.st_size > out->max - out->n)
		return -1;
	int result = read_all(fd, (size_t)st.st_size, out, err);
	if (ftruncate(fd, 0) != 0 && result == 0) {
		*err = ERR_MESSAGE;
		return -1;
	}
	return result;
}

int
control_carry_take(struct msg *m, struct buf *out, enum err *err)
{
	int fd = msg_take_fd(m, 0);

	if (fd < 0 || m->body.n != 0 || m->n_fds > 1) {
		bool good = fd < 0 && buf_put(out, m->body);
		if (fd >= 0)
			close(fd);
		*err = fd >= 0 ? ERR_MESSAGE : ERR_MEMORY;
		return good ? 0 : -1;
	}
	int result = read_file(fd, out, err);
	close(fd);
	return result;
}
