/* SPDX-License-Identifier: Apache-2.0 */
#include "base/attr.h"
#include "h2_list_bed.h"
#include "wire/h1_head.h"
#include "wire/h2_head.h"
#include "wire/message.h"

#define M ":method|GET\n"
#define S ":scheme|https\n"
#define P ":path|/\n"
#define A ":authority|ok.test\n"
#define GET M S P A

/* --- requests ------------------------------------------------------------- */

static const struct {
	const char *name, *list;
	bool ends;
	enum reason reason;
	const char *detail;
} wrong[] = {
	/* clang-format off */
	{ "H2-01 LF in a value", GET "a|b\1c\n", true, REASON_HTTP_MALFORMED, "control in a field value" },
	{ "H2-01 CR in a value", GET "a|b\rc\n", true, REASON_HTTP_MALFORMED, "control in a field value" },
	{ "H2-01 NUL in a value", GET "a|b\2c\n", true, REASON_HTTP_MALFORMED, "control in a field value" },
	{ "H2-01 DEL in a value", GET "a|b\177c\n", true, REASON_HTTP_MALFORMED, "control in a field value" },
	{ "H2-01 blank before a value", GET "a| b\n", true, REASON_HTTP_MALFORMED, "blank at an end of a field value" },
	{ "H2-01 tab behind a value", GET "a|b\t\n", true, REASON_HTTP_MALFORMED, "blank at an end of a field value" },
	{ "H2-01 CRLF and a field in :path", M S ":path|/\r\1x: y\n" A, true, REASON_HTTP_MALFORMED, "control in a field value" },
	{ "H2-02 upper case", GET "Ab|c\n", true, REASON_HTTP_MALFORMED, "upper case in a field name" },
	{ "H2-02 colon in a name", GET "a:b|c\n", true, REASON_HTTP_MALFORMED, "byte that no field name has" },
	{ "H2-02 blank in a name", GET "a b|c\n", true, REASON_HTTP_MALFORMED, "byte that no field name has" },
	{ "H2-02 empty name", GET "|c\n", true, REASON_HTTP_MALFORMED, "empty field name" },
	{ "H2-03 transfer-encoding", GET "transfer-encoding|chunked\n", false, REASON_HTTP_MALFORMED, "field of a connection" },
	{ "H2-03 connection", GET "connection|close\n", true, REASON_HTTP_MALFORMED, "field of a connection" },
	{ "H2-03 proxy-connection", GET "proxy-connection|close\n", true, REASON_HTTP_MALFORMED, "field of a connection" },
	{ "H2-03 keep-alive", GET "keep-alive|1\n", true, REASON_HTTP_MALFORMED, "field of a connection" },
	{ "H2-03 upgrade", GET "upgrade|websocket\n", true, REASON_HTTP_MALFORMED, "field of a connection" },
	{ "H2-03 posing as one", GET "transfer_encoding|chunked\n", false, REASON_HTTP_FRAMING, "name like a framing field" },
	{ "H2-03 te: gzip", GET "te|gzip\n", true, REASON_HTTP_MALFORMED, "te other than trailers" },
	{ "H2-04 two lengths", GET "content-length|1\ncontent-length|1\n", false, REASON_HTTP_FRAMING, "field that may stand once" },
	{ "H2-04 no number", GET "content-length|+1\n", false, REASON_HTTP_FRAMING, "length is not a number" },
	{ "H2-04 empty", GET "content-length|\n", false, REASON_HTTP_FRAMING, "empty length" },
	{ "H2-04 leading zero", GET "content-length|01\n", false, REASON_HTTP_FRAMING, "length begins with a zero" },
	{ "H2-04 out of range", GET "content-length|9223372036854775808\n", false, REASON_HTTP_FRAMING, "length out of range" },
	{ "H2-04 a length and the end", GET "content-length|3\n", true, REASON_HTTP_FRAMING, "length without a body" },
	{ "H2-05 two :path", M S P P A, true, REASON_HTTP_MALFORMED, "pseudo field that stands twice" },
	{ "H2-05 two :authority", GET A, true, REASON_HTTP_MALFORMED, "pseudo field that stands twice" },
	{ "H2-05 no :path", M S A, true, REASON_HTTP_MALFORMED, "no :path" },
	{ "H2-05 empty :path", M S ":path|\n" A, true, REASON_HTTP_MALFORMED, "empty pseudo field" },
	{ "H2-05 no :scheme", M P A, true, REASON_HTTP_MALFORMED, "no :scheme" },
	{ "H2-05 no :method", S P A, true, REASON_HTTP_MALFORMED, "no :method" },
	{ "H2-05 no :authority, but host", M S P "host|ok.test\n", true, REASON_HTTP_MALFORMED, "no :authority" },
	{ "H2-05 pseudo field behind others", M S P "a|b\n" A, true, REASON_HTTP_MALFORMED, "pseudo field behind others" },
	{ "H2-05 unknown pseudo field", GET ":x|y\n", true, REASON_HTTP_MALFORMED, "unknown pseudo field" },
	{ "H2-05 of an answer", GET ":status|200\n", true, REASON_HTTP_MALFORMED, "unknown pseudo field" },
	{ "H2-06 blank in :path", M S ":path|/a b\n" A, true, REASON_HTTP_MALFORMED, "blank in a target" },
	{ "H2-06 an absolute :path", M S ":path|https://ok.test/\n" A, true, REASON_HTTP_MALFORMED, ":path that is no path" },
	{ "H2-06 an authority for :path", M S ":path|ok.test:443\n" A, true, REASON_HTTP_MALFORMED, ":path that is no path" },
	{ "H2-07 blank in :method", ":method|GET /\n" S P A, true, REASON_HTTP_MALFORMED, "byte that no method has" },
	{ "H2-07 :scheme http", M ":scheme|http\n" P A, true, REASON_HTTP_MALFORMED, ":scheme not https" },
	{ "H2-07 :scheme in upper case", M ":scheme|HTTPS\n" P A, true, REASON_HTTP_MALFORMED, ":scheme not https" },
	{ "H2-08 userinfo", M S P ":authority|u@ok.test\n", true, REASON_HTTP_MALFORMED, NULL },
	{ "H2-08 port of no number", M S P ":authority|ok.test:x\n", true, REASON_HTTP_MALFORMED, "port is not a number" },
	{ "TL-06 host differs", GET "host|other.test\n", true, REASON_HTTP_MALFORMED, "host differs from :authority" },
	{ "TL-06 host with another port", GET "host|ok.test:8443\n", true, REASON_HTTP_MALFORMED, "host differs from :authority" },
	{ "TL-06 host that is none", GET "host|a b\n", true, REASON_HTTP_MALFORMED, NULL },
	{ "TL-06 two hosts", GET "host|ok.test\nhost|ok.test\n", true, REASON_HTTP_MALFORMED, "field that may stand once" },
	{ "H2-09 :protocol without CONNECT", GET ":protocol|websocket\n", false, REASON_HTTP_MALFORMED, ":protocol without CONNECT" },
	{ "H2-09 CONNECT with a path", ":method|CONNECT\n" P A, false, REASON_HTTP_MALFORMED, "CONNECT with a scheme or path" },
	{ "H2-09 CONNECT without a port", ":method|CONNECT\n" A, false, REASON_HTTP_MALFORMED, "target of no known form" },
	{ "H2-09 extended without a path", ":method|CONNECT\n:protocol|websocket\n" S A, false, REASON_HTTP_MALFORMED, "no :path" },
	{ "two credentials", GET "authorization|a\nauthorization|b\n", true, REASON_HTTP_MALFORMED, "field that may stand once" },
	/* clang-format on */
};

