/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/limits.h"
#include "control/call.h"

#define HOST "Host: duenna\r\n"
#define JSON "Content-Type: application/json\r\n"

struct row {
	const char *name, *head;
	enum control_code code; /* DONE: it is read */
	const char *detail;
};

/* clang-format off */
static const struct row rows[] = {
	{ "get", "GET /v1/status HTTP/1.1\r\n" HOST "\r\n", CONTROL_DONE, "" },
	{ "any host", "GET /v1/status HTTP/1.1\r\nHost:\r\n\r\n",
	    CONTROL_DONE, "" },
	{ "put", "PUT /v1/sandboxes/a-1 HTTP/1.1\r\n" HOST JSON
	    "Content-Length: 2\r\n\r\n", CONTROL_DONE, "" },
	{ "charset", "PUT /v1/sandboxes/a HTTP/1.1\r\n" HOST
	    "content-type: Application/JSON; charset=utf-8\r\n"
	    "Content-Length: 2\r\n\r\n", CONTROL_DONE, "" },
	{ "reload with a body of nothing", "POST /v1/reload HTTP/1.1\r\n" HOST
	    "Content-Length: 0\r\n\r\n", CONTROL_DONE, "" },
	{ "no such path", "GET /v2/status HTTP/1.1\r\n" HOST "\r\n",
	    CONTROL_PATH_UNKNOWN, "" },
	{ "absolute", "GET http://duenna.test/v1/status HTTP/1.1\r\n" HOST "\r\n",
	    CONTROL_PATH_UNKNOWN, "" },
	{ "no such name", "GET /v1/sandboxes/A HTTP/1.1\r\n" HOST "\r\n",
	    CONTROL_PATH_UNKNOWN, "" },
	{ "a name of two parts", "GET /v1/sandboxes/a/b HTTP/1.1\r\n" HOST
	    "\r\n", CONTROL_PATH_UNKNOWN, "" },
	{ "an escaped name", "GET /v1/sandboxes/%61 HTTP/1.1\r\n" HOST "\r\n",
	    CONTROL_PATH_UNKNOWN, "" },
	{ "a long name", "GET /v1/sandboxes/"
	    "aaaaaaaaaabbbbbbbbbbccccccccccddddddddddx HTTP/1.1\r\n" HOST
	    "\r\n", CONTROL_PATH_UNKNOWN, "" },
	{ "no name", "DELETE /v1/sandboxes/ HTTP/1.1\r\n" HOST "\r\n",
	    CONTROL_PATH_UNKNOWN, "" },
	{ "method", "POST /v1/sandboxes/a HTTP/1.1\r\n" HOST "\r\n",
	    CONTROL_METHOD_UNKNOWN, "" },
	{ "query", "GET /v1/status?x HTTP/1.1\r\n" HOST "\r\n",
	    CONTROL_REQUEST_WRONG, "no path here has a query" },
	{ "body of a get", "GET /v1/status HTTP/1.1\r\n" HOST
	    "Content-Length: 1\r\n\r\n", CONTROL_REQUEST_WRONG,
	    "no body is expected here" },
	{ "chunks", "PUT /v1/sandboxes/a HTTP/1.1\r\n" HOST JSON
	    "Transfer-Encoding: chunked\r\n\r\n", CONTROL_REQUEST_MALFORMED,
	    "a body needs a Content-Length" },
	{ "two lengths", "PUT /v1/sandboxes/a HTTP/1.1\r\n" HOST JSON
	    "Content-Length: 1\r\nContent-Length: 1\r\n\r\n",
	    CONTROL_REQUEST_MALFORMED, NULL },
	{ "too long", "PUT /v1/sandboxes/a HTTP/1.1\r\n" HOST JSON
	    "Content-Length: 1048577\r\n\r\n", CONTROL_REQUEST_LARGE,
	    "a body is at most 1 MiB" },
	{ "form", "PUT /v1/sandboxes/a HTTP/1.1\r\n" HOST
	    "Content-Type: application/x-www-form-urlencoded\r\n"
	    "Content-Length: 2\r\n\r\n", CONTROL_REQUEST_TYPE,
	    "expected Content-Type: application/json" },
	{ "another json", "PUT /v1/sandboxes/a HTTP/1.1\r\n" HOST
	    "Content-Type: application/jsonx\r\nContent-Length: 2\r\n\r\n",
	    CONTROL_REQUEST_TYPE, NULL },
	{ "no type", "PUT /v1/sandboxes/a HTTP/1.1\r\n" HOST
	    "Content-Length: 2\r\n\r\n", CONTROL_REQUEST_TYPE, NULL },
	{ "upgrade", "GET /v1/status HTTP/1.1\r\n" HOST
	    "Connection: upgrade\r\nUpgrade: h2c\r\n\r\n",
	    CONTROL_REQUEST_MALFORMED, NULL },
	{ "no host", "GET /v1/status HTTP/1.1\r\n\r\n",
	    CONTROL_REQUEST_MALFORMED, NULL },
	{ "bare LF", "GET /v1/status HTTP/1.1\n", CONTROL_REQUEST_MALFORMED,
	    "bare LF" },
};
/* clang-format on */

