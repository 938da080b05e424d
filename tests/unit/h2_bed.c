/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <stdlib.h>

#include <event2/event.h>

#include "h2_bed.h"

/* --- pipes ---------------------------------------------------------------- */

struct end {
	struct stream base; /* first */
	struct h2_pipe *in, *out;
};

static enum stream_io
end_read(struct stream *s, uint8_t *p, size_t max, size_t *n)
{
	struct h2_pipe *in = ((struct end *)s)->in;

	if (in->broken) {
		stream_fail(s, REASON_INTERNAL, "connection reset");
		return STREAM_IO_BROKEN;
	}
	if (in->bytes.n == 0)
		return in->ended ? STREAM_IO_EOF : STREAM_IO_READ;
	*n = in->bytes.n < max ? in->bytes.n : max;
	if (*n > in->cut)
		*n = in->cut;
	memcpy(p, in->bytes.p, *n);
	buf_drop(&in->bytes, *n);
	return STREAM_IO_OK;
}

static enum stream_io
end_write(struct stream *s, const uint8_t *p, size_t n, size_t *done)
{
	struct h2_pipe *out = ((struct end *)s)->out;

	if (out->broken) {
		stream_fail(s, REASON_INTERNAL, "connection reset");
		return STREAM_IO_BROKEN;
	}
	if (out->bytes.n >= out->window)
		return STREAM_IO_WRITE;
	*done = n < out->window - out->bytes.n ? n : out->window - out->bytes.n;
	assert_true(buf_put(&out->bytes, slice_of(p, *done)));
	out->n += *done;
	return STREAM_IO_OK;
}

static enum stream_io
end_shut(struct stream *s)
{
	((struct end *)s)->out->ended = true;
	return STREAM_IO_OK;
}

static void
end_free(struct stream *s)
{
	struct end *e = (struct end *)s;

	e->in->reader = NULL;
	e->out->ended = true;
	free(e);
}

static const struct stream_ops end_ops = {
	.read = end_read,
	.write = end_write,
	.shut = end_shut,
	.free = end_free,
};

static struct stream *
end_new(struct loop *l, struct h2_pipe *in, struct h2_pipe *out)
{
	struct end *e = calloc(1, sizeof(*e));
	enum err err;

	assert_non_null(e);
	e->in = in;
	e->out = out;
	assert_int_equal(stream_init(&e->base, &end_ops, l, -1, &err), 0);
	in->reader = &e->base;
	return &e->base;
}

static void
pipe_init(struct h2_pipe *p)
{
	*p = (struct h2_pipe){ .cut = SIZE_MAX, .window = SIZE_MAX };
	buf_init(&p->bytes, 32 << 20);
}

/* --- sides ---------------------------------------------------------------- */

static void
on_request(struct h2_conn *c UNUSED, struct stream *s, void *arg)
{
	struct h2_side *side = arg;

	assert_true(side->n < H2_BED_STREAMS);
	side->s[side->n++] = s;
	if (side->drops) {
		stream_close(s);
		side->s[side->n - 1] = NULL;
	}
}

static void
on_news(struct h2_conn *c UNUSED, void *arg)
{
	struct h2_side *side = arg;

	side->n_news++;
}

static const struct h2_conn_ops conn_ops = { on_request, on_news };

void
h2_bed_init(struct h2_bed *b, enum h2_bed_kind kind)
{
	enum err err;

	memset(b, 0, sizeof(*b));
	b->loop = loop_new(&err);
	assert_non_null(b->loop);
	pipe_init(&b->to_server);
	pipe_init(&b->to_client);
	if (kind != H2_BED_CLIENT) {
		b->server.c = h2_accept(b->loop, h2_bed_end(b), &conn_ops,
		    &b->server, &err);
		assert_non_null(b->server.c);
	}
	if (kind != H2_BED_SERVER) {
		b->client.c = h2_connect(b->loop,
		    end_new(b->loop, &b->to_client, &b->to_server), &conn_ops,
		    &b->client, &err);
		assert_non_null(b->client.c);
	}
}

struct stream *
h2_bed_end(struct h2_bed *b)
{
	return end_new(b->loop, &b->to_server, &b->to_client);
}

void
h2_bed_turn(struct h2_bed *b)
{
	for (int i = 0; i < 40; i++) {
		if (b->to_server.reader != NULL)
			stream_wake(b->to_server.reader);
		if (b->to_client.reader != NULL)
			stream_wake(b->to_client.reader);
		event_base_loop(loop_base(b->loop), EVLOOP_NONBLOCK);
	}
}

static void
close_side(struct h2_side *side)
{
	for (size_t i = 0; i < side->n; i++)
		stream_close(side->s[i]);
	h2_close(side->c);
}

void
h2_bed_release(struct h2_bed *b)
{
	close_side(&b->server);
	close_side(&b->client);
	h2_bed_turn(b);
	assert_null(b->to_server.reader);
	assert_null(b->to_client.reader);
	buf_release(&b->to_server.bytes);
	buf_release(&b->to_client.bytes);
	loop_free(b->loop);
}

/* --- frames --------------------------------------------------------------- */

void
h2_put_frame(struct buf *b, uint8_t type, uint8_t flags, uint32_t stream,
    struct slice payload)
{
	uint8_t head[9];
	struct wr w = wr_of(head, sizeof(head));