static void
h2_request_refuses(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(wrong); i++) {
		struct slice list = list_of(wrong[i].list);
		struct http_request req = { 0 };
		struct parse_fail fail = { .detail = "" };

		print_message("# %s\n", wrong[i].name);
		assert_int_equal(h2_request_take(list, wrong[i].ends, &req,
				     &fail),
		    PARSE_BAD);
		assert_string_equal(reason_name(fail.reason),
		    reason_name(wrong[i].reason));
		if (wrong[i].detail != NULL)
			assert_string_equal(fail.detail, wrong[i].detail);
		assert_true(fail.at <= list.n);
		drop(list);
	}
}

static void
h2_request_reads_what_http1_reads(void **state)
{
	(void)state;
	struct slice list = list_of(":method|POST\n" S ":path|/a?b=c\n"
				    ":authority|OK.test.:8443\n"
				    "host|ok.test:8443\n"
				    "content-length|5\nexpect|100-Continue\n"
				    "te|trailers\ncookie|a=1\n!cookie|b=2\n");
	struct http_request req = { 0 };
	struct parse_fail fail;

	assert_int_equal(h2_request_take(list, false, &req, &fail), PARSE_DONE);
	assert_slice(req.method, SLICE("POST"));
	assert_slice(req.raw_target, SLICE("/a?b=c"));
	assert_int_equal(req.target.form, TARGET_ORIGIN);
	assert_slice(req.target.path, SLICE("/a"));
	assert_slice(req.target.query, SLICE("b=c"));
	/* H2-08: dot and case are canonicalised, as NM-01 and NM-02. */
	assert_slice(host_slice(&req.host.host), SLICE("ok.test"));
	assert_int_equal(req.host.port, 8443);
	assert_int_equal(req.body, HTTP_BODY_LENGTH);
	assert_int_equal(req.length, 5);
	assert_int_equal(req.expect, HTTP_EXPECT_CONTINUE);
	assert_true(req.keep_alive);
	assert_false(req.is_http10 || req.has_upgrade);
	/* `host` said the same: there is one name from here on. */
	assert_null(field_find(&req.fields, SLICE("host")));
	/* H2-10: crumbs stay what they are, each within the limits. */
	assert_int_equal(field_count(&req.fields, SLICE("cookie")), 2);
	assert_false(req.fields.at[3].never_indexed);
	assert_true(req.fields.at[4].never_indexed);
	drop(list);
}

