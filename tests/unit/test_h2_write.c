/* SPDX-License-Identifier: Apache-2.0 */
#include "base/attr.h"
#include "h2_list_bed.h"
#include "wire/message.h"

static void
h2_request_is_written_anew(void **state)
{
	(void)state;
	struct slice list = list_of(":method|POST\n"
				    ":scheme|https\n:path|/a?b=c\n"
				    ":authority|OK.test.\n"
				    "content-length|5\nx-forwarded-for|x\n"
				    "trailer|Host, x-a\ntrailer|x-b\n"
				    "te|trailers\n!secret|s\nauthorization|z\n"
				    "http2-settings|x\nexpect|100-continue\n"
				    "accept|\xe4\nalt-used|x\ncookie|a=1\n");
	static uint8_t room[H2_WRITE_MAX(0)];
	struct wr w = wr_of(room, sizeof(room));
	struct http_request req = { 0 };
	struct parse_fail fail;
	struct field slots[] = { { SLICE("X-Token"), SLICE("canary"), false } };
	struct field parameters[] = { { SLICE("key"), SLICE("c d"), false } };

	assert_int_equal(h2_request_take(list, false, &req, &fail), PARSE_DONE);
	struct http_new_request r =
	    http_new_request(&req, req.target.path, &req.host.host);
	r.credentials = slots;
	r.n_credentials = 1;
	h2_put_request_list(&w, &r);
	assert_string_equal(text_of(wr_slice(&w)),
	    ":method|POST\n:scheme|https\n:path|/a?b=c\n"
	    ":authority|ok.test\nte|trailers\n!secret|s\n!authorization|z\n"
	    "expect|100-continue\naccept|\xe4\ncookie|a=1\n"
	    "trailer|x-a,x-b\ncontent-length|5\n!x-token|canary\n");

	r.n_credentials = 0;
	r.parameters = parameters;
	r.n_parameters = 1;
	r.port = 8443;
	r.skip_expect = true;
	w.n = 0;
	h2_put_request_list(&w, &r);
	assert_string_equal(text_of(wr_slice(&w)),
	    ":method|POST\n:scheme|https\n!:path|/a?b=c&key=c%20d\n"
	    ":authority|ok.test:8443\nte|trailers\n!secret|s\n"
	    "!authorization|z\naccept|\xe4\ncookie|a=1\n"
	    "trailer|x-a,x-b\ncontent-length|5\n");
	drop(list);
}

static void
h2_connect_is_written_anew(void **state)
{
	(void)state;
	static const char *const texts[] = {
		":method|CONNECT\n:protocol|websocket\n:scheme|https\n"
		":path|/chat\n:authority|ok.test\n",
		":method|CONNECT\n:authority|ok.test:443\n",
	};

	for (size_t i = 0; i < COUNT_OF(texts); i++) {
		struct slice list = list_of(texts[i]);
		uint8_t room[512];
		struct wr w = wr_of(room, sizeof(room));
		struct http_request req = { 0 };
		struct parse_fail fail;
		assert_int_equal(h2_request_take(list, false, &req, &fail),
		    PARSE_DONE);
		struct http_new_request r =
		    http_new_request(&req, req.target.path, &req.host.host);
		r.port = req.host.port;
		h2_put_request_list(&w, &r);
		assert_string_equal(text_of(wr_slice(&w)), texts[i]);
		drop(list);
	}
}

static void
h2_response_is_written_anew(void **state)
{
	(void)state;
	struct slice list = list_of(":status|200\ncontent-type|a/b\n"
				    "alt-svc|h3=1\ntrailer|x\n"
				    "set-cookie|a=1\ncontent-length|5\n"
				    "proxy-status|x\n!x|y\n");
	uint8_t room[1024];
	struct wr w = wr_of(room, sizeof(room));
	struct http_request req = { .keep_alive = true };
	struct http_response res = { 0 };
	struct parse_fail fail;

	assert_int_equal(h2_response_take(list, false, SLICE("GET"), &res,
			     &fail),
	    PARSE_DONE);
	struct http_new_response r = http_new_response(&res, &req);
	h2_put_response_list(&w, &r);
	assert_string_equal(text_of(wr_slice(&w)),
	    ":status|200\ncontent-type|a/b\n!set-cookie|a=1\n!x|y\n"
	    "trailer|x\ncontent-length|5\n");
	r.skip_cookies = true;
	r.has_length = false;
	w.n = 0;
	h2_put_response_list(&w, &r);
	assert_string_equal(text_of(wr_slice(&w)),
	    ":status|200\ncontent-type|a/b\n!x|y\ntrailer|x\n");
	/* What does not fit is not written in part. */
	for (size_t max = 0; max < 40; max++) {
		w = wr_of(room, max);
		h2_put_response_list(&w, &r);
		assert_true(w.bad);
	}
	drop(list);
}

static void
h2_trailers_are_written_as_they_are(void **state)
{
	(void)state;
	struct slice list = list_of("grpc-status|0\n!grpc-message|ok\n");
	uint8_t room[256];
	struct wr w = wr_of(room, sizeof(room));
	struct field_list fields;
	struct parse_fail fail;

	assert_int_equal(h2_trailers_take(list, REASON_UP_RESPONSE, &fields,
			     &fail),
	    PARSE_DONE);
	h2_put_trailer_list(&w, &fields);
	assert_string_equal(text_of(wr_slice(&w)),
	    "grpc-status|0\n!grpc-message|ok\n");
	drop(list);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(h2_request_is_written_anew),
		cmocka_unit_test(h2_connect_is_written_anew),
		cmocka_unit_test(h2_response_is_written_anew),
		cmocka_unit_test(h2_trailers_are_written_as_they_are),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
