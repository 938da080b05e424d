/* SPDX-License-Identifier: Apache-2.0 */
#include "h1_head_bed.h"

/* SM-30, PT-24: each limit from both sides. */
static void
h1_head_has_limits(void **state)
{
	struct slice in = SLICE(GET HOST "A: b\r\n\r\nbody");
	struct http_request r = { 0 };
	struct parse_fail fail;
	size_t used, head = in.n - 4;
	struct h1_limits tight = { .head = head, .target = 1, .fields = 2 };

	(void)state;
	assert_int_equal(h1_request_take(in, &tight, &r, &used, &fail),
	    PARSE_DONE);
	assert_int_equal(used, head);

	r = (struct http_request){ 0 };
	tight.head = head - 1;
	assert_int_equal(h1_request_take(slice_first(in, head - 2), &tight, &r,
			     &used, &fail),
	    PARSE_MORE);
	assert_int_equal(h1_request_take(slice_first(in, head - 1), &tight, &r,
			     &used, &fail),
	    PARSE_BAD);
	assert_int_equal(http_fail_status(&fail), 431);
	r = (struct http_request){ 0 };
	assert_int_equal(h1_request_take(in, &tight, &r, &used, &fail),
	    PARSE_BAD);
	assert_string_equal(fail.detail, HTTP_HEAD_TOO_LONG);
	assert_int_equal(fail.at, head - 1);

	tight = (struct h1_limits){ .head = head, .target = 1, .fields = 1 };
	r = (struct http_request){ 0 };
	assert_int_equal(h1_request_take(in, &tight, &r, &used, &fail),
	    PARSE_BAD);
	assert_string_equal(fail.detail, HTTP_TOO_MANY_FIELDS);
	assert_int_equal(fail.reason, REASON_LIMIT_BYTES);
	assert_int_equal(http_fail_status(&fail), 431);

	tight = (struct h1_limits){ .head = head, .target = 0, .fields = 2 };
	r = (struct http_request){ 0 };
	assert_int_equal(h1_request_take(in, &tight, &r, &used, &fail),
	    PARSE_BAD);
	assert_string_equal(fail.detail, HTTP_TARGET_TOO_LONG);
	assert_int_equal(fail.at, 4);
	assert_int_equal(http_fail_status(&fail), 414);
}

static void
h1_head_has_limits_for_responses(void **state)
{
	struct slice in = SLICE("HTTP/1.1 200 OK\r\nA: b\r\n\r\n");
	struct h1_limits tight = { .head = in.n - 1, .fields = 1 };
	struct http_response r = { 0 };
	struct parse_fail fail;
	size_t used;

	(void)state;
	assert_int_equal(h1_response_take(in, &tight, SLICE("GET"), &r, &used,
			     &fail),
	    PARSE_BAD);
	assert_string_equal(fail.detail, HTTP_HEAD_TOO_LONG);
	assert_int_equal(fail.reason, REASON_UP_RESPONSE);
	r = (struct http_response){ 0 };
	assert_int_equal(h1_response_take(slice_first(in, in.n - 1), &tight,
			     SLICE("GET"), &r, &used, &fail),
	    PARSE_BAD);
}

static void
h1_fail_status_tells_414_from_431(void **state)
{
	struct parse_fail fail = { REASON_LIMIT_BYTES, URLPATH_TOO_LONG, 0 };

	(void)state;
	assert_int_equal(http_fail_status(&fail), 414);
	fail.detail = "body over the limit";
	assert_int_equal(http_fail_status(&fail), 413);
	fail.reason = REASON_HTTP_FRAMING;
	assert_int_equal(http_fail_status(&fail), 400);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(h1_head_has_limits),
		cmocka_unit_test(h1_head_has_limits_for_responses),
		cmocka_unit_test(h1_fail_status_tells_414_from_431),
	};

	return cmocka_run_group_tests_name("h1_head", tests, NULL, NULL);
}