static void
h2_request_knows_where_its_body_ends(void **state)
{
	(void)state;
	static const struct {
		const char *list;
		bool ends;
		enum http_body body;
	} rows[] = {
		{ GET, true, HTTP_BODY_NONE },
		{ GET, false, HTTP_BODY_OPEN },
		{ GET "content-length|0\n", true, HTTP_BODY_LENGTH },
		{ GET "content-length|0\n", false, HTTP_BODY_LENGTH },
		{ GET "content-length|9223372036854775807\n", false,
		    HTTP_BODY_LENGTH },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct slice list = list_of(rows[i].list);
		struct http_request req = { 0 };
		struct parse_fail fail;
		assert_int_equal(h2_request_take(list, rows[i].ends, &req,
				     &fail),
		    PARSE_DONE);
		assert_int_equal(req.body, rows[i].body);
		drop(list);
	}
}

static void
h2_request_tells_the_forms_of_a_target(void **state)
{
	(void)state;
	struct slice star =
	    list_of(":method|OPTIONS\n" S ":path|*\n:authority|ok.test\n");
	struct slice connect =
	    list_of(":method|CONNECT\n:authority|ok.test:443\n");
	struct slice extended =
	    list_of(":method|CONNECT\n"
		    ":protocol|websocket\n" S ":path|/chat\n" A);
	struct http_request req = { 0 };
	struct parse_fail fail;

	assert_int_equal(h2_request_take(star, true, &req, &fail), PARSE_DONE);
	assert_int_equal(req.target.form, TARGET_ASTERISK);
	assert_int_equal(h2_request_take(connect, false, &req, &fail),
	    PARSE_DONE);
	assert_int_equal(req.target.form, TARGET_AUTHORITY);
	assert_false(req.has_upgrade);
	/* H2-09: an upgrade, for the rules that speak of those. */
	assert_int_equal(h2_request_take(extended, false, &req, &fail),
	    PARSE_DONE);
	assert_slice(req.protocol, SLICE("websocket"));
	assert_true(req.has_upgrade);
	assert_int_equal(req.body, HTTP_BODY_OPEN);
	drop(star);
	drop(connect);
	drop(extended);
}

static void
h2_request_keeps_the_limits(void **state)
{
	(void)state;
	static char text[LIST_SIZE];
	struct http_request req = { 0 };
	struct parse_fail fail;
	size_t n = (size_t)snprintf(text, sizeof(text), "%s", GET);

	/* H2-10: 500 crumbs are over the limit like 500 fields. */
	for (size_t i = 0; i < FIELD_MAX + 1; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n,
		    "cookie|a=%zu\n", i);
	struct slice list = list_of(text);
	assert_int_equal(h2_request_take(list, true, &req, &fail), PARSE_BAD);
	assert_int_equal(fail.reason, REASON_LIMIT_BYTES);
	assert_string_equal(fail.detail, "too many fields");
	drop(list);

	struct wr w = wr_of(text, sizeof(text));
	struct slice path = repeat(SLICE("/"), 'a', LIMIT_TARGET_SIZE);
	struct field fields[] = {
		{ SLICE(":method"), SLICE("GET"), false },
		{ SLICE(":scheme"), SLICE("https"), false },
		{ SLICE(":path"), path, false },
		{ SLICE(":authority"), SLICE("ok.test"), false },
	};
	for (size_t i = 0; i < COUNT_OF(fields); i++)
		h2_fields_put(&w, &fields[i]);
	assert_int_equal(h2_request_take(wr_slice(&w), true, &req, &fail),
	    PARSE_BAD);
	assert_string_equal(fail.detail, "target over the limit");
	assert_int_equal(http_fail_status(&fail), 414);
	drop(path);
}

