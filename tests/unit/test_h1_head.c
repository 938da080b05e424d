/* SPDX-License-Identifier: Apache-2.0 */
#include "h1_head_bed.h"

/* Requests that are taken, and what they say. */
static const struct {
	const char *name;
	struct slice in;
	struct slice method, target;
	enum http_body body;
	uint64_t length;
	enum http_expect expect;
	bool is_http10, close, upgrade;
} good[] = {
	{ "plain", IN(GET HOST "\r\n"), IN("GET"), IN("/") },
	{ "PT-26 one CRLF before it", IN("\r\n" GET HOST "\r\n"), IN("GET"),
	    IN("/") },
	{ "PT-21 odd method", IN("G=ET / HTTP/1.1\r\n" HOST "\r\n"), IN("G=ET"),
	    IN("/") },
	{ "PT-10 NUL in the target", IN("GET /\0 HTTP/1.1\r\n" HOST "\r\n"),
	    IN("GET"), IN("/\0") },
	{ "length", IN("POST / HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\n"),
	    IN("POST"), IN("/"), HTTP_BODY_LENGTH, 5 },
	{ "length 0", IN(GET HOST "content-length:0\r\n\r\n"), IN("GET"),
	    IN("/"), HTTP_BODY_LENGTH, 0 },
	{ "SM-03 blanks round the length",
	    IN(GET HOST "Content-Length: \t 7 \t\r\n\r\n"), IN("GET"), IN("/"),
	    HTTP_BODY_LENGTH, 7 },
	{ "SM-13 a long body",
	    IN(GET HOST "Content-Length: 1000000000000000000\r\n\r\n"),
	    IN("GET"), IN("/"), HTTP_BODY_LENGTH, 1000000000000000000 },
	{ "chunked", IN(GET HOST "Transfer-Encoding: cHunked\r\n\r\n"),
	    IN("GET"), IN("/"), HTTP_BODY_OPEN },
	{ "expect", IN(GET HOST "Expect: 100-Continue\r\n\r\n"), IN("GET"),
	    IN("/"), .expect = HTTP_EXPECT_CONTINUE },
	{ "SM-25 other expectation", IN(GET HOST "Expect: 200-ok\r\n\r\n"),
	    IN("GET"), IN("/"), .expect = HTTP_EXPECT_OTHER },
	{ "1.0", IN("GET / HTTP/1.0\r\n" HOST "Expect: 100-continue\r\n\r\n"),
	    IN("GET"), IN("/"), .is_http10 = true, .close = true },
	{ "a tunnel of 1.0 without Host",
	    IN("CONNECT ok.test:443 HTTP/1.0\r\n\r\n"), IN("CONNECT"),
	    IN("ok.test:443"), .is_http10 = true, .close = true },
	{ "close", IN(GET HOST "Connection: x, Close\r\n\r\n"), IN("GET"),
	    IN("/"), .close = true },
	{ "keep-alive", IN(GET HOST "Connection: keep-alive\r\n\r\n"),
	    IN("GET"), IN("/") },
	{ "upgrade", IN(GET HOST "Upgrade: h2c\r\n\r\n"), IN("GET"), IN("/"),
	    .upgrade = true },
	{ "bytes behind it", IN(GET HOST "\r\nGET"), IN("GET"), IN("/") },
};

static enum parse
request(struct slice in, struct http_request *req, size_t *used,
    struct parse_fail *fail)
{
	*req = (struct http_request){ 0 };
	*fail = (struct parse_fail){ .detail = "" };
	*used = 0;
	return h1_request_take(in, &h1_limits, req, used, fail);
}

static void
h1_head_takes_each_good_request(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(good); i++) {
		struct slice in = exact(good[i].in);
		struct http_request r;
		struct parse_fail fail;
		size_t used;

		print_message("# %s\n", good[i].name);
		assert_int_equal(request(in, &r, &used, &fail), PARSE_DONE);
		assert_slice(r.method, good[i].method);
		assert_slice(r.raw_target, good[i].target);
		assert_slice(host_slice(&r.host.host), SLICE("ok.test"));
		assert_int_equal(r.body, good[i].body);
		assert_int_equal(r.length, good[i].length);
		assert_int_equal(r.expect, good[i].expect);
		assert_int_equal(r.is_http10, good[i].is_http10);
		assert_int_equal(r.keep_alive, !good[i].close);
		assert_int_equal(r.has_upgrade, good[i].upgrade);
		assert_slice(slice_of(in.p + used - 4, 4), SLICE("\r\n\r\n"));
		drop(in);
	}
}

