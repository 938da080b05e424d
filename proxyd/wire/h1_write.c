/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/h1_write.h"
#include "base/ascii.h"
#include "wire/query.h"

static void
put_field(struct wr *w, struct slice name, struct slice value)
{
	wr_bytes(w, name);
	wr_bytes(w, SLICE(": "));
	wr_bytes(w, value);
	wr_bytes(w, SLICE("\r\n"));
}

/* As put_field, with each word of the name capitalised. */
static void
put_field_anew(struct wr *w, struct slice name, struct slice value)
{
	size_t at = w->n;

	put_field(w, name, value);
	if (!w->bad)
		field_put_name(name, w->p + at);
}

static void
put_framing(struct wr *w, bool chunked, bool has_length, uint64_t length)
{
	if (chunked)
		wr_bytes(w, SLICE("Transfer-Encoding: chunked\r\n"));
	if (has_length) {
		wr_bytes(w, SLICE("Content-Length: "));
		http_put_number(w, length);
		wr_bytes(w, SLICE("\r\n"));
	}
}

static void
put_connection(struct wr *w, bool close, bool upgrade)
{
	if (upgrade)
		wr_bytes(w,
		    SLICE("Connection: Upgrade\r\nUpgrade: websocket\r\n"));
	else if (close)
		wr_bytes(w, SLICE("Connection: close\r\n"));
}

/* TE is of one connection, and Connection has to say so (RFC 9110 10.1.4). */
static void
put_te(struct wr *w, bool close)
{
	wr_bytes(w, SLICE("TE: trailers\r\nConnection: TE"));
	if (close)
		wr_bytes(w, SLICE(", close"));
	wr_bytes(w, SLICE("\r\n"));
}

/* Names of trailers to come, in one field. */
static void
put_trailer_names(struct wr *w, const struct field_list *fields, bool of_answer)
{
	struct field_walk walk = { 0 };
	const char *before = "Trailer: ";
	struct slice name;

	while (field_take_announced(fields, &walk, of_answer, &name)) {
		wr_bytes(w, slice_of_str(before));
		wr_bytes(w, name);
		before = ",";
	}
	if (before[0] == ',')
		wr_bytes(w, SLICE("\r\n"));
}

void
h1_put_request(struct wr *w, const struct http_new_request *r)
{
	wr_bytes(w, r->method);
	wr_bytes(w, SLICE(" "));
	http_put_target(w, r);
	wr_bytes(w, SLICE(" HTTP/1.1\r\n"));
	wr_bytes(w, SLICE("Host: "));
	http_put_authority(w, r);
	wr_bytes(w, SLICE("\r\n"));
	for (size_t i = 0; i < r->fields->n; i++) {
		struct field f = r->fields->at[i];
		if (field_class(f.name) & FIELD_NOT_UPSTREAM ||
		    field_is_named(r->fields, f.name))
			continue;
		if (r->skip_expect && ascii_eq_fold(f.name, SLICE("expect")))
			continue;
		put_field_anew(w, f.name, f.value);
	}
	if (r->body == HTTP_BODY_OPEN)
		put_trailer_names(w, r->fields, false);
	put_framing(w, r->body == HTTP_BODY_OPEN, r->body == HTTP_BODY_LENGTH,
	    r->length);
	if (r->trailers && !r->upgrade)
		put_te(w, r->close);
	else
		put_connection(w, r->close, r->upgrade);
	for (size_t i = 0; i < r->n_credentials; i++)
		put_field_anew(w, r->credentials[i].name,
		    r->credentials[i].value);
	wr_bytes(w, SLICE("\r\n"));
}

size_t
h1_credentials_size(const struct http_new_request *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->n_credentials; i++)
		n += r->credentials[i].name.n + 4 + r->credentials[i].value.n;
	for (size_t i = 0; i < r->n_parameters; i++)
		n += 1 +
		    query_put_size(r->parameters[i].name,
			r->parameters[i].value);
	return n;
}

void
h1_put_response(struct wr *w, const struct http_new_response *r)
{
	wr_bytes(w, SLICE("HTTP/1.1 "));
	http_put_number(w, r->status);
	wr_bytes(w, SLICE(" "));
	wr_bytes(w, r->phrase);
	wr_bytes(w, SLICE("\r\n"));
	for (size_t i = 0; i < r->fields->n; i++) {
		struct field f = r->fields->at[i];
		if (field_class(f.name) & FIELD_NOT_TO_CLIENT ||
		    field_is_named(r->fields, f.name))
			continue;
		if (r->skip_cookies &&
		    ascii_eq_fold(f.name, SLICE("set-cookie")))
			continue;
		put_field(w, f.name, f.value);
	}
	if (r->body == HTTP_BODY_OPEN)
		put_trailer_names(w, r->fields, true);
	put_framing(w, r->body == HTTP_BODY_OPEN, r->has_length, r->length);
	put_connection(w, r->close, r->upgrade);
	wr_bytes(w, SLICE("\r\n"));
}
