/* SPDX-License-Identifier: Apache-2.0 */
#include "row.h"
#include "wire/h1_head.h"
#include "wire/h1_write.h"
#include "wire/message.h"

#define HOST "Host: ok.test\r\n"

struct made {
	uint8_t bytes[4096];
	struct slice text;
	bool bad;
};

/* Read `in`, write it anew for its own host and path. */
static struct made
renew(struct slice in, struct field *credentials, size_t n, uint16_t port)
{
	struct http_request req = { 0 };
	struct parse_fail fail;
	struct made m = { 0 };
	size_t used;

	assert_int_equal(h1_request_take(in, &h1_limits, &req, &used, &fail),
	    PARSE_DONE);
	struct http_new_request r =
	    http_new_request(&req, req.target.path, &req.host.host);
	r.credentials = credentials;
	r.n_credentials = n;
	r.port = port;
	struct wr w = wr_of(m.bytes, sizeof(m.bytes));
	h1_put_request(&w, &r);
	m.text = wr_slice(&w);
	return m;
}

static const struct {
	const char *name;
	struct slice in, want;
} requests[] = {
	{ "names capitalised, values untouched, order kept",
	    IN("GET /a?b=%2f&& HTTP/1.1\r\nx-b:1 \t2  \r\nACCEPT: \xe4\r\n"
	       "hOST: OK.test:443\r\nX-b: 3\r\n\r\n"),
	    IN("GET /a?b=%2f&& HTTP/1.1\r\nHost: ok.test\r\nX-B: 1 \t2\r\n"
	       "Accept: \xe4\r\nX-B: 3\r\n\r\n") },
	{ "empty query", IN("GET /? HTTP/1.1\r\n" HOST "\r\n"),
	    IN("GET /? HTTP/1.1\r\n" HOST "\r\n") },
	{ "PT-13 absolute form",
	    IN("GET https://ok.test HTTP/1.1\r\n" HOST "\r\n"),
	    IN("GET / HTTP/1.1\r\n" HOST "\r\n") },
	{ "a length stays",
	    IN("POST / HTTP/1.1\r\ncontent-length: 12\r\n" HOST "A: b\r\n\r\n"),
	    IN("POST / HTTP/1.1\r\n" HOST
	       "A: b\r\nContent-Length: 12\r\n\r\n") },
	{ "a length of 0 stays",
	    IN("POST / HTTP/1.1\r\nContent-Length: 0\r\n" HOST "\r\n"),
	    IN("POST / HTTP/1.1\r\n" HOST "Content-Length: 0\r\n\r\n") },
	{ "chunked stays",
	    IN("POST / HTTP/1.1\r\nTransfer-Encoding: CHUNKED\r\n" HOST "\r\n"),
	    IN("POST / HTTP/1.1\r\n" HOST
	       "Transfer-Encoding: chunked\r\n\r\n") },
	{ "SM-22, SM-23 hop by hop",
	    IN("GET / HTTP/1.1\r\n" HOST
	       "Connection: Host, x-a, Authorization\r\nX-A: 1\r\n"
	       "Authorization: mine\r\nKeep-Alive: 1\r\nTE: trailers\r\n"
	       "Proxy-Connection: x\r\nProxy-Authorization: x\r\n"
	       "Trailer: x\r\nUpgrade: x\r\nX-B: 1\r\n\r\n"),
	    IN("GET / HTTP/1.1\r\n" HOST
	       "X-B: 1\r\nTE: trailers\r\nConnection: TE\r\n\r\n") },
	{ "SM-23 of TE what says of trailers",
	    IN("GET / HTTP/1.1\r\n" HOST "TE: gzip;q=1\r\n"
	       "te: deflate, TRAILERS\r\n\r\n"),
	    IN("GET / HTTP/1.1\r\n" HOST
	       "TE: trailers\r\nConnection: TE\r\n\r\n") },
	{ "TE of 1.0", IN("GET / HTTP/1.0\r\n" HOST "TE: trailers\r\n\r\n"),
	    IN("GET / HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n") },
	{ "announced trailers, and no other request",
	    IN("PUT / HTTP/1.1\r\n" HOST "trailer: a,, Host , x-b\r\n"
	       "TE: trailers\r\nTrailer: c d, E\r\n"
	       "Transfer-Encoding: chunked\r\n\r\n"),
	    IN("PUT / HTTP/1.1\r\n" HOST "Trailer: a,x-b,E\r\n"
	       "Transfer-Encoding: chunked\r\n"
	       "TE: trailers\r\nConnection: TE, close\r\n\r\n") },
	{ "announced where none can be",
	    IN("PUT / HTTP/1.1\r\n" HOST "Trailer: a\r\n"
	       "Content-Length: 1\r\n\r\n"),
	    IN("PUT / HTTP/1.1\r\n" HOST "Content-Length: 1\r\n\r\n") },
	{ "PT-22, PT-23 what renames",
	    IN("GET / HTTP/1.1\r\n" HOST "X-Original-URL: /x\r\n"
	       "X-Forwarded-Host: x\r\nX_Forwarded_For: x\r\nForwarded: x\r\n"
	       "X-HTTP-Method-Override: DELETE\r\nAlt-Svc: x\r\n"
	       "Cookie: x\r\n\r\n"),
	    IN("GET / HTTP/1.1\r\n" HOST "Cookie: x\r\n\r\n") },
	{ "1.0 is sent as 1.1",
	    IN("GET / HTTP/1.0\r\n" HOST "Expect: 100-continue\r\n\r\n"),
	    IN("GET / HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n") },
	{ "close of the client's stays here",
	    IN("GET / HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n"),
	    IN("GET / HTTP/1.1\r\n" HOST "\r\n") },
	{ "expectations are relayed",
	    IN("PUT / HTTP/1.1\r\n" HOST
	       "expect: 100-Continue\r\nContent-Length: 1\r\n\r\n"),
	    IN("PUT / HTTP/1.1\r\n" HOST
	       "Expect: 100-Continue\r\nContent-Length: 1\r\n\r\n") },
};

