/* SPDX-License-Identifier: Apache-2.0 */
#include <assert.h>
#include <stdlib.h>

#include "h2peer.h"

/* A body that is one text: what of it is left. */
struct h2text {
	struct h2text *next; /* of its peer's, until that ends */
	const char *at;
	bool trailers;
};

static void
look(struct h2peer *h, const uint8_t *p, size_t n)
{
	size_t m = h->needle == NULL ? 0 : strlen(h->needle);

	if (m != 0 && n != 0 && memmem(p, n, h->needle, m) != NULL)
		h->n_secret++;
}

static int
on_header(nghttp2_session *session, const nghttp2_frame *frame,
    const uint8_t *name, size_t n_name, const uint8_t *value, size_t n_value,
    uint8_t flags, void *arg)
{
	(void)session;
	(void)frame;
	(void)name;
	(void)n_name;
	(void)flags;
	look(arg, value, n_value);
	return 0;
}

static int
on_frame(nghttp2_session *session, const nghttp2_frame *frame, void *arg)
{
	struct h2peer *h = arg;
	bool ends = (frame->hd.flags & NGHTTP2_FLAG_END_STREAM) != 0;
	bool server = nghttp2_session_check_server_session(session);

	if (frame->hd.type == NGHTTP2_HEADERS) {
		h->n_heads++;
		h->n_trailers += frame->headers.cat == NGHTTP2_HCAT_HEADERS;
	}
	if (frame->hd.type == NGHTTP2_PING)
		h->n_pings++;
	if (frame->hd.type == NGHTTP2_RST_STREAM)
		h->n_resets++;
	if (frame->hd.type == NGHTTP2_GOAWAY)
		h->is_over = true;
	if (!ends ||
	    (frame->hd.type != NGHTTP2_HEADERS &&
		frame->hd.type != NGHTTP2_DATA))
		return 0;
	h->n_ends++;
	if (server && h->n_asked < H2PEER_STREAMS)
		h->asked[h->n_asked++] = frame->hd.stream_id;
	return 0;
}

static int
on_data(nghttp2_session *session, uint8_t flags, int32_t id, const uint8_t *p,
    size_t n, void *arg)
{
	struct h2peer *h = arg;

	(void)session;
	(void)flags;
	(void)id;
	look(h, p, n);
	h->n_data += n;
	return 0;
}

void
h2peer_begin(struct h2peer *h, struct peer *p, bool is_server)
{
	nghttp2_session_callbacks *cb;
	int error;

	assert(h->session == NULL);
	error = nghttp2_session_callbacks_new(&cb);
	assert(error == 0);
	nghttp2_session_callbacks_set_on_header_callback(cb, on_header);
	nghttp2_session_callbacks_set_on_frame_recv_callback(cb, on_frame);
	nghttp2_session_callbacks_set_on_data_chunk_recv_callback(cb, on_data);
	error = (is_server ? nghttp2_session_server_new :
			     nghttp2_session_client_new)(&h->session, cb, h);
	assert(error == 0);
	nghttp2_session_callbacks_del(cb);
	h->peer = p;
	error = nghttp2_submit_settings(h->session, NGHTTP2_FLAG_NONE, NULL, 0);
	assert(error == 0);
	h2peer_turn(h);
}

void
h2peer_release(struct h2peer *h)
{
	while (h->texts != NULL) {
		struct h2text *text = h->texts;
		h->texts = text->next;
		free(text);
	}
	nghttp2_session_del(h->session);
	*h = (struct h2peer){ 0 };
}

void
h2peer_turn(struct h2peer *h)
{
	struct peer *p = h->peer;
	const uint8_t *out;
	ssize_t n;

	if (h->session == NULL || h->is_gone)
		return;
	if (p->got.n > h->seen) {
		n = nghttp2_session_mem_recv(h->session, p->got.p + h->seen,
		    p->got.n - h->seen);
		h->is_over = h->is_over || n < 0;
		h->seen = p->got.n;
	}
	while ((n = nghttp2_session_mem_send(h->session, &out)) > 0)
		buf_put(&p->sends, slice_of(out, (size_t)n));
}

static ssize_t
on_read(nghttp2_session *session, int32_t id, uint8_t *p, size_t max,
    uint32_t *flags, nghttp2_data_source *source, void *arg)
{
	static nghttp2_nv trailer = { .name = (uint8_t *)(uintptr_t) "x-sum",
		.value = (uint8_t *)(uintptr_t) "7",
		.namelen = 5,
		.valuelen = 1 };
	struct h2text *text = source->ptr;
	size_t n = strlen(text->at);

	(void)arg;
	if (n > max)
		n = max;
	memcpy(p, text->at, n);
	text->at += n;
	if (*text->at != '\0')
		return (ssize_t)n;
	*flags = NGHTTP2_DATA_FLAG_EOF;
	if (text->trailers) {
		*flags |= NGHTTP2_DATA_FLAG_NO_END_STREAM;
		nghttp2_submit_trailer(session, id, &trailer, 1);
	}
	return (ssize_t)n;
}

static nghttp2_data_provider
body_of(struct h2peer *h, const char *body, bool trailers)
{
	struct h2text *text = calloc(1, sizeof(*text));

	assert(text != NULL);
	text->next = h->texts;
	h->texts = text;
	text->at = body;
	text->trailers = trailers;
	return (nghttp2_data_provider){ .source.ptr = text,
		.read_callback = on_read };
}

static nghttp2_nv
field(const char *name, const char *value)
{
	return (nghttp2_nv){ .name = (uint8_t *)(uintptr_t)name,
		.value = (uint8_t *)(uintptr_t)value,
		.namelen = strlen(name),
		.valuelen = strlen(value) };
}

int32_t
h2peer_ask(struct h2peer *h, const char *method, const char *authority,
    const char *path, const char *body)
{
	nghttp2_nv nv[] = { field(":method", method), field(":scheme", "https"),
		field(":authority", authority), field(":path", path) };
	nghttp2_data_provider data;

	if (body == NULL)
		return nghttp2_submit_request(h->session, NULL, nv,
		    COUNT_OF(nv), NULL, NULL);
	data = body_of(h, body, false);
	return nghttp2_submit_request(h->session, NULL, nv, COUNT_OF(nv), &data,
	    NULL);
}

static int32_t
oldest(struct h2peer *h)
{
	int32_t id;

	if (h->session == NULL || h->n_asked == 0)
		return 0;
	id = h->asked[0];
	memmove(h->asked, h->asked + 1, --h->n_asked * sizeof(h->asked[0]));
	return id;
}

bool
h2peer_answer(struct h2peer *h, const char *status, const char *body,
    bool trailers)
{
	nghttp2_nv nv[] = { field(":status", status) };
	nghttp2_data_provider data;
	int32_t id = oldest(h);

	if (id == 0)
		return false;
	if (body != NULL)
		data = body_of(h, body, trailers);
	return nghttp2_submit_response(h->session, id, nv, COUNT_OF(nv),
		   body == NULL ? NULL : &data) == 0;
}

bool
h2peer_reset(struct h2peer *h, uint32_t code)
{
	int32_t id = oldest(h);

	return id != 0 &&
	    nghttp2_submit_rst_stream(h->session, NGHTTP2_FLAG_NONE, id,
		code) == 0;
}
