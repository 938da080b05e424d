/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"
#include "wire/h1_head.h"

/* The verdict on the whole, had it come in two pieces. */
static void
check_cut(struct slice in, size_t cut, enum parse want, size_t want_used)
{
	static struct http_request req;
	struct parse_fail fail;
	size_t used = 0;

	memset(&req, 0, sizeof(req));
	enum parse got = h1_request_take(slice_first(in, cut), &h1_limits, &req,
	    &used, &fail);
	if (got == PARSE_MORE)
		got = h1_request_take(in, &h1_limits, &req, &used, &fail);
	if (want == PARSE_DONE)
		CHECK(got == PARSE_DONE && used == want_used);
	else
		CHECK(got != PARSE_DONE);
}

static void
check_request(struct slice in, const struct http_request *r, size_t used)
{
	static struct field_list list;

	CHECK(used >= 4 && used <= in.n && used <= h1_limits.head);
	CHECK(memcmp(in.p + used - 4, "\r\n\r\n", 4) == 0);
	CHECK(lies_in(r->method, in) && r->method.n != 0);
	CHECK(lies_in(r->raw_target, in) && r->raw_target.n != 0);
	CHECK(r->body != HTTP_BODY_UNTIL_CLOSE);
	CHECK(r->body == HTTP_BODY_LENGTH || r->length == 0);
	CHECK(!r->is_http10 || (!r->keep_alive && r->body != HTTP_BODY_OPEN));
	list = r->fields;
	CHECK(field_count(&list, SLICE("host")) == 1);
	CHECK(field_count(&list, SLICE("content-length")) +
		field_count(&list, SLICE("transfer-encoding")) ==
	    (r->body != HTTP_BODY_NONE));
	for (size_t i = 0; i < list.n; i++)
		CHECK(lies_in(list.at[i].name, slice_first(in, used)) &&
		    lies_in(list.at[i].value, slice_first(in, used)));
}

static void
check_response(struct slice in)
{
	static struct http_response res;
	struct parse_fail fail;
	size_t used;

	memset(&res, 0, sizeof(res));
	if (h1_response_take(in, &h1_limits, SLICE("GET"), &res, &used,
		&fail) != PARSE_DONE)
		return;
	CHECK(used <= in.n && res.status >= 100 && res.status <= 999);
	CHECK(res.body != HTTP_BODY_LENGTH || res.has_length);
	CHECK(res.body != HTTP_BODY_UNTIL_CLOSE || !res.keep_alive);
	CHECK(res.status >= 200 || res.body == HTTP_BODY_NONE);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct http_request req;
	struct parse_fail fail;
	size_t used = 0;

	if (size == 0)
		return 0;
	/* The first byte says where the rest is cut. */
	struct slice in = { data + 1, size - 1 };
	memset(&req, 0, sizeof(req));
	enum parse got = h1_request_take(in, &h1_limits, &req, &used, &fail);
	if (got == PARSE_DONE)
		check_request(in, &req, used);
	if (got == PARSE_BAD)
		CHECK(fail.at <= in.n && fail.detail != NULL);
	check_cut(in, in.n * data[0] / 255, got, used);
	check_response(in);
	return 0;
}