static const struct {
	const char *name;
	struct slice in;
	enum reason reason;
	const char *detail;
	size_t at;
} bad[] = {
	{ "PT-26 two CRLF before it", IN("\r\n\r\n" GET HOST "\r\n"),
	    REASON_HTTP_MALFORMED, "request line without three parts", 2 },
	{ "LF before it", IN("\n" GET HOST "\r\n"), REASON_HTTP_MALFORMED,
	    "bare LF", 0 },
	{ "CR before it", IN("\rGET"), REASON_HTTP_MALFORMED, "bare CR", 0 },
	{ "PT-26 leading blank", IN(" " GET HOST "\r\n"), REASON_HTTP_MALFORMED,
	    "empty part of a request line", 0 },
	{ "PT-26 two blanks", IN("GET  / HTTP/1.1\r\n" HOST "\r\n"),
	    REASON_HTTP_MALFORMED, "empty part of a request line", 4 },
	{ "PT-26 tab", IN("GET\t/ HTTP/1.1\r\n" HOST "\r\n"),
	    REASON_HTTP_MALFORMED, "byte that no method has", 3 },
	{ "PT-15 blank in the target", IN("GET /a b HTTP/1.1\r\n" HOST "\r\n"),
	    REASON_HTTP_MALFORMED, "third space in a request line", 8 },
	{ "PT-15 no slash", IN("GET x HTTP/1.1\r\n" HOST "\r\n"),
	    REASON_HTTP_MALFORMED, "target of no known form", 4 },
	{ "PT-25 no version", IN("GET /\r\n" HOST "\r\n"),
	    REASON_HTTP_MALFORMED, "request line without three parts", 0 },
	{ "PT-25 2.0", IN("GET / HTTP/2.0\r\n" HOST "\r\n"),
	    REASON_HTTP_MALFORMED, "HTTP/2 that no ALPN agreed on", 6 },
	{ "PT-25 lower case", IN("GET / http/1.1\r\n" HOST "\r\n"),
	    REASON_HTTP_MALFORMED, "version not HTTP/1.1 or 1.0", 6 },
	{ "TL-25 preface of HTTP/2", IN("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
	    REASON_HTTP_MALFORMED, "HTTP/2 that no ALPN agreed on", 6 },
	{ "TL-23 TLS", IN("\x16\x03\x01\x02\x00\x01"), REASON_HTTP_MALFORMED,
	    "byte that no method has", 0 },
	{ "high byte in the method", IN("G\xc4T / HTTP/1.1\r\n" HOST "\r\n"),
	    REASON_HTTP_MALFORMED, "byte that no method has", 1 },
	{ "bare CR in the request line", IN("GET /\r HTTP/1.1\r\n" HOST "\r\n"),
	    REASON_HTTP_MALFORMED, "bare CR", 5 },
	{ "bare LF in the request line", IN("GET / HTTP/1.1\n" HOST "\r\n"),
	    REASON_HTTP_MALFORMED, "bare LF", 14 },
	{ "NM-10 userinfo in the target",
	    IN("GET http://a@ok.test/ HTTP/1.1\r\n" HOST "\r\n"),
	    REASON_HTTP_MALFORMED, "byte that no name has", 12 },
	{ "SM-16 bare LF", IN(GET "Host: ok.test\n\r\n"), REASON_HTTP_MALFORMED,
	    "bare LF", 29 },
	{ "SM-16 two LF", IN(GET HOST "\n\n"), REASON_HTTP_MALFORMED,
	    "line without a colon", 31 },
	{ "bare CR at the end", IN(GET HOST "\rx"), REASON_HTTP_MALFORMED,
	    "bare CR", 31 },
	{ "SM-19 folded Host", IN(GET "Host:\r\n ok.test\r\n\r\n"),
	    REASON_HTTP_MALFORMED, "folded line", 23 },
	{ "SM-21 two Hosts", IN(GET HOST HOST "\r\n"), REASON_HTTP_MALFORMED,
	    "field that may stand once", 31 },
	{ "SM-21 two different Hosts", IN(GET HOST "hOST: evil.test\r\n\r\n"),
	    REASON_HTTP_MALFORMED, "field that may stand once", 31 },
	{ "SM-21 none", IN(GET "\r\n"), REASON_HTTP_MALFORMED, "no Host", 0 },
	{ "SM-21 none, of 1.0", IN("GET / HTTP/1.0\r\n\r\n"),
	    REASON_HTTP_MALFORMED, "no Host", 0 },
	{ "SM-21 none, a tunnel of 1.1",
	    IN("CONNECT ok.test:443 HTTP/1.1\r\n\r\n"), REASON_HTTP_MALFORMED,
	    "no Host", 0 },
	{ "SM-21 none, CONNECT to a path", IN("CONNECT / HTTP/1.0\r\n\r\n"),
	    REASON_HTTP_MALFORMED, "no Host", 0 },
	{ "SM-21 empty", IN(GET "Host:\r\n\r\n"), REASON_HTTP_MALFORMED,
	    "empty name", 21 },
	{ "NM-20 port", IN(GET "Host: ok.test:0443\r\n\r\n"),
	    REASON_HTTP_MALFORMED, "port begins with a zero", 30 },
	{ "SM-31 two Authorization",
	    IN(GET HOST "Authorization: a\r\nauthorization: a\r\n\r\n"),
	    REASON_HTTP_MALFORMED, "field that may stand once", 49 },
	{ "SM-25 two Expect",
	    IN(GET HOST "Expect: 100-continue\r\nExpect: 100-continue\r\n\r\n"),
	    REASON_HTTP_MALFORMED, "field that may stand once", 53 },
	{ "SM-22 no token in Connection",
	    IN(GET HOST "Connection: close, a b\r\n\r\n"),
	    REASON_HTTP_MALFORMED, "connection option is no token", 50 },
	{ "SM-07 keep-alive of 1.0",
	    IN("GET / HTTP/1.0\r\n" HOST "Connection: Keep-Alive\r\n\r\n"),
	    REASON_HTTP_MALFORMED, "keep-alive in HTTP/1.0", 0 },
	{ "SM-01 CL.TE",
	    IN(GET HOST
		"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"),
	    REASON_HTTP_FRAMING, "length and transfer coding", 50 },
	{ "SM-01 TE.CL",
	    IN(GET HOST
		"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n"),
	    REASON_HTTP_FRAMING, "length and transfer coding", 31 },
	{ "SM-02 two equal lengths",
	    IN(GET HOST "Content-Length: 5\r\nContent-Length: 5\r\n\r\n"),
	    REASON_HTTP_FRAMING, "field that may stand once", 50 },
	{ "SM-02 a list", IN(GET HOST "Content-Length: 5, 5\r\n\r\n"),
	    REASON_HTTP_FRAMING, "length is not a number", 48 },
	{ "SM-03 sign", IN(GET HOST "Content-Length: +5\r\n\r\n"),
	    REASON_HTTP_FRAMING, "length is not a number", 47 },
	{ "SM-03 minus", IN(GET HOST "Content-Length: -1\r\n\r\n"),
	    REASON_HTTP_FRAMING, "length is not a number", 47 },
	{ "SM-03 hex", IN(GET HOST "Content-Length: 0x5\r\n\r\n"),
	    REASON_HTTP_FRAMING, "length is not a number", 48 },
	{ "SM-03 empty", IN(GET HOST "Content-Length: \r\n\r\n"),
	    REASON_HTTP_FRAMING, "empty length", 47 },
	{ "octal", IN(GET HOST "Content-Length: 010\r\n\r\n"),
	    REASON_HTTP_FRAMING, "length begins with a zero", 47 },
	{ "20 digits",
	    IN(GET HOST "Content-Length: 18446744073709551617\r\n\r\n"),
	    REASON_HTTP_FRAMING, "length out of range", 47 },
	{ "2^63", IN(GET HOST "Content-Length: 9223372036854775808\r\n\r\n"),
	    REASON_HTTP_FRAMING, "length out of range", 47 },
	{ "SM-14 a length of HEAD",
	    IN("HEAD / HTTP/1.1\r\n" HOST "Content-Length: 5\r\n\r\n"),
	    REASON_HTTP_FRAMING, "a body of HEAD", 0 },
	{ "SM-14 chunks of HEAD",
	    IN("HEAD / HTTP/1.1\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"),
	    REASON_HTTP_FRAMING, "a body of HEAD", 0 },
	{ "SM-04 identity", IN(GET HOST "Transfer-Encoding: identity\r\n\r\n"),
	    REASON_HTTP_FRAMING, "transfer coding not chunked", 31 },
	{ "SM-04 two codings",
	    IN(GET HOST "Transfer-Encoding: gzip, chunked\r\n\r\n"),
	    REASON_HTTP_FRAMING, "transfer coding not chunked", 31 },
	{ "SM-04 empty", IN(GET HOST "Transfer-Encoding:\r\n\r\n"),
	    REASON_HTTP_FRAMING, "transfer coding not chunked", 31 },
	{ "SM-05 two lines",
	    IN(GET HOST "Transfer-Encoding: chunked\r\n"
			"Transfer-Encoding: chunked\r\n\r\n"),
	    REASON_HTTP_FRAMING, "field that may stand once", 59 },
	{ "SM-05 NUL", IN(GET HOST "Transfer-Encoding: \0chunked\r\n\r\n"),
	    REASON_HTTP_MALFORMED, "control in a field value", 50 },
	{ "SM-06 blank before the colon",
	    IN(GET HOST "Transfer-Encoding : chunked\r\n\r\n"),
	    REASON_HTTP_MALFORMED, "blank in or behind a field name", 48 },
	{ "SM-07 chunked in 1.0",
	    IN("GET / HTTP/1.0\r\n" HOST "Transfer-Encoding: chunked\r\n\r\n"),
	    REASON_HTTP_FRAMING, "transfer coding in HTTP/1.0", 31 },
	{ "underscore", IN(GET HOST "Transfer_Encoding: chunked\r\n\r\n"),
	    REASON_HTTP_FRAMING, "name like a framing field", 31 },
};

static void
h1_head_refuses_each_bad_request(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct slice in = exact(bad[i].in);
		struct http_request r;
		struct parse_fail fail;
		size_t used;

		print_message("# %s\n", bad[i].name);
		assert_int_equal(request(in, &r, &used, &fail), PARSE_BAD);
		assert_string_equal(fail.detail, bad[i].detail);
		assert_int_equal(fail.reason, bad[i].reason);
		assert_int_equal(fail.at, bad[i].at);
		drop(in);
	}
}

