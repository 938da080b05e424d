/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of fields, whatever names and values they have: what is understood is
 * written anew, read again and means the same.  In the input a name ends with
 * 0xfe and a value with 0xff.
 */
#include "fuzz.h"
#include "wire/h2_head.h"
#include "wire/urlpath.h"

static uint8_t list_room[65536], bytes[H2_WRITE_MAX(65536)],
    twice[H2_WRITE_MAX(65536)];

static struct slice
list_of(struct slice in)
{
	struct wr w = wr_of(list_room, sizeof(list_room));

	while (in.n != 0) {
		struct field f = { .never_indexed = (in.p[0] & 1) != 0 };
		const uint8_t *bar = memchr(in.p, 0xfe, in.n);
		f.name =
		    slice_first(in, bar == NULL ? in.n : (size_t)(bar - in.p));
		in = slice_from(in, f.name.n + 1);
		bar = in.n == 0 ? NULL : memchr(in.p, 0xff, in.n);
		f.value =
		    slice_first(in, bar == NULL ? in.n : (size_t)(bar - in.p));
		in = slice_from(in, f.value.n + 1);
		h2_fields_put(&w, &f);
	}
	CHECK(!w.bad);
	return wr_slice(&w);
}

static void
check_fields(const struct field_list *list, struct slice in, unsigned gone)
{
	for (size_t i = 0; i < list->n; i++) {
		struct field f = list->at[i];
		CHECK(lies_in(f.name, in) && lies_in(f.value, in));
		CHECK(field_is_token(f.name));
		CHECK(!(field_class(f.name) & gone) ||
		    slice_eq(f.name, SLICE("te")) ||
		    slice_eq(f.name, SLICE("trailer")) ||
		    slice_eq(f.name, SLICE("content-length")));
		for (size_t j = 0; j < f.value.n; j++)
			CHECK(field_is_value_char(f.value.p[j]));
	}
}

static struct slice
put(uint8_t *to, const struct http_request *req, struct slice path)
{
	struct wr w = wr_of(to, sizeof(bytes));
	struct http_new_request r =
	    http_new_request(req, path, &req->host.host);

	if (req->host.has_port)
		r.port = req->host.port;
	h2_put_request_list(&w, &r);
	CHECK(!w.bad);
	return wr_slice(&w);
}

static void
check_request(struct slice list, bool ends)
{
	static struct http_request req, again;
	static uint8_t canon[LIMIT_PATH_SIZE];
	struct parse_fail fail;
	struct urlpath path = { 0 };

	memset(&req, 0, sizeof(req));
	if (h2_request_take(list, ends, &req, &fail) != PARSE_DONE) {
		CHECK(fail.at <= list.n && fail.detail[0] != '\0');
		CHECK(fail.reason == REASON_HTTP_MALFORMED ||
		    fail.reason == REASON_HTTP_FRAMING ||
		    fail.reason == REASON_LIMIT_BYTES);
		return;
	}
	check_fields(&req.fields, list, 0);
	CHECK(field_find(&req.fields, SLICE("host")) == NULL);
	CHECK(!ends || req.length == 0);
	if (req.target.form == TARGET_ORIGIN &&
	    urlpath_canon(req.target.path, sizeof(canon), canon, &path,
		&fail) != PARSE_DONE)
		return;
	if (req.target.form == TARGET_ASTERISK)
		path.text = SLICE("*");
	struct slice first = put(bytes, &req, path.text);
	memset(&again, 0, sizeof(again));
	enum parse got = h2_request_take(first, ends, &again, &fail);
	if (got == PARSE_BAD && fail.reason == REASON_LIMIT_BYTES)
		return;
	CHECK(got == PARSE_DONE);
	CHECK(slice_eq(again.method, req.method));
	CHECK(slice_eq(again.protocol, req.protocol));
	CHECK(host_eq(&again.host.host, &req.host.host));
	CHECK(again.body == req.body && again.length == req.length);
	check_fields(&again.fields, first, FIELD_NOT_UPSTREAM);
	CHECK(slice_eq(first,
	    put(twice, &again,
		again.target.form == TARGET_ORIGIN ? again.target.path :
						     path.text)));
}

static void
check_response(struct slice list, bool ends, bool head)
{
	static struct http_request req = { .keep_alive = true };
	static struct http_response res, again;
	struct slice method = head ? SLICE("HEAD") : SLICE("GET");
	struct parse_fail fail;

	memset(&res, 0, sizeof(res));
	if (h2_response_take(list, ends, method, &res, &fail) != PARSE_DONE) {
		CHECK(fail.reason == REASON_UP_RESPONSE && fail.at <= list.n);
		return;
	}
	CHECK(h2_is_informational(list) == (res.status < 200));
	check_fields(&res.fields, list, 0);
	struct wr w = wr_of(bytes, sizeof(bytes));
	struct http_new_response r = http_new_response(&res, &req);
	h2_put_response_list(&w, &r);
	CHECK(!w.bad);
	memset(&again, 0, sizeof(again));
	CHECK(h2_response_take(wr_slice(&w), ends, method, &again, &fail) ==
	    PARSE_DONE);
	CHECK(again.status == res.status && again.body == res.body);
	check_fields(&again.fields, wr_slice(&w), FIELD_NOT_TO_CLIENT);
}

/* The first byte: does the stream end, whose head is it. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct field_list fields;
	struct parse_fail fail;

	if (size == 0)
		return 0;
	struct slice list = list_of((struct slice){ data + 1, size - 1 });
	check_request(list, data[0] & 1);
	check_response(list, data[0] & 1, data[0] & 2);
	if (h2_trailers_take(list, REASON_UP_RESPONSE, &fields, &fail) ==
	    PARSE_DONE)
		check_fields(&fields, list,
		    FIELD_IS_HOST | FIELD_IS_FRAMING | FIELD_IS_PROXY);
	return 0;
}
