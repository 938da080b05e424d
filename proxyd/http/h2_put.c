/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SETTINGS, heads, DATA and trailers of ours.  nghttp2 copies nothing: lists stay in a
 * block of ours until their frame was made, so that a credential is in no
 * memory that is not wiped; DATA goes from the stream's buffer into that of the
 * connection.
 */
#include <assert.h>
#include <stdlib.h>

#include "http/h2_part.h"

/* With its header it fills one TLS record. */
#define DATA_MAX (16384 - 9)
/* Pseudo fields, fields, length, te; credentials of a rule. */
#define FIELDS_MAX (FIELD_MAX + 32)

/* --- SETTINGS ------------------------------------------------------------ */

int
h2_submit_settings(struct h2_conn *c)
{
	const int32_t window =
	    c->is_server ? LIMIT_H2_CLIENT_WINDOW : LIMIT_H2_UPSTREAM_WINDOW;
	nghttp2_settings_entry e[] = {
		{ NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, (uint32_t)window },
		{ NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, LIMIT_HEAD_SIZE },
		{ NGHTTP2_SETTINGS_NO_RFC7540_PRIORITIES, 1 },
		{ 0, 0 },
		{ 0, 0 },
	};
	size_t n = 3;

	if (c->is_server)
		e[n++] = (nghttp2_settings_entry){
			NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS,
			LIMIT_H2_STREAMS
		};
	else
		e[n++] =
		    (nghttp2_settings_entry){ NGHTTP2_SETTINGS_ENABLE_PUSH, 0 };
	if (c->offer_connect)
		e[n++] = (nghttp2_settings_entry){
			NGHTTP2_SETTINGS_ENABLE_CONNECT_PROTOCOL, 1
		};
	int error =
	    nghttp2_submit_settings(c->session, NGHTTP2_FLAG_NONE, e, n);
	return error != 0 ? error :
			    nghttp2_session_set_local_window_size(c->session,
				NGHTTP2_FLAG_NONE, 0, c->windows);
}

/* --- lists ---------------------------------------------------------------- */

static size_t
vector(const struct h2_block *b, nghttp2_nv nv[FIELDS_MAX])
{
	struct slice rest = buf_slice(&b->fields);
	struct field f;
	size_t n = 0;

	while (n < FIELDS_MAX && h2_fields_take(&rest, &f)) {
		nv[n++] = (nghttp2_nv){
			.name = (uint8_t *)(uintptr_t)f.name.p,
			.value = (uint8_t *)(uintptr_t)f.value.p,
			.namelen = f.name.n,
			.valuelen = f.value.n,
			.flags = NGHTTP2_NV_FLAG_NO_COPY_NAME |
			    NGHTTP2_NV_FLAG_NO_COPY_VALUE |
			    (f.never_indexed ? NGHTTP2_NV_FLAG_NO_INDEX : 0),
		};
	}
	return rest.n == 0 ? n : 0;
}

/* A list written by one of these; NULL: no memory, or it does not fit. */
static struct h2_block *
block_of(const struct http_new_request *req,
    const struct http_new_response *res, const struct field_list *trailers)
{
	static uint8_t room[H2_WRITE_MAX(LIMIT_HEAD_SIZE)];
	struct wr w = wr_of(room, sizeof(room));
	struct h2_block *b = h2_block_new();

	if (b == NULL)
		return NULL;
	if (req != NULL)
		h2_put_request_list(&w, req);
	else if (res != NULL)
		h2_put_response_list(&w, res);
	else
		h2_put_trailer_list(&w, trailers);
	b->secret =
	    req != NULL && (req->n_credentials != 0 || req->n_parameters != 0);
	bool ok = !w.bad && buf_put(&b->fields, wr_slice(&w));
	if (b->secret)
		explicit_bzero(room, w.n);
	if (!ok) {
		h2_block_free(b);
		return NULL;
	}
	return b;
}

/* --- heads ---------------------------------------------------------------- */

static struct h2_stream *
ready_for_head(struct stream *base)
{
	struct h2_stream *s = (struct h2_stream *)base;

	assert(h2_is_stream(base));
	if (s->c == NULL || s->c->broken || s->put_head || base->broken ||
	    base->want_shut)
		return NULL;
	return s;
}

/* `error` is what nghttp2 said to the block's list. */
static bool
submitted(struct h2_stream *s, struct h2_block *b, int error, bool end)
{
	if (error < 0) {
		h2_block_free(b);
		return false;
	}
	STAILQ_INSERT_TAIL(&s->sending, b, entry);
	if (end)
		s->base.want_shut = true;
	h2_wake(s->c);
	return true;
}

