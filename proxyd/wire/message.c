/* SPDX-License-Identifier: Apache-2.0 */
#include "wire/message.h"
#include "base/ascii.h"
#include "wire/query.h"
#include "wire/urlpath.h"

enum http_expect
http_expect_of(struct field_list *fields)
{
	struct field *f = field_find(fields, SLICE("expect"));

	if (f == NULL)
		return HTTP_EXPECT_NONE;
	return ascii_eq_fold(f->value, SLICE("100-continue")) ?
	    HTTP_EXPECT_CONTINUE :
	    HTTP_EXPECT_OTHER;
}

bool
http_has_trailers(const struct http_request *req)
{
	struct field_walk walk = { 0 };
	struct slice name;

	return req->body == HTTP_BODY_OPEN && !req->is_http10 &&
	    field_take_announced(&req->fields, &walk, false, &name);
}

bool
http_is_last(const struct http_request *req)
{
	static const char *const with_body[] = { "POST", "PUT", "PATCH",
		"PROPFIND", "PROPPATCH", "MKCOL", "LOCK", "REPORT", "SEARCH" };

	if (req->is_http10 || http_has_trailers(req))
		return true;
	if (req->body == HTTP_BODY_NONE ||
	    (req->body == HTTP_BODY_LENGTH && req->length == 0))
		return false;
	for (size_t i = 0; i < COUNT_OF(with_body); i++)
		if (slice_eq_str(req->method, with_body[i]))
			return false;
	return true;
}

struct http_new_request
http_new_request(const struct http_request *req, struct slice path,
    const struct host *host)
{
	return (struct http_new_request){
		.method = req->method,
		.protocol = req->protocol,
		.path = path,
		.query = req->target.query,
		.has_query = req->target.has_query,
		.host = host,
		.fields = &req->fields,
		.body = req->body,
		.length = req->length,
		.close = http_is_last(req),
		.trailers =
		    !req->is_http10 && field_wants_trailers(&req->fields),
		.skip_expect = req->expect == HTTP_EXPECT_NONE,
	};
}

void
http_put_number(struct wr *w, uint64_t v)
{
	uint8_t digits[20];
	size_t at = sizeof(digits);

	do {
		digits[--at] = (uint8_t)('0' + v % 10);
		v /= 10;
	} while (v != 0);
	wr_bytes(w, slice_of(digits + at, sizeof(digits) - at));
}

void
http_put_authority(struct wr *w, const struct http_new_request *r)
{
	uint8_t text[HOST_PUT_MAX];

	wr_bytes(w, slice_of(text, host_put(r->host, text)));
	if (r->port != 0) {
		wr_bytes(w, SLICE(":"));
		http_put_number(w, r->port);
	}
}

void
http_put_target(struct wr *w, const struct http_new_request *r)
{
	const char *before = "?";

	wr_bytes(w, r->path);
	if (r->has_query) {
		wr_bytes(w, SLICE("?"));
		wr_bytes(w, r->query);
		before = r->query.n == 0 ? "" : "&";
	}
	for (size_t i = 0; i < r->n_parameters; i++) {
		wr_bytes(w, slice_of_str(before));
		query_put(w, r->parameters[i].name, r->parameters[i].value);
		before = "&";
	}
}

struct http_new_response
http_new_response(const struct http_response *res,
    const struct http_request *req)
{
	struct http_new_response r = {
		.status = res->status,
		.phrase = res->phrase,
		.fields = &res->fields,
		.body = res->body,
		.has_length = res->has_length,
		.length = res->length,
		.close = !req->keep_alive,
		.upgrade = res->status == 101,
	};

	/* Neither may say a length (RFC 9110 8.6). */
	if (res->status < 200 || res->status == 204)
		r.has_length = false;
	if (res->status < 200)
		r.close = false;
	if (req->is_http10 && res->body == HTTP_BODY_OPEN)
		r.body = HTTP_BODY_UNTIL_CLOSE;
	else if (!req->is_http10 && res->body == HTTP_BODY_UNTIL_CLOSE)
		r.body = HTTP_BODY_OPEN;
	return r;
}

unsigned
http_fail_status(const struct parse_fail *fail)
{
	struct slice detail = slice_of_str(fail->detail);

	if (fail->reason != REASON_LIMIT_BYTES)
		return reason_status(fail->reason);
	if (slice_eq(detail, SLICE(HTTP_TARGET_TOO_LONG)) ||
	    slice_eq(detail, SLICE(URLPATH_TOO_LONG)))
		return 414;
	if (slice_eq(detail, SLICE(HTTP_HEAD_TOO_LONG)) ||
	    slice_eq(detail, SLICE(HTTP_TOO_MANY_FIELDS)))
		return 431;
	return reason_status(fail->reason);
}