/* Responses; `detail` NULL for those that are taken. */
static const struct {
	const char *name;
	struct slice method, in;
	const char *detail;
	size_t at;
	unsigned status;
	struct slice phrase;
	enum http_body body;
	uint64_t length;
	bool has_length, close;
} answers[] = {
	{ "length", IN("GET"),
	    IN("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"), NULL, 0, 200,
	    IN("OK"), HTTP_BODY_LENGTH, 3, true, false },
	{ "chunked", IN("GET"),
	    IN("HTTP/1.1 404 Not  Found\r\nTransfer-Encoding: chunked\r\n"
	       "Connection: close\r\n\r\n"),
	    NULL, 0, 404, IN("Not  Found"), HTTP_BODY_OPEN, 0, false, true },
	{ "until close", IN("GET"), IN("HTTP/1.1 200 \r\n\r\n"), NULL, 0, 200,
	    IN(""), HTTP_BODY_UNTIL_CLOSE, 0, false, true },
	{ "no phrase and no space", IN("GET"),
	    IN("HTTP/1.1 500\r\nContent-Length: 0\r\n\r\n"), NULL, 0, 500,
	    IN(""), HTTP_BODY_LENGTH, 0, true, false },
	{ "1.0", IN("GET"), IN("HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\n"),
	    NULL, 0, 200, IN("OK"), HTTP_BODY_LENGTH, 3, true, true },
	{ "HEAD", IN("HEAD"),
	    IN("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n"), NULL, 0, 200,
	    IN("OK"), HTTP_BODY_NONE, 3, true, false },
	{ "HEAD, chunked", IN("HEAD"),
	    IN("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), NULL,
	    0, 200, IN("OK"), HTTP_BODY_NONE, 0, false, false },
	{ "304", IN("GET"), IN("HTTP/1.1 304 x\r\nContent-Length: 3\r\n\r\n"),
	    NULL, 0, 304, IN("x"), HTTP_BODY_NONE, 3, true, false },
	{ "204", IN("GET"), IN("HTTP/1.1 204 x\r\n\r\n"), NULL, 0, 204, IN("x"),
	    HTTP_BODY_NONE, 0, false, false },
	{ "204 that says 0", IN("GET"),
	    IN("HTTP/1.1 204 x\r\nContent-Length: 0\r\n\r\n"), NULL, 0, 204,
	    IN("x"), HTTP_BODY_NONE, 0, true, false },
	{ "100", IN("POST"), IN("HTTP/1.1 100 Continue\r\n\r\n"), NULL, 0, 100,
	    IN("Continue"), HTTP_BODY_NONE, 0, false, false },
	{ "two cookies", IN("GET"),
	    IN("HTTP/1.1 204 x\r\nSet-Cookie: a\r\nSet-Cookie: b\r\n\r\n"),
	    NULL, 0, 204, IN("x"), HTTP_BODY_NONE, 0, false, false },
	{ "SM-27 two lengths", IN("GET"),
	    IN("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n"
	       "Content-Length: 4\r\n\r\n"),
	    "field that may stand once", 36 },
	{ "SM-27 length and coding", IN("GET"),
	    IN("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n"
	       "Transfer-Encoding: chunked\r\n\r\n"),
	    "length and transfer coding", 36 },
	{ "SM-27 204 with a body", IN("GET"),
	    IN("HTTP/1.1 204 x\r\nContent-Length: 3\r\n\r\n"),
	    "body where none can be", 0 },
	{ "100 with a body", IN("GET"),
	    IN("HTTP/1.1 100 x\r\nTransfer-Encoding: chunked\r\n\r\n"),
	    "body where none can be", 0 },
	{ "SM-28 NUL", IN("GET"), IN("HTTP/1.1 200 OK\r\nA: b\0c\r\n\r\n"),
	    "control in a field value", 21 },
	{ "SM-28 NUL in the phrase", IN("GET"), IN("HTTP/1.1 200 O\0\r\n\r\n"),
	    "control in a status line", 14 },
	{ "bare LF", IN("GET"), IN("HTTP/1.1 200 OK\n\n"), "bare LF", 15 },
	{ "bare CR", IN("GET"), IN("HTTP/1.1 200 O\rK\r\n\r\n"), "bare CR",
	    14 },
	{ "a blank before it", IN("GET"), IN(" HTTP/1.1 200 OK\r\n\r\n"),
	    "version not HTTP/1.1 or 1.0", 0 },
	{ "CRLF before it", IN("GET"), IN("\r\nHTTP/1.1 200 OK\r\n\r\n"),
	    "version not HTTP/1.1 or 1.0", 0 },
	{ "HTTP/2", IN("GET"), IN("HTTP/2.0 200 OK\r\n\r\n"),
	    "version not HTTP/1.1 or 1.0", 0 },
	{ "two blanks", IN("GET"), IN("HTTP/1.1  200 OK\r\n\r\n"),
	    "status line without three parts", 0 },
	{ "four digits", IN("GET"), IN("HTTP/1.1 2000 OK\r\n\r\n"),
	    "status line without three parts", 0 },
	{ "two digits", IN("GET"), IN("HTTP/1.1 20\r\n\r\n"),
	    "status line without three parts", 0 },
	{ "sign", IN("GET"), IN("HTTP/1.1 +20 OK\r\n\r\n"),
	    "status is not a number", 9 },
	{ "below 100", IN("GET"), IN("HTTP/1.1 099 OK\r\n\r\n"),
	    "status below 100", 9 },
	{ "no token in Connection", IN("GET"),
	    IN("HTTP/1.1 200 OK\r\nConnection: @\r\n\r\n"),
	    "connection option is no token", 29 },
};

static void
h1_head_judges_each_response(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(answers); i++) {
		struct slice in = exact(answers[i].in);
		struct http_response r = { 0 };
		struct parse_fail fail = { .detail = "" };
		size_t used = 0;

		print_message("# %s\n", answers[i].name);
		enum parse got = h1_response_take(in, &h1_limits,
		    answers[i].method, &r, &used, &fail);
		if (answers[i].detail != NULL) {
			assert_int_equal(got, PARSE_BAD);
			assert_string_equal(fail.detail, answers[i].detail);
			assert_int_equal(fail.at, answers[i].at);
			assert_int_equal(fail.reason, REASON_UP_RESPONSE);
			drop(in);
			continue;
		}
		assert_int_equal(got, PARSE_DONE);
		assert_int_equal(used, in.n);
		assert_int_equal(r.status, answers[i].status);
		assert_slice(r.phrase, answers[i].phrase);
		assert_int_equal(r.body, answers[i].body);
		assert_int_equal(r.length, answers[i].length);
		assert_int_equal(r.has_length, answers[i].has_length);
		assert_int_equal(r.keep_alive, !answers[i].close);
		drop(in);
	}
}

