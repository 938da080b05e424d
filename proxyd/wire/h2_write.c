/* SPDX-License-Identifier: Apache-2.0 */
#include "base/ascii.h"
#include "wire/h2_head.h"

/* Begin a field whose value is yet to be put; returns where. */
static size_t
begin(struct wr *w, struct slice name, bool never_indexed)
{
	struct field f = { .name = name, .never_indexed = never_indexed };

	h2_fields_put(w, &f);
	return w->n;
}

/* Say how long the value is that was put since begin(). */
static void
end(struct wr *w, size_t from, size_t name)
{
	if (w->bad)
		return;
	struct wr length = wr_of(w->p + from - name - 4, 4);
	wr_u32(&length, (uint32_t)(w->n - from));
}

static void
put(struct wr *w, struct slice name, struct slice value)
{
	struct field f = { .name = name, .value = value };

	h2_fields_put(w, &f);
}

/* A field, its name in lower case: a credential's is as its owner wrote it. */
static void
put_field(struct wr *w, const struct field *f, bool never_indexed)
{
	size_t at = begin(w, f->name, f->never_indexed || never_indexed);

	wr_bytes(w, f->value);
	end(w, at, f->name.n);
	for (size_t i = 0; !w->bad && i < f->name.n; i++)
		w->p[at - f->name.n + i] = ascii_lower(f->name.p[i]);
}

static void
put_number(struct wr *w, struct slice name, uint64_t v)
{
	size_t at = begin(w, name, false);

	http_put_number(w, v);
	end(w, at, name.n);
}

/* Names of trailers to come, in one field: servers in Go take no others. */
static void
put_trailer_names(struct wr *w, const struct field_list *fields, bool of_answer)
{
	struct field_walk walk = { 0 };
	struct slice name;
	size_t at;

	if (!field_take_announced(fields, &walk, of_answer, &name))
		return;
	at = begin(w, SLICE("trailer"), false);
	wr_bytes(w, name);
	while (field_take_announced(fields, &walk, of_answer, &name)) {
		wr_bytes(w, SLICE(","));
		wr_bytes(w, name);
	}
	end(w, at, sizeof("trailer") - 1);
}

static void
put_pseudo(struct wr *w, const struct http_new_request *r)
{
	bool is_connect = slice_eq(r->method, SLICE("CONNECT"));
	size_t at;

	put(w, SLICE(":method"), r->method);
	if (r->protocol.n != 0)
		put(w, SLICE(":protocol"), r->protocol);
	if (!is_connect || r->protocol.n != 0) {
		put(w, SLICE(":scheme"), SLICE("https"));
		/* A credential may stand behind the query. */
		at = begin(w, SLICE(":path"), r->n_parameters != 0);
		http_put_target(w, r);
		end(w, at, sizeof(":path") - 1);
	}
	at = begin(w, SLICE(":authority"), false);
	http_put_authority(w, r);
	end(w, at, sizeof(":authority") - 1);
}

void
h2_put_request_list(struct wr *w, const struct http_new_request *r)
{
	put_pseudo(w, r);
	for (size_t i = 0; i < r->fields->n; i++) {
		const struct field *f = &r->fields->at[i];
		/* Servers of gRPC insist on it; its only value is known. */
		if (ascii_eq_fold(f->name, SLICE("te"))) {
			put(w, SLICE("te"), SLICE("trailers"));
			continue;
		}
		if (field_class(f->name) & FIELD_NOT_UPSTREAM)
			continue;
		if (r->skip_expect && ascii_eq_fold(f->name, SLICE("expect")))
			continue;
		put_field(w, f, ascii_eq_fold(f->name, SLICE("authorization")));
	}
	if (r->body != HTTP_BODY_NONE)
		put_trailer_names(w, r->fields, false);
	if (r->body == HTTP_BODY_LENGTH)
		put_number(w, SLICE("content-length"), r->length);
	for (size_t i = 0; i < r->n_credentials; i++)
		put_field(w, &r->credentials[i], true);
}

void
h2_put_response_list(struct wr *w, const struct http_new_response *r)
{
	put_number(w, SLICE(":status"), r->status);
	for (size_t i = 0; i < r->fields->n; i++) {
		const struct field *f = &r->fields->at[i];
		bool is_cookie = ascii_eq_fold(f->name, SLICE("set-cookie"));
		if (field_class(f->name) & FIELD_NOT_TO_CLIENT ||
		    (r->skip_cookies && is_cookie))
			continue;
		put_field(w, f, is_cookie);
	}
	if (r->body != HTTP_BODY_NONE)
		put_trailer_names(w, r->fields, true);
	if (r->has_length)
		put_number(w, SLICE("content-length"), r->length);
}

void
h2_put_trailer_list(struct wr *w, const struct field_list *fields)
{
	for (size_t i = 0; i < fields->n; i++)
		put_field(w, &fields->at[i], false);
}
