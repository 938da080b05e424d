/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Connections of HTTP/2 of both sides against a peer that sends anything, and
 * owners that do anything, in any order.
 *
 * The input is a row of actions: a byte says which, what it needs follows.
 * Both connections have the honest begin of their peer already.
 */
#include <event2/event.h>

#include "base/buf.h"
#include "base/rd.h"
#include "fuzz.h"
#include "http/h2_stream.h"

#define STREAMS 64
#define SIDES 2 /* a server of ours, and a client */

struct side {
	struct h2_conn *c;
	struct stream *bytes;	   /* NULL: closed */
	struct stream *s[STREAMS]; /* of the owner; NULL: closed */
	size_t n;
	struct buf in; /* from the peer, not read yet */
	size_t window; /* bytes that the peer takes */
	bool ended;
};

struct end {
	struct stream base; /* first */
	struct side *side;
};

static struct loop *loop;

/* --- the peer's end ------------------------------------------------------- */

static enum stream_io
end_read(struct stream *s, uint8_t *p, size_t max, size_t *n)
{
	struct side *side = ((struct end *)s)->side;

	if (side->in.n == 0)
		return side->ended ? STREAM_IO_EOF : STREAM_IO_READ;
	*n = side->in.n < max ? side->in.n : max;
	memcpy(p, side->in.p, *n);
	buf_drop(&side->in, *n);
	return STREAM_IO_OK;
}

/* What we send is whole frames: headers of nine bytes, none too long. */
static enum stream_io
end_write(struct stream *s, const uint8_t *p UNUSED, size_t n, size_t *done)
{
	struct side *side = ((struct end *)s)->side;

	if (side->window == 0)
		return STREAM_IO_WRITE;
	*done = n < side->window ? n : side->window;
	side->window -= *done;
	return STREAM_IO_OK;
}

static enum stream_io
end_shut(struct stream *s UNUSED)
{
	return STREAM_IO_OK;
}

static void
end_free(struct stream *s)
{
	((struct end *)s)->side->bytes = NULL;
	free(s);
}

static const struct stream_ops end_ops = {
	.read = end_read,
	.write = end_write,
	.shut = end_shut,
	.free = end_free,
};

/* --- owners --------------------------------------------------------------- */

static void
on_stream(struct stream *s, void *arg UNUSED)
{
	CHECK(!s->closed);
}

static void
on_request(struct h2_conn *c, struct stream *s, void *arg)
{
	static struct http_request req;
	struct side *side = arg;
	struct parse_fail fail;
	struct buf head;

	CHECK(h2_is_stream(s));
	buf_init(&head, LIMIT_HEAD_SIZE);
	memset(&req, 0, sizeof(req));
	if (h2_read_request(s, &req, &head, &fail) == PARSE_DONE)
		CHECK(lies_in(req.method, buf_slice(&head)));
	buf_release(&head);
	CHECK(h2_n_streams(c) <= 3 * LIMIT_H2_STREAMS);
	if (side->n == STREAMS) {
		stream_close(s);
		return;
	}
	stream_on(s, on_stream, side);
	side->s[side->n++] = s;
}

static void
on_news(struct h2_conn *c, void *arg UNUSED)
{
	CHECK(!h2_is_over(c) || h2_is_broken(c));
}

static const struct h2_conn_ops ops = { on_request, on_news };

static void
turn(struct side *sides)
{
	for (int i = 0; i < 4; i++) {
		for (size_t j = 0; j < SIDES; j++)
			if (sides[j].bytes != NULL)
				stream_wake(sides[j].bytes);
		event_base_loop(loop_base(loop), EVLOOP_NONBLOCK);
	}
}

static void
begin(struct side *side, bool is_server)
{
	struct end *e = calloc(1, sizeof(*e));
	enum err err;

	CHECK(e != NULL);
	*side = (struct side){ .window = SIZE_MAX };
	buf_init(&side->in, 1 << 22);
	e->side = side;
	CHECK(stream_init(&e->base, &end_ops, loop, -1, &err) == 0);
	side->bytes = &e->base;
	side->c = (is_server ? h2_accept : h2_connect)(loop, &e->base, &ops,
	    side, &err);
	CHECK(side->c != NULL);
	if (is_server)
		CHECK(buf_put(&side->in,
		    SLICE("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")));
	CHECK(buf_put(&side->in, SLICE("\0\0\0\4\0\0\0\0\0")));
}

static void
finish(struct side *sides)
{
	for (size_t j = 0; j < SIDES; j++) {
		for (size_t i = 0; i < sides[j].n; i++)
			stream_close(sides[j].s[i]);
		h2_close(sides[j].c);
	}
	turn(sides);
	for (size_t j = 0; j < SIDES; j++) {
		CHECK(sides[j].bytes == NULL);
		buf_release(&sides[j].in);
	}
}