bool
h2_put_request(struct stream *base, const struct http_new_request *r, bool end)
{
	struct h2_stream *s = ready_for_head(base);
	struct h2_block *b = s == NULL ? NULL : block_of(r, NULL, NULL);
	nghttp2_nv nv[FIELDS_MAX];

	if (b == NULL)
		return false;
	assert(!s->c->is_server);
	nghttp2_data_provider data = h2_data_of(s);
	s->id = nghttp2_submit_request(s->c->session, NULL, nv, vector(b, nv),
	    end ? NULL : &data, s);
	s->known = s->put_head = s->id > 0;
	if (s->known)
		s->c->n_begun++;
	return submitted(s, b, s->id, end);
}

bool
h2_put_response(struct stream *base, const struct http_new_response *r,
    bool end)
{
	struct h2_stream *s = ready_for_head(base);
	struct h2_block *b =
	    s == NULL || !s->known ? NULL : block_of(NULL, r, NULL);
	nghttp2_nv nv[FIELDS_MAX];
	int error;

	if (b == NULL)
		return false;
	assert(s->c->is_server && (r->status >= 200 || !end));
	size_t n = vector(b, nv);
	nghttp2_data_provider data = h2_data_of(s);
	if (r->status < 200) {
		error = nghttp2_submit_headers(s->c->session, NGHTTP2_FLAG_NONE,
		    s->id, NULL, nv, n, NULL);
	} else {
		error = nghttp2_submit_response(s->c->session, s->id, nv, n,
		    end ? NULL : &data);
		s->put_head = error == 0;
	}
	return submitted(s, b, error, end);
}

bool
h2_put_trailers(struct stream *base, const struct field_list *fields)
{
	struct h2_stream *s = (struct h2_stream *)base;

	assert(h2_is_stream(base));
	if (base->broken || base->want_shut || !s->put_head || !s->known)
		return false;
	if (fields->n != 0) {
		s->put_trailers = block_of(NULL, NULL, fields);
		if (s->put_trailers == NULL)
			return false;
	}
	stream_shut(base);
	return true;
}

/* --- DATA ----------------------------------------------------------------- */

/* The trailers are the next frame of this stream. */
static int
send_trailers(struct h2_stream *s)
{
	struct h2_block *b = s->put_trailers;
	nghttp2_nv nv[FIELDS_MAX];

	s->put_trailers = NULL;
	STAILQ_INSERT_TAIL(&s->sending, b, entry);
	return nghttp2_submit_trailer(s->c->session, s->id, nv, vector(b, nv));
}

static ssize_t
on_read(nghttp2_session *session UNUSED, int32_t id UNUSED, uint8_t *p UNUSED,
    size_t max, uint32_t *flags, nghttp2_data_source *source, void *arg UNUSED)
{
	struct h2_stream *s = source->ptr;
	size_t n = s->base.out.n;

	if (s->base.closed)
		return NGHTTP2_ERR_DEFERRED; /* RST_STREAM is on its way */
	bool last = n <= max && n <= DATA_MAX && s->base.want_shut;

	if (n > max)
		n = max;
	if (n > DATA_MAX)
		n = DATA_MAX;
	*flags = NGHTTP2_DATA_FLAG_NO_COPY;
	if (last && s->put_trailers != NULL) {
		*flags |=
		    NGHTTP2_DATA_FLAG_EOF | NGHTTP2_DATA_FLAG_NO_END_STREAM;
		if (send_trailers(s) != 0)
			return NGHTTP2_ERR_CALLBACK_FAILURE;
		/* Some peers are upset by a frame of DATA without any. */
		if (n == 0)
			return NGHTTP2_ERR_DEFERRED;
	} else if (last) {
		*flags |= NGHTTP2_DATA_FLAG_EOF;
	} else if (n == 0) {
		s->deferred = true;
		return NGHTTP2_ERR_DEFERRED;
	}
	return (ssize_t)n;
}

nghttp2_data_provider
h2_data_of(struct h2_stream *s)
{
	return (
	    nghttp2_data_provider){ .source.ptr = s, .read_callback = on_read };
}

int
h2_send_data(nghttp2_session *session UNUSED, nghttp2_frame *frame UNUSED,
    const uint8_t *head, size_t n, nghttp2_data_source *source, void *arg)
{
	struct h2_conn *c = arg;
	struct h2_stream *s = source->ptr;
	struct stream_buf *out = &s->base.out;

	/* Its owner may have closed it since h2_data_of() promised them. */
	if (s->base.closed)
		return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE;
	if (stream_room(c->bytes) == 0)
		return NGHTTP2_ERR_WOULDBLOCK;
	if (!stream_put(c->bytes, slice_of(head, 9)) ||
	    (n != 0 && !stream_put(c->bytes, slice_of(out->p + out->at, n))))
		return NGHTTP2_ERR_CALLBACK_FAILURE;
	if (n == 0)
		return 0;
	stream_buf_drop(out, n);
	s->base.n_out += n;
	if (out->n == 0) {
		stream_buf_release(out, s->base.wipe);
		s->base.wipe = false;
	}
	return 0;
}