static void
h1_write_renews_each_request(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(requests); i++) {
		struct slice in = exact(requests[i].in);

		print_message("# %s\n", requests[i].name);
		struct made first = renew(in, NULL, 0, 0);
		assert_slice(slice_of(first.bytes, first.text.n),
		    requests[i].want);
		/* Written and read again it is the same. */
		struct made again =
		    renew(slice_of(first.bytes, first.text.n), NULL, 0, 0);
		if (!slice_has_prefix(in, SLICE("GET / HTTP/1.0")))
			assert_slice(slice_of(again.bytes, again.text.n),
			    requests[i].want);
		drop(in);
	}
}

/* The credential stands last, whatever Connection says of its name. */
static void
h1_write_puts_credentials_last(void **state)
{
	struct field credentials[] = {
		{ SLICE("authorization"), SLICE("Bearer real") },
		{ SLICE("x-api-key"), SLICE("k") },
	};
	struct made m =
	    renew(SLICE(
		      "POST /a HTTP/1.1\r\n" HOST
		      "Connection: authorization\r\nContent-Length: 1\r\n\r\n"),
		credentials, 2, 8443);

	(void)state;
	assert_slice(slice_of(m.bytes, m.text.n),
	    SLICE("POST /a HTTP/1.1\r\nHost: ok.test:8443\r\n"
		  "Content-Length: 1\r\nAuthorization: Bearer real\r\n"
		  "X-Api-Key: k\r\n\r\n"));
}

static void
h1_write_brackets_ipv6(void **state)
{
	struct made m = renew(SLICE("GET / HTTP/1.1\r\nHost: [::1]\r\n\r\n"),
	    NULL, 0, 8080);

	(void)state;
	assert_slice(slice_of(m.bytes, m.text.n),
	    SLICE("GET / HTTP/1.1\r\nHost: [::1]:8080\r\n\r\n"));
}

static void
h1_write_says_what_does_not_fit(void **state)
{
	struct http_request req = { 0 };
	struct parse_fail fail;
	uint8_t bytes[80];
	size_t used;

	(void)state;
	assert_int_equal(h1_request_take(SLICE("GET / HTTP/1.1\r\n" HOST
					       "a-b: c\r\n\r\n"),
			     &h1_limits, &req, &used, &fail),
	    PARSE_DONE);
	struct http_new_request r =
	    http_new_request(&req, req.target.path, &req.host.host);
	for (size_t n = 0; n < 41; n++) {
		struct wr w = wr_of(bytes, n);
		h1_put_request(&w, &r);
		assert_true(w.bad);
	}
	struct wr w = wr_of(bytes, 41);
	h1_put_request(&w, &r);
	assert_false(w.bad);
}