/* --- actions -------------------------------------------------------------- */

static const struct host host = { .text = "ok.test", .n = 7 };

static void
put_head(struct stream *s, bool is_server, uint8_t how)
{
	static struct field_list fields;
	struct http_new_request req = { .method = SLICE("POST"),
		.path = SLICE("/"),
		.host = &host,
		.fields = &fields };
	struct http_new_response res = { .fields = &fields };
	bool early = (how & 6) == 2;

	fields.n = 1;
	fields.at[0] =
	    (struct field){ .name = SLICE("a"), .value = SLICE("b") };
	res.status = early ? 103 : 200;
	if (is_server)
		(void)!h2_put_response(s, &res, !early && (how & 1));
	else
		(void)!h2_put_request(s, &req, how & 1);
}

static void
read_more(struct stream *s)
{
	static struct http_response res;
	static struct field_list fields;
	struct parse_fail fail;
	struct buf head;

	buf_init(&head, LIMIT_HEAD_SIZE);
	memset(&res, 0, sizeof(res));
	(void)!h2_read_response(s, SLICE("GET"), &res, &head, &fail);
	if (stream_is_eof(s))
		(void)!h2_read_trailers(s, &fields, &head, &fail);
	buf_release(&head);
}

static void
open_stream(struct side *side)
{
	enum err err;

	if (side->n == STREAMS || !h2_may_open(side->c))
		return;
	struct stream *s = h2_open(side->c, &err);
	CHECK(s != NULL);
	stream_on(s, on_stream, side);
	side->s[side->n++] = s;
}

static void
act_on_stream(struct side *side, bool is_server, struct rd *r)
{
	static const uint8_t zeros[LIMIT_BACKLOG_SIZE];
	static const struct field_list none;
	uint8_t what = rd_u8(r), how = rd_u8(r);
	struct stream *s = side->n == 0 ? NULL : side->s[how % side->n];

	if (s == NULL)
		return;
	switch (what % 8) {
	case 0:
		put_head(s, is_server, rd_u8(r));
		break;
	case 1:
		(void)!stream_put(s,
		    slice_first(slice_of(zeros, stream_room(s)),
			(size_t)rd_u16(r)));
		break;
	case 2:
		stream_take(s, stream_peek(s).n / (1 + (how & 1)));
		break;
	case 3:
		stream_shut(s);
		break;
	case 4:
		(void)!h2_put_trailers(s, &none);
		break;
	case 5:
		h2_reset(s, rd_u8(r));
		break;
	case 6:
		read_more(s);
		break;
	default:
		side->s[how % side->n] = NULL;
		stream_close(s);
	}
}

/* A frame that is one; else bytes. */
static void
put_bytes(struct side *side, struct rd *r, bool is_frame)
{
	uint8_t head[9] = { 0 };
	struct wr w = wr_of(head, sizeof(head));

	if (is_frame) {
		uint8_t type = rd_u8(r), flags = rd_u8(r), stream = rd_u8(r);
		struct slice payload = rd_slice8(r);
		wr_number(&w, payload.n, 3);
		wr_u8(&w, type);
		wr_u8(&w, flags);
		wr_u32(&w, stream);
		(void)!buf_put(&side->in, wr_slice(&w));
		(void)!buf_put(&side->in, payload);
	} else {
		(void)!buf_put(&side->in, rd_slice8(r));
	}
}

static void
act(struct side *sides, struct rd *r)
{
	uint8_t what = rd_u8(r);
	struct side *side = &sides[what & 1];
	bool is_server = (what & 1) == 0;

	switch (what >> 1 & 7) {
	case 0:
	case 1:
		put_bytes(side, r, true);
		break;
	case 2:
		put_bytes(side, r, false);
		break;
	case 3:
		turn(sides);
		break;
	case 4:
		if (is_server)
			h2_shut(side->c);
		else
			open_stream(side);
		break;
	case 5:
		if (what & 0x80)
			side->ended = true;
		else
			side->window = what & 0x40 ? SIZE_MAX : rd_u8(r);
		break;
	default:
		act_on_stream(side, is_server, r);
	}
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct side sides[SIDES];
	struct rd r = rd_of((struct slice){ data, size });
	enum err err;

	if (loop == NULL)
		loop = loop_new(&err);
	CHECK(loop != NULL);
	begin(&sides[0], true);
	begin(&sides[1], false);
	turn(sides);
	while (!r.bad && r.in.n != 0)
		act(sides, &r);
	turn(sides);
	finish(sides);
	return 0;
}