/* SM-29: fed at every cut, with what was remembered from the shorter input. */
static void
h1_head_verdict_does_not_depend_on_cuts(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(good) + COUNT_OF(bad); i++) {
		bool is_good = i < COUNT_OF(good);
		struct slice in =
		    is_good ? good[i].in : bad[i - COUNT_OF(good)].in;
		struct http_request whole, r;
		struct parse_fail fail, why;
		size_t end, used;

		enum parse want = request(in, &whole, &end, &fail);
		for (size_t cut = 0; cut < in.n; cut++) {
			r = (struct http_request){ 0 };
			struct slice part = exact(slice_first(in, cut));
			enum parse got =
			    h1_request_take(part, &h1_limits, &r, &used, &why);
			drop(part);
			if (is_good && cut < end)
				assert_int_equal(got, PARSE_MORE);
			if (want == PARSE_BAD)
				assert_int_not_equal(got, PARSE_DONE);
			if (got != PARSE_MORE)
				continue;
			assert_int_equal(h1_request_take(in, &h1_limits, &r,
					     &used, &why),
			    want);
			if (want == PARSE_BAD)
				assert_ptr_equal(why.detail, fail.detail);
		}
	}
}

/* One byte at a time, the same struct: as the peer of a slow network. */
static void
h1_head_takes_bytes_one_by_one(void **state)
{
	struct slice in = SLICE(GET HOST "\r\n");
	struct slice answer = SLICE("HTTP/1.1 200 OK\r\nA: b\r\n\r\n");
	struct http_request req = { 0 };
	struct http_response res = { 0 };
	struct parse_fail fail;
	size_t used;

	(void)state;
	for (size_t n = 0; n < in.n; n++)
		assert_int_equal(h1_request_take(slice_first(in, n), &h1_limits,
				     &req, &used, &fail),
		    PARSE_MORE);
	assert_int_equal(h1_request_take(in, &h1_limits, &req, &used, &fail),
	    PARSE_DONE);
	for (size_t n = 0; n < answer.n; n++)
		assert_int_equal(h1_response_take(slice_first(answer, n),
				     &h1_limits, SLICE("GET"), &res, &used,
				     &fail),
		    PARSE_MORE);
	assert_int_equal(h1_response_take(answer, &h1_limits, SLICE("GET"),
			     &res, &used, &fail),
	    PARSE_DONE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(h1_head_takes_each_good_request),
		cmocka_unit_test(h1_head_refuses_each_bad_request),
		cmocka_unit_test(h1_head_judges_each_response),
		cmocka_unit_test(h1_head_verdict_does_not_depend_on_cuts),
		cmocka_unit_test(h1_head_takes_bytes_one_by_one),
	};

	return cmocka_run_group_tests_name("h1_head", tests, NULL, NULL);
}