static void
h2_lists_that_are_cut_are_refused(void **state)
{
	(void)state;
	struct slice list = list_of(GET "a|b\n");
	struct slice whole[5], rest = list;
	struct http_request req = { 0 };
	struct parse_fail fail;
	struct field f;

	for (size_t i = 0; i < 5; i++) {
		assert_true(h2_fields_take(&rest, &f));
		whole[i] = slice_first(list, list.n - rest.n);
	}
	for (size_t n = 0; n < list.n; n++) {
		struct slice part = exact(slice_first(list, n));
		bool is_border = n == whole[3].n;
		assert_int_equal(h2_request_take(part, true, &req, &fail),
		    is_border ? PARSE_DONE : PARSE_BAD);
		drop(part);
	}
	assert_int_equal(h2_request_take(slice_first(list, list.n - 1), true,
			     &req, &fail),
	    PARSE_BAD);
	assert_string_equal(fail.detail, "list that is cut");
	struct wr w = wr_of(&req, 3);
	h2_fields_put(&w, &f);
	assert_true(w.bad);
	drop(list);
}

/* --- responses ------------------------------------------------------------ */

static const struct {
	const char *name, *list, *method;
	bool ends;
	const char *detail; /* NULL: good */
	enum http_body body;
	uint64_t length;
} answers[] = {
	/* clang-format off */
	{ "no status", "a|b\n", "GET", true, "no :status of three digits", 0, 0 },
	{ "four digits", ":status|2000\n", "GET", true, "no :status of three digits", 0, 0 },
	{ "letters", ":status|20x\n", "GET", true, "status is not a number", 0, 0 },
	{ "below 100", ":status|099\n", "GET", true, "status below 100", 0, 0 },
	{ "101", ":status|101\n", "GET", false, "101 in HTTP/2", 0, 0 },
	{ "1xx with END_STREAM", ":status|103\n", "GET", true, "1xx that ends the stream", 0, 0 },
	{ "two :status", ":status|200\n:status|200\n", "GET", true, "pseudo field that stands twice", 0, 0 },
	{ "of a request", ":status|200\n:path|/\n", "GET", true, "unknown pseudo field", 0, 0 },
	{ "H2-01 LF", ":status|200\na|b\1c\n", "GET", true, "control in a field value", 0, 0 },
	{ "H2-03 connection", ":status|200\nconnection|close\n", "GET", true, "field of a connection", 0, 0 },
	{ "two lengths", ":status|200\ncontent-length|1\ncontent-length|1\n", "GET", false, "field that may stand once", 0, 0 },
	{ "two types", ":status|200\ncontent-type|a\ncontent-type|b\n", "GET", false, "field that may stand once", 0, 0 },
	{ "length of 204", ":status|204\ncontent-length|1\n", "GET", true, "body where none can be", 0, 0 },
	{ "length, and the end", ":status|200\ncontent-length|1\n", "GET", true, "length without a body", 0, 0 },
	{ "of known length", ":status|200\ncontent-length|7\n", "GET", false, NULL, HTTP_BODY_LENGTH, 7 },
	{ "of unknown length", ":status|200\n", "GET", false, NULL, HTTP_BODY_OPEN, 0 },
	{ "empty", ":status|200\n", "GET", true, NULL, HTTP_BODY_NONE, 0 },
	{ "of HEAD", ":status|200\ncontent-length|7\n", "HEAD", true, NULL, HTTP_BODY_NONE, 7 },
	{ "304", ":status|304\ncontent-length|7\n", "GET", true, NULL, HTTP_BODY_NONE, 7 },
	{ "204", ":status|204\n", "GET", true, NULL, HTTP_BODY_NONE, 0 },
	{ "1xx", ":status|103\nlink|x\n", "GET", false, NULL, HTTP_BODY_NONE, 0 },
	/* clang-format on */
};