static void
heads_are_read_strictly(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		static struct call c;
		struct slice in = slice_of_str(rows[i].head);
		size_t used = 0;
		print_message("# %s\n", rows[i].name);
		memset(&c, 0, sizeof(c));
		enum parse part = call_take(in, &c, &used);
		if (rows[i].code == CONTROL_DONE) {
			assert_int_equal(part, PARSE_DONE);
			assert_int_equal(used, in.n);
			continue;
		}
		assert_int_equal(part, PARSE_BAD);
		assert_int_equal(c.problem.code, rows[i].code);
		if (rows[i].detail != NULL)
			assert_string_equal(c.problem.detail, rows[i].detail);
	}
}

static void
a_head_comes_in_pieces(void **state)
{
	(void)state;
	static struct call c;
	static const char head[] =
	    "PUT /v1/sandboxes/box HTTP/1.1\r\n" HOST JSON
	    "Content-Length: 17\r\nExpect: 100-continue\r\n"
	    "Connection: close\r\n\r\n";
	size_t used = 0;

	for (size_t n = 0; n < sizeof(head) - 1; n++)
		assert_int_equal(call_take(slice_of(head, n), &c, &used),
		    PARSE_MORE);
	assert_int_equal(call_take(slice_of_str(head), &c, &used), PARSE_DONE);
	assert_string_equal(c.name, "box");
	assert_int_equal(c.route->verb, CONTROL_ATTACH);
	assert_int_equal(c.length, 17);
	assert_true(c.expects);
	assert_false(c.keep_alive);
}

static void
a_path_says_which_methods_it_has(void **state)
{
	(void)state;
	static struct call c;
	size_t used = 0;

	assert_int_equal(
	    call_take(SLICE("POST /v1/sandboxes/a HTTP/1.1\r\n" HOST "\r\n"),
		&c, &used),
	    PARSE_BAD);
	assert_string_equal(c.allow, "GET, PUT, DELETE");
}

static void
a_head_has_a_size(void **state)
{
	(void)state;
	static struct call c;
	static char head[LIMIT_CONTROL_HEAD_SIZE + 2];
	size_t used = 0;
	int n = snprintf(head, sizeof(head), "GET /v1/status HTTP/1.1\r\nX: ");

	memset(head + n, 'x', sizeof(head) - (size_t)n);
	assert_int_equal(call_take(slice_of(head, LIMIT_CONTROL_HEAD_SIZE + 1),
			     &c, &used),
	    PARSE_BAD);
	assert_int_equal(c.problem.code, CONTROL_REQUEST_LARGE);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(heads_are_read_strictly),
		cmocka_unit_test(a_head_comes_in_pieces),
		cmocka_unit_test(a_path_says_which_methods_it_has),
		cmocka_unit_test(a_head_has_a_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
