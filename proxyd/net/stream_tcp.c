/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/socket.h>

#include <errno.h>
#include <unistd.h>

#include "net/stream_tcp.h"

struct stream_tcp {
	struct stream base; /* first */
	bool drained;	    /* the last read took all: skip one that would
			     * only say so */
};

enum stream_io
stream_tcp_error(struct stream *s, int number)
{
	if (number == EAGAIN || number == EWOULDBLOCK || number == EINTR)
		return STREAM_IO_READ;
	stream_fail(s, REASON_INTERNAL,
	    number == ECONNRESET || number == EPIPE ? "connection reset" :
		number == ETIMEDOUT		    ? "connection timed out" :
						      "connection lost");
	return STREAM_IO_BROKEN;
}

static enum stream_io
tcp_read(struct stream *s, uint8_t *p, size_t max, size_t *n)
{
	struct stream_tcp *t = (struct stream_tcp *)s;

	if (t->drained) {
		t->drained = false;
		return STREAM_IO_READ;
	}
	ssize_t got = recv(s->fd, p, max, 0);
	if (got < 0)
		return stream_tcp_error(s, errno);
	if (got == 0)
		return STREAM_IO_EOF;
	*n = (size_t)got;
	t->drained = *n < max;
	return STREAM_IO_OK;
}

static enum stream_io
tcp_write(struct stream *s, const uint8_t *p, size_t n, size_t *done)
{
	ssize_t sent;

	/* At once, since stream_flush() has no second try. */
	do {
		sent = send(s->fd, p, n, MSG_NOSIGNAL);
	} while (sent < 0 && errno == EINTR);
	if (sent < 0) {
		enum stream_io io = stream_tcp_error(s, errno);
		return io == STREAM_IO_READ ? STREAM_IO_WRITE : io;
	}
	*done = (size_t)sent;
	return STREAM_IO_OK;
}

static enum stream_io
tcp_shut(struct stream *s)
{
	if (s->fd >= 0 && shutdown(s->fd, SHUT_WR) != 0)
		return stream_tcp_error(s, EPIPE);
	return STREAM_IO_OK;
}

static void
tcp_free(struct stream *s)
{
	free(s);
}

static const struct stream_ops ops = {
	.read = tcp_read,
	.write = tcp_write,
	.shut = tcp_shut,
	.free = tcp_free,
};

struct stream *
stream_tcp_new(struct loop *l, int fd, enum err *err)
{
	struct stream_tcp *t = calloc(1, sizeof(*t));

	if (t == NULL) {
		close(fd);
		*err = ERR_MEMORY;
		return NULL;
	}
	if (stream_init(&t->base, &ops, l, fd, err) != 0) {
		free(t);
		return NULL;
	}
	return &t->base;
}
