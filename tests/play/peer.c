/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>

#include "peer.h"

static enum stream_io
scripted_read(struct stream *s, uint8_t *p, size_t max, size_t *n)
{
	struct peer *peer = ((struct scripted *)s)->peer;

	if (peer == NULL)
		return STREAM_IO_READ;
	if (peer->sends.n != 0) {
		*n = peer->sends.n < max ? peer->sends.n : max;
		memcpy(p, peer->sends.p, *n);
		buf_drop(&peer->sends, *n);
		return STREAM_IO_OK;
	}
	if (peer->breaks) {
		stream_fail(s, REASON_INTERNAL, "connection reset");
		return STREAM_IO_BROKEN;
	}
	return peer->ends ? STREAM_IO_EOF : STREAM_IO_READ;
}

static enum stream_io
scripted_write(struct stream *s, const uint8_t *p, size_t n, size_t *done)
{
	struct peer *peer = ((struct scripted *)s)->peer;

	if (peer == NULL || peer->breaks) {
		stream_fail(s, REASON_INTERNAL, "connection reset");
		return STREAM_IO_BROKEN;
	}
	if (peer->got.n >= peer->window)
		return STREAM_IO_WRITE;
	if (n > peer->window - peer->got.n)
		n = peer->window - peer->got.n;
	buf_put(&peer->got, slice_of(p, n));
	if (!peer->is_client)
		peer->world->latest = peer;
	*done = n;
	return STREAM_IO_OK;
}

static enum stream_io
scripted_shut(struct stream *s)
{
	struct peer *peer = ((struct scripted *)s)->peer;

	if (peer != NULL)
		peer->saw_end = true;
	return STREAM_IO_OK;
}

static void
scripted_free(struct stream *s)
{
	struct peer *peer = ((struct scripted *)s)->peer;

	if (peer != NULL) {
		peer->closed = true;
		peer->stream = NULL;
	}
	free(s);
}

/* An upstream's handshake. */
static enum stream_io
scripted_start(struct stream *s)
{
	struct peer *peer = ((struct scripted *)s)->peer;

	if (!peer->breaks)
		return STREAM_IO_OK;
	stream_fail(s, REASON_UP_CERT, "handshake failed");
	return STREAM_IO_BROKEN;
}

static const struct stream_ops scripted_ops = {
	.read = scripted_read,
	.write = scripted_write,
	.shut = scripted_shut,
	.free = scripted_free,
};

static const struct stream_ops scripted_tls_ops = {
	.start = scripted_start,
	.read = scripted_read,
	.write = scripted_write,
	.shut = scripted_shut,
	.free = scripted_free,
};

struct stream *
peer_stream(struct peer *peer)
{
	struct scripted *s = calloc(1, sizeof(*s));
	enum err err;

	assert(s != NULL);
	s->peer = peer;
	int failed = stream_init(&s->base,
	    !peer->is_client && peer->is_tls ? &scripted_tls_ops :
					       &scripted_ops,
	    peer->world->loop, -1, &err);
	assert(failed == 0);
	peer->stream = &s->base;
	stream_wake(&s->base);
	return &s->base;
}

void
peer_init(struct peer *p, struct world *w)
{
	*p = (struct peer){ .world = w, .window = SIZE_MAX };
	buf_init(&p->sends, 16 << 20);
	buf_init(&p->got, 16 << 20);
}

void
peer_release(struct peer *p)
{
	buf_release(&p->sends);
	buf_release(&p->got);
}