	wr_number(&w, payload.n, 3);
	wr_u8(&w, type);
	wr_u8(&w, flags);
	wr_u32(&w, stream);
	assert_true(buf_put(b, wr_slice(&w)) && buf_put(b, payload));
}

/* RFC 7541 5.1 with a prefix of 7 bits, not Huffman. */
static void
put_string(struct buf *b, struct slice s)
{
	size_t n = s.n;

	buf_put_byte(b, n < 127 ? (uint8_t)n : 127);
	if (n >= 127) {
		for (n -= 127; n >= 128; n >>= 7)
			buf_put_byte(b, (uint8_t)(n | 0x80));
		buf_put_byte(b, (uint8_t)n);
	}
	assert_true(buf_put(b, s));
}

void
h2_put_fields(struct buf *b, const char *lines)
{
	while (*lines != '\0') {
		size_t n = strcspn(lines, "\n"), bar = strcspn(lines, "|");
		assert_true(bar < n);
		buf_put_byte(b, 0); /* literal, without indexing */
		put_string(b, slice_of(lines, bar));
		put_string(b, slice_of(lines + bar + 1, n - bar - 1));
		lines += n + (lines[n] == '\n');
	}
}

void
h2_put_head(struct buf *b, uint8_t flags, uint32_t stream, const char *lines)
{
	struct buf fields;

	buf_init(&fields, 1 << 20);
	h2_put_fields(&fields, lines);
	h2_put_frame(b, NGHTTP2_HEADERS, flags | NGHTTP2_FLAG_END_HEADERS,
	    stream, buf_slice(&fields));
	buf_release(&fields);
}

void
h2_put_hello(struct buf *b, bool is_client)
{
	if (is_client)
		assert_true(buf_put(b, SLICE(PREFACE)));
	h2_put_frame(b, NGHTTP2_SETTINGS, 0, 0, SLICE(""));
}

bool
h2_take_frame(struct slice *in, struct h2_frame *f)
{
	if (in->n < 9)
		return false;
	size_t n = (size_t)in->p[0] << 16 | (size_t)in->p[1] << 8 | in->p[2];
	if (in->n < 9 + n)
		return false;
	f->type = in->p[3];
	f->flags = in->p[4];
	f->stream = h2_u32(*in, 5);
	f->payload = slice_of(in->p + 9, n);
	*in = slice_from(*in, 9 + n);
	return true;
}

/* Behind a client's preface, if there is one. */
static struct slice
frames_of(struct slice in)
{
	return slice_has_prefix(in, SLICE(PREFACE)) ?
	    slice_from(in, sizeof(PREFACE) - 1) :
	    in;
}

struct h2_frame
h2_last_frame(struct slice in, uint8_t type, uint32_t stream)
{
	struct h2_frame f, found = { .type = 0xff };

	in = frames_of(in);
	while (h2_take_frame(&in, &f))
		if (f.type == type && (stream == 0 || f.stream == stream))
			found = f;
	assert_int_equal(in.n, 0);
	if (found.type != type)
		fail_msg("no frame of type %u", type);
	return found;
}

size_t
h2_count_frames(struct slice in, uint8_t type)
{
	struct h2_frame f;
	size_t n = 0;

	in = frames_of(in);
	while (h2_take_frame(&in, &f))
		n += f.type == type;
	return n;
}

uint32_t
h2_u32(struct slice payload, size_t at)
{
	assert_true(at + 4 <= payload.n);
	return (uint32_t)payload.p[at] << 24 |
	    (uint32_t)payload.p[at + 1] << 16 |
	    (uint32_t)payload.p[at + 2] << 8 | payload.p[at + 3];
}

/* --- messages ------------------------------------------------------------- */

struct stream *
h2_bed_ask(struct h2_side *client, const char *method, bool end)
{
	static const struct host host = { .text = "ok.test", .n = 7 };
	struct field_list fields = { .n = 1 };
	struct http_new_request r = {
		.method = slice_of_str(method),
		.path = SLICE("/a"),
		.host = &host,
		.fields = &fields,
		.body = HTTP_BODY_OPEN,
	};
	enum err err;
	struct stream *s = h2_open(client->c, &err);

	assert_non_null(s);
	fields.at[0] =
	    (struct field){ .name = SLICE("accept"), .value = SLICE("*/*") };
	assert_true(h2_put_request(s, &r, end));
	client->s[client->n++] = s;
	return s;
}

void
h2_bed_answer(struct stream *s, unsigned status, bool end)
{
	struct field_list fields = { .n = 0 };
	struct http_new_response r = { .status = status, .fields = &fields };

	assert_true(h2_put_response(s, &r, end));
}

void
h2_bed_read(struct stream *s, struct http_request *req)
{
	struct parse_fail fail = { .detail = "" };
	struct buf head;

	buf_init(&head, LIMIT_HEAD_SIZE);
	memset(req, 0, sizeof(*req));
	if (h2_read_request(s, req, &head, &fail) != PARSE_DONE)
		fail_msg("%s", fail.detail);
	buf_release(&head); /* the caller reads no text of it */
}

unsigned
h2_bed_status(struct stream *s)
{
	struct http_response res = { .status = 0 };
	struct parse_fail fail = { .detail = "" };
	struct buf head;

	buf_init(&head, LIMIT_HEAD_SIZE);
	if (h2_read_response(s, SLICE("GET"), &res, &head, &fail) == PARSE_BAD)
		fail_msg("%s", fail.detail);
	buf_release(&head);
	return res.status;
}
