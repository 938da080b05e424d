/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whatever head is understood, what goes on is one canonical request: it is
 * read again, means the same, and holds nothing of what must be gone.
 */
#include "fuzz.h"
#include "wire/h1_head.h"
#include "wire/h1_write.h"
#include "wire/urlpath.h"

static uint8_t bytes[H1_WRITE_MAX(0)], twice[H1_WRITE_MAX(0)];

static struct slice
put(uint8_t *to, const struct http_request *req, size_t n, struct slice path)
{
	struct wr w = wr_of(to, H1_WRITE_ROOM(n, 0));
	struct http_new_request r =
	    http_new_request(req, path, &req->host.host);

	h1_put_request(&w, &r);
	CHECK(!w.bad);
	return wr_slice(&w);
}

static bool
is_our_hop(struct slice name, struct slice value)
{
	if (slice_eq(name, SLICE("TE")))
		return slice_eq(value, SLICE("trailers"));
	return slice_eq(name, SLICE("Trailer")) ||
	    (slice_eq(name, SLICE("Connection")) &&
		(slice_eq(value, SLICE("close")) ||
		    slice_eq(value, SLICE("TE")) ||
		    slice_eq(value, SLICE("TE, close"))));
}

static void
check_gone(const struct field_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		struct slice name = list->at[i].name;
		unsigned bits = field_class(name) & FIELD_NOT_UPSTREAM;
		uint8_t spelt[256];

		/* Ours alone: framing, Host, and of this hop what says of
		 * trailers, or that no other request follows. */
		CHECK(!(bits &
		    ~(unsigned)(FIELD_IS_FRAMING | FIELD_IS_HOST |
			FIELD_IS_HOP)));
		CHECK(!(bits & FIELD_IS_HOP) || bits & FIELD_IS_FRAMING ||
		    is_our_hop(name, list->at[i].value));
		if (name.n > sizeof(spelt))
			continue;
		field_put_name(name, spelt);
		CHECK(slice_eq(name, slice_of(spelt, name.n)));
	}
}

static void
check_response(struct slice in, const struct http_request *req)
{
	static struct http_response res, again;
	struct parse_fail fail;
	size_t used;

	memset(&res, 0, sizeof(res));
	if (h1_response_take(in, &h1_limits, req->method, &res, &used, &fail) !=
	    PARSE_DONE)
		return;
	struct wr w = wr_of(bytes, H1_WRITE_ROOM(used, 0));
	struct http_new_response r = http_new_response(&res, req);
	h1_put_response(&w, &r);
	CHECK(!w.bad);
	memset(&again, 0, sizeof(again));
	CHECK(h1_response_take(wr_slice(&w), &h1_limits, req->method, &again,
		  &used, &fail) == PARSE_DONE);
	CHECK(used == w.n && again.status == res.status);
	CHECK(again.body != HTTP_BODY_LENGTH || again.length == res.length);
}

/* A request, and behind it its response. */
int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct http_request req, again;
	static uint8_t canon[LIMIT_PATH_SIZE];
	struct slice in = { data, size };
	struct parse_fail fail;
	struct urlpath path;
	size_t used;

	memset(&req, 0, sizeof(req));
	if (h1_request_take(in, &h1_limits, &req, &used, &fail) != PARSE_DONE)
		return 0;
	check_response(slice_from(in, used), &req);
	if (urlpath_canon(req.target.path, sizeof(canon), canon, &path,
		&fail) != PARSE_DONE)
		return 0;
	struct slice first = put(bytes, &req, used, path.text);
	memset(&again, 0, sizeof(again));
	enum parse got =
	    h1_request_take(first, &h1_limits, &again, &used, &fail);
	/* A head at its limit may have grown past it; else it is read again. */
	if (got == PARSE_BAD && fail.reason == REASON_LIMIT_BYTES)
		return 0;
	/* Fields and queries are for their own parsers to judge. */
	CHECK(got == PARSE_DONE && used == first.n);
	CHECK(slice_eq(again.method, req.method));
	CHECK(host_eq(&again.host.host, &req.host.host));
	CHECK(again.body == req.body && again.length == req.length);
	CHECK(!again.is_http10 && again.expect == req.expect);
	check_gone(&again.fields);
	if (!req.is_http10)
		CHECK(slice_eq(first,
		    put(twice, &again, used, again.target.path)));
	return 0;
}