static void
h2_response_reads_each_case(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(answers); i++) {
		struct slice list = list_of(answers[i].list);
		struct http_response res = { 0 };
		struct parse_fail fail = { .detail = "" };
		bool good = answers[i].detail == NULL;

		print_message("# %s\n", answers[i].name);
		assert_int_equal(h2_response_take(list, answers[i].ends,
				     slice_of_str(answers[i].method), &res,
				     &fail),
		    good ? PARSE_DONE : PARSE_BAD);
		if (good) {
			assert_int_equal(res.body, answers[i].body);
			assert_int_equal(res.length, answers[i].length);
			assert_true(res.keep_alive);
		} else {
			assert_string_equal(fail.detail, answers[i].detail);
			assert_int_equal(fail.reason, REASON_UP_RESPONSE);
		}
		drop(list);
	}
}

static void
h2_tells_an_informational_head(void **state)
{
	(void)state;
	struct slice yes = list_of(":status|100\n");
	struct slice no = list_of(":status|200\n");
	struct slice none = list_of("status|100\n");

	assert_true(h2_is_informational(yes));
	assert_false(h2_is_informational(no));
	assert_false(h2_is_informational(none));
	assert_false(h2_is_informational(SLICE("")));
	drop(yes);
	drop(no);
	drop(none);
}

/* --- trailers ------------------------------------------------------------- */

static const struct {
	const char *list;
	bool request, response; /* may be one of theirs */
} trailers[] = {
	{ "grpc-status|0\ngrpc-message|ok\n", true, true },
	{ ":status|200\n", false, false },
	{ ":path|/\n", false, false },
	{ "content-length|1\n", false, false },
	{ "transfer-encoding|chunked\n", false, false },
	{ "content_length|1\n", false, false },
	{ "host|ok.test\n", false, false },
	{ "authorization|x\n", false, false },
	{ "proxy-authorization|x\n", false, false },
	{ "x-api-key|x\n", false, true },
	{ "cookie|a=b\n", false, false },
	{ "set-cookie|a=b\n", false, false },
	{ "te|trailers\n", false, false },
	{ "trailer|x\n", false, false },
	{ "content-encoding|gzip\n", false, false },
	{ "content-type|text/html\n", false, false },
	{ "x-forwarded-host|x\n", false, false },
	{ "x-http-method-override|DELETE\n", false, false },
	{ "alt-svc|x\n", false, false },
	{ "A|b\n", false, false },
};

static void
h2_trailers_neither_frame_nor_route(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(trailers); i++) {
		struct slice list = list_of(trailers[i].list);
		struct field_list fields;
		struct parse_fail fail;

		print_message("# H2-11 %zu\n", i);
		assert_int_equal(h2_trailers_take(list, REASON_HTTP_MALFORMED,
				     &fields, &fail),
		    trailers[i].request ? PARSE_DONE : PARSE_BAD);
		if (!trailers[i].request)
			assert_int_equal(fail.reason, REASON_HTTP_MALFORMED);
		assert_int_equal(h2_trailers_take(list, REASON_UP_RESPONSE,
				     &fields, &fail),
		    trailers[i].response ? PARSE_DONE : PARSE_BAD);
		if (!trailers[i].response)
			assert_int_equal(fail.reason, REASON_UP_RESPONSE);
		drop(list);
	}
}

static void
h2_trailers_say_why(void **state)
{
	(void)state;
	struct slice list = list_of("authorization|x\n");
	struct slice value = repeat(SLICE(""), 'a', LIMIT_TRAILER_SIZE);
	struct field f = { .name = SLICE("a"), .value = value };
	static uint8_t room[LIST_SIZE];
	struct wr w = wr_of(room, sizeof(room));
	struct field_list fields;
	struct parse_fail fail;

	assert_int_equal(h2_trailers_take(list, REASON_UP_RESPONSE, &fields,
			     &fail),
	    PARSE_BAD);
	assert_string_equal(fail.detail,
	    "trailer that frames, routes or authenticates");
	h2_fields_put(&w, &f);
	assert_int_equal(h2_trailers_take(wr_slice(&w), REASON_UP_RESPONSE,
			     &fields, &fail),
	    PARSE_BAD);
	assert_string_equal(fail.detail, "trailers over the limit");
	drop(value);
	drop(list);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(h2_request_refuses),
		cmocka_unit_test(h2_request_reads_what_http1_reads),
		cmocka_unit_test(h2_request_knows_where_its_body_ends),
		cmocka_unit_test(h2_request_tells_the_forms_of_a_target),
		cmocka_unit_test(h2_request_keeps_the_limits),
		cmocka_unit_test(h2_lists_that_are_cut_are_refused),
		cmocka_unit_test(h2_response_reads_each_case),
		cmocka_unit_test(h2_tells_an_informational_head),
		cmocka_unit_test(h2_trailers_neither_frame_nor_route),
		cmocka_unit_test(h2_trailers_say_why),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