static const struct {
	const char *name;
	struct slice request, in, want;
	bool skip_cookies;
} responses[] = {
	{ "names and values stay", IN("GET / HTTP/1.1\r\n" HOST "\r\n"),
	    IN("HTTP/1.1 200 Fine \xe4\r\nx-a:b  \r\nETag: \"x\"\r\n"
	       "Content-Length: 3\r\n\r\n"),
	    IN("HTTP/1.1 200 Fine \xe4\r\nx-a: b\r\nETag: \"x\"\r\n"
	       "Content-Length: 3\r\n\r\n") },
	{ "hop by hop", IN("GET / HTTP/1.1\r\n" HOST "\r\n"),
	    IN("HTTP/1.1 200 OK\r\nConnection: close, X-A\r\nX-A: 1\r\n"
	       "Alt-Svc: h3\r\nProxy-Authenticate: x\r\n"
	       "Trailer: x, Set-Cookie,Host,y\r\n"
	       "Transfer-Encoding: chunked\r\n\r\n"),
	    IN("HTTP/1.1 200 OK\r\nTrailer: x,y\r\n"
	       "Transfer-Encoding: chunked\r\n\r\n") },
	{ "until close becomes chunked", IN("GET / HTTP/1.1\r\n" HOST "\r\n"),
	    IN("HTTP/1.1 200 OK\r\n\r\n"),
	    IN("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n") },
	{ "chunked ends with the connection for 1.0",
	    IN("GET / HTTP/1.0\r\n" HOST "\r\n"),
	    IN("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"),
	    IN("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n") },
	{ "HEAD keeps its length", IN("HEAD / HTTP/1.1\r\n" HOST "\r\n"),
	    IN("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n"),
	    IN("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n") },
	{ "304 keeps its length", IN("GET / HTTP/1.1\r\n" HOST "\r\n"),
	    IN("HTTP/1.1 304 x\r\nContent-Length: 9\r\n\r\n"),
	    IN("HTTP/1.1 304 x\r\nContent-Length: 9\r\n\r\n") },
	{ "204 has none", IN("GET / HTTP/1.1\r\n" HOST "\r\n"),
	    IN("HTTP/1.1 204 x\r\nContent-Length: 0\r\n\r\n"),
	    IN("HTTP/1.1 204 x\r\n\r\n") },
	{ "100 says nothing of the connection",
	    IN("PUT / HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n"),
	    IN("HTTP/1.1 100 Continue\r\n\r\n"),
	    IN("HTTP/1.1 100 Continue\r\n\r\n") },
	{ "close", IN("GET / HTTP/1.1\r\n" HOST "Connection: close\r\n\r\n"),
	    IN("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
	    IN("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"
	       "Connection: close\r\n\r\n") },
	{ "cookies stay", IN("GET / HTTP/1.1\r\n" HOST "\r\n"),
	    IN("HTTP/1.1 204 x\r\nset-cookie: a\r\n\r\n"),
	    IN("HTTP/1.1 204 x\r\nset-cookie: a\r\n\r\n") },
	{ "cookies go", IN("GET / HTTP/1.1\r\n" HOST "\r\n"),
	    IN("HTTP/1.1 204 x\r\nset-cookie: a\r\nA: b\r\nSet-Cookie: c\r\n"
	       "\r\n"),
	    IN("HTTP/1.1 204 x\r\nA: b\r\n\r\n"), true },
};

static void
h1_write_renews_each_response(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(responses); i++) {
		struct http_request req = { 0 };
		struct http_response res = { 0 };
		struct parse_fail fail;
		uint8_t bytes[1024];
		struct wr w = wr_of(bytes, sizeof(bytes));
		size_t used;

		print_message("# %s\n", responses[i].name);
		assert_int_equal(h1_request_take(responses[i].request,
				     &h1_limits, &req, &used, &fail),
		    PARSE_DONE);
		assert_int_equal(h1_response_take(responses[i].in, &h1_limits,
				     req.method, &res, &used, &fail),
		    PARSE_DONE);
		struct http_new_response r = http_new_response(&res, &req);
		r.skip_cookies = responses[i].skip_cookies;
		h1_put_response(&w, &r);
		assert_slice(wr_slice(&w), responses[i].want);
	}
}

/* Behind the query, escaped, whatever stands there. */
static void
h1_put_request_writes_parameters(void **state)
{
	(void)state;
	static const char *const rows[][2] = {
		{ "/a", "/a?key=a%26b%20%C3%BC" },
		{ "/a?", "/a?key=a%26b%20%C3%BC" },
		{ "/a?b=%2f", "/a?b=%2f&key=a%26b%20%C3%BC" },
	};
	static const struct field key = { .name = { (const uint8_t *)"key", 3 },
		.value = { (const uint8_t *)"a&b \xc3\xbc", 6 } };

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		char in[256], want[256];
		uint8_t bytes[512];
		struct http_request req = { 0 };
		struct parse_fail fail;
		size_t used;
		snprintf(in, sizeof(in), "GET %s HTTP/1.1\r\n" HOST "\r\n",
		    rows[i][0]);
		snprintf(want, sizeof(want), "GET %s HTTP/1.1\r\n" HOST "\r\n",
		    rows[i][1]);
		assert_int_equal(h1_request_take(slice_of_str(in), &h1_limits,
				     &req, &used, &fail),
		    PARSE_DONE);
		struct http_new_request r =
		    http_new_request(&req, req.target.path, &req.host.host);
		r.parameters = &key;
		r.n_parameters = 1;
		struct wr w = wr_of(bytes, sizeof(bytes));
		h1_put_request(&w, &r);
		assert_true(slice_eq_str(wr_slice(&w), want));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(h1_write_renews_each_request),
		cmocka_unit_test(h1_write_puts_credentials_last),
		cmocka_unit_test(h1_write_brackets_ipv6),
		cmocka_unit_test(h1_write_says_what_does_not_fit),
		cmocka_unit_test(h1_write_renews_each_response),
		cmocka_unit_test(h1_put_request_writes_parameters),
	};

	return cmocka_run_group_tests_name("h1_write", tests, NULL, NULL);
}
