/* SPDX-License-Identifier: Apache-2.0 */
#include "h2_list_bed.h"
#include "wire/h1_head.h"
#include "wire/upgrade.h"

#define ASK "GET /s HTTP/1.1\r\nHost: ok.test\r\n"
#define CONNECTION "Connection: Upgrade\r\n"
#define TO "Upgrade: websocket\r\n"
#define KEY "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
#define VERSION "Sec-WebSocket-Version: 13\r\n"
#define GOOD CONNECTION TO KEY VERSION
#define NO_GET "a WebSocket is opened by a GET of HTTP/1.1"
#define BODY "a WebSocket is opened by a request without a body"
#define NO_KEY "Sec-WebSocket-Key is not 16 bytes of Base64, once"
#define NO_VERSION "Sec-WebSocket-Version is not 13"
#define ANOTHER "switches to another protocol"
#define NO_ACCEPT "Sec-WebSocket-Accept does not answer the key"
#define UNOFFERED "chooses an extension or protocol not offered"
#define ANSWER "HTTP/1.1 101 x\r\n"
#define ACCEPT "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"

static void
read_request(struct slice in, struct http_request *req)
{
	struct parse_fail fail;
	size_t used;

	*req = (struct http_request){ 0 };
	assert_int_equal(h1_request_take(in, &h1_limits, req, &used, &fail),
	    PARSE_DONE);
}

static const struct {
	const char *name;
	struct slice in;
	enum upgrade asked;
} asked[] = {
	{ "nothing", IN(ASK "\r\n"), UPGRADE_NONE },
	{ "a Connection alone", IN(ASK CONNECTION "\r\n"), UPGRADE_NONE },
	{ "h2c", IN(ASK "Upgrade: h2c\r\n\r\n"), UPGRADE_NONE },
	{ "h2c in other letters", IN(ASK "upgrade: ,H2C,\r\n\r\n"),
	    UPGRADE_NONE },
	{ "a WebSocket", IN(ASK TO "\r\n"), UPGRADE_WEBSOCKET },
	{ "in other letters", IN(ASK "UPGRADE:\tWebSocket\r\n\r\n"),
	    UPGRADE_WEBSOCKET },
	{ "nothing by name", IN(ASK "Upgrade:\r\n\r\n"), UPGRADE_OTHER },
	{ "another", IN(ASK "Upgrade: tcp\r\n\r\n"), UPGRADE_OTHER },
	{ "part of the name", IN(ASK "Upgrade: websockets\r\n\r\n"),
	    UPGRADE_OTHER },
	{ "a version behind it", IN(ASK "Upgrade: websocket/13\r\n\r\n"),
	    UPGRADE_OTHER },
	{ "both", IN(ASK "Upgrade: h2c, websocket\r\n\r\n"), UPGRADE_OTHER },
	{ "in two fields", IN(ASK TO TO "\r\n"), UPGRADE_OTHER },
};

static void
upgrade_knows_what_is_asked(void **state UNUSED)
{
	for (size_t i = 0; i < COUNT_OF(asked); i++) {
		struct slice in = exact(asked[i].in);
		struct http_request req;
		print_message("# %s\n", asked[i].name);
		read_request(in, &req);
		assert_int_equal(upgrade_asked(&req), asked[i].asked);
		drop(in);
	}
}

static const struct {
	const char *name;
	struct slice in;
	const char *why; /* NULL: it opens one */
} requests[] = {
	{ "the standard's", IN(ASK GOOD "\r\n"), NULL },
	{ "other options beside it",
	    IN(ASK "Connection: keep-alive, UPGRADE\r\n" TO KEY VERSION "\r\n"),
	    NULL },
	{ "a length of 0", IN(ASK GOOD "Content-Length: 0\r\n\r\n"), NULL },
	{ "POST", IN("POST /s HTTP/1.1\r\nHost: ok.test\r\n" GOOD "\r\n"),
	    NO_GET },
	{ "HTTP/1.0", IN("GET /s HTTP/1.0\r\nHost: ok.test\r\n" GOOD "\r\n"),
	    NO_GET },
	{ "a length", IN(ASK GOOD "Content-Length: 1\r\n\r\n"), BODY },
	{ "chunks", IN(ASK GOOD "Transfer-Encoding: chunked\r\n\r\n"), BODY },
	{ "an expectation", IN(ASK GOOD "Expect: 100-continue\r\n\r\n"), BODY },
	{ "part of the token",
	    IN(ASK "Connection: notupgrade\r\n" TO KEY VERSION "\r\n"),
	    "Connection does not name the upgrade" },
	{ "no Connection", IN(ASK TO KEY VERSION "\r\n"),
	    "Connection does not name the upgrade" },
	{ "a field of its own named",
	    IN(ASK
		"Connection: upgrade, Sec-WebSocket-Version\r\n" TO KEY VERSION
		"\r\n"),
	    "Connection names a field of the WebSocket" },
	{ "no key", IN(ASK CONNECTION TO VERSION "\r\n"), NO_KEY },
	{ "two keys", IN(ASK GOOD KEY "\r\n"), NO_KEY },
	{ "15 bytes",
	    IN(ASK CONNECTION TO VERSION
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25j\r\n\r\n"),
	    NO_KEY },
	{ "17 bytes",
	    IN(ASK CONNECTION TO VERSION
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQo=\r\n\r\n"),
	    NO_KEY },
	{ "bits behind the end",
	    IN(ASK CONNECTION TO VERSION
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZR==\r\n\r\n"),
	    NO_KEY },
	{ "no Base64",
	    IN(ASK CONNECTION TO VERSION
		"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25j!Q==\r\n\r\n"),
	    NO_KEY },
	{ "no version", IN(ASK CONNECTION TO KEY "\r\n"), NO_VERSION },
	{ "another version",
	    IN(ASK CONNECTION TO KEY "Sec-WebSocket-Version: 8\r\n\r\n"),
	    NO_VERSION },
	{ "two versions", IN(ASK GOOD VERSION "\r\n"), NO_VERSION },
};

static void
upgrade_takes_requests_that_open_one(void **state UNUSED)
{
	for (size_t i = 0; i < COUNT_OF(requests); i++) {
		struct slice in = exact(requests[i].in);
		struct http_request req;
		print_message("# %s\n", requests[i].name);
		read_request(in, &req);
		assert_int_equal(upgrade_asked(&req), UPGRADE_WEBSOCKET);
		const char *why = upgrade_check_request(&req);
		if (requests[i].why == NULL)
			assert_null(why);
		else
			assert_string_equal(why, requests[i].why);
		drop(in);
	}
}

#define OFFER                                                  \
	ASK GOOD "Sec-WebSocket-Extensions: x-a; p=1, x-b\r\n" \
		 "Sec-WebSocket-Extensions: x-c\r\n"           \
		 "Sec-WebSocket-Protocol: chat, v2\r\n\r\n"

static const struct {
	const char *name;
	struct slice in;
	const char *why; /* NULL: it is the answer */
} answers[] = {
	{ "nothing chosen", IN(ANSWER CONNECTION TO ACCEPT "\r\n"), NULL },
	{ "in other letters",
	    IN(ANSWER "Connection: UPGRADE\r\nUpgrade: WebSocket\r\n" ACCEPT
		      "\r\n"),
	    NULL },
	{ "of the offer",
	    IN(ANSWER CONNECTION TO ACCEPT
		"Sec-WebSocket-Extensions: x-c, x-a; q=2\r\n"
		"Sec-WebSocket-Protocol: v2\r\n\r\n"),
	    NULL },
	{ "HTTP/1.0", IN("HTTP/1.0 101 x\r\n" CONNECTION TO ACCEPT "\r\n"),
	    ANOTHER },
	{ ANOTHER, IN(ANSWER CONNECTION "Upgrade: h2c\r\n" ACCEPT "\r\n"),
	    ANOTHER },
	{ "two protocols", IN(ANSWER CONNECTION TO TO ACCEPT "\r\n"), ANOTHER },
	{ "no protocol", IN(ANSWER CONNECTION ACCEPT "\r\n"), ANOTHER },
	{ "not named", IN(ANSWER "Connection: x\r\n" TO ACCEPT "\r\n"),
	    ANOTHER },
	{ "no accept", IN(ANSWER CONNECTION TO "\r\n"), NO_ACCEPT },
	{ "accept twice", IN(ANSWER CONNECTION TO ACCEPT ACCEPT "\r\n"),
	    NO_ACCEPT },
	{ "of another key",
	    IN(ANSWER CONNECTION TO
		"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOp=\r\n\r\n"),
	    NO_ACCEPT },
	{ "in other letters of the accept",
	    IN(ANSWER CONNECTION TO
		"Sec-WebSocket-Accept: S3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"),
	    NO_ACCEPT },
	{ "an extension of its own",
	    IN(ANSWER CONNECTION TO ACCEPT
		"Sec-WebSocket-Extensions: x-a, x-d\r\n\r\n"),
	    UNOFFERED },
	{ "an extension without a name",
	    IN(ANSWER CONNECTION TO ACCEPT
		"Sec-WebSocket-Extensions: ;x-a\r\n\r\n"),
	    UNOFFERED },
	{ "a subprotocol of its own",
	    IN(ANSWER CONNECTION TO ACCEPT
		"Sec-WebSocket-Protocol: v3\r\n\r\n"),
	    UNOFFERED },
	{ "a subprotocol in other letters",
	    IN(ANSWER CONNECTION TO ACCEPT
		"Sec-WebSocket-Protocol: V2\r\n\r\n"),
	    UNOFFERED },
	{ "two subprotocols",
	    IN(ANSWER CONNECTION TO ACCEPT
		"Sec-WebSocket-Protocol: chat, v2\r\n\r\n"),
	    UNOFFERED },
	{ "a subprotocol twice",
	    IN(ANSWER CONNECTION TO ACCEPT
		"Sec-WebSocket-Protocol: v2\r\n"
		"Sec-WebSocket-Protocol: v2\r\n\r\n"),
	    UNOFFERED },
};

static void
upgrade_takes_answers_to_what_was_asked(void **state UNUSED)
{
	struct http_request req;

	read_request(SLICE(OFFER), &req);
	assert_slice(upgrade_key(&req), SLICE("dGhlIHNhbXBsZSBub25jZQ=="));
	for (size_t i = 0; i < COUNT_OF(answers); i++) {
		struct slice in = exact(answers[i].in);
		struct http_response res = { 0 };
		struct parse_fail fail;
		size_t used;
		print_message("# %s\n", answers[i].name);
		assert_int_equal(h1_response_take(in, &h1_limits, SLICE("GET"),
				     &res, &used, &fail),
		    PARSE_DONE);
		const char *why = upgrade_check_answer(&req, &res,
		    SLICE("s3pPLMBiTxaQ9kYGzzhZRbK+xOo="));
		if (answers[i].why == NULL)
			assert_null(why);
		else
			assert_string_equal(why, answers[i].why);
		drop(in);
	}
}

/* --- over HTTP/2 ----------------------------------------------------------- */

#define CONNECT                                                          \
	":method|CONNECT\n:scheme|https\n:path|/s\n:authority|ok.test\n" \
	":protocol|"
#define V13 "sec-websocket-version|13\n"
#define GOES_ON "a WebSocket is opened by a request that goes on"

static const struct {
	const char *name, *list;
	bool ends;
	enum upgrade asked;
	const char *why; /* NULL: it opens one */
} connects[] = {
	{ "the standard's", CONNECT "websocket\n" V13, false, UPGRADE_WEBSOCKET,
	    NULL },
	{ "in other letters", CONNECT "WebSocket\n" V13, false,
	    UPGRADE_WEBSOCKET, NULL },
	{ "another protocol", CONNECT "connect-udp\n" V13, false, UPGRADE_OTHER,
	    NULL },
	{ "h2c", CONNECT "h2c\n" V13, false, UPGRADE_OTHER, NULL },
	{ "one that ends", CONNECT "websocket\n" V13, true, UPGRADE_WEBSOCKET,
	    GOES_ON },
	{ "a length", CONNECT "websocket\n" V13 "content-length|3\n", false,
	    UPGRADE_WEBSOCKET, GOES_ON },
	{ "an expectation", CONNECT "websocket\n" V13 "expect|100-continue\n",
	    false, UPGRADE_WEBSOCKET, GOES_ON },
	{ "no version", CONNECT "websocket\n", false, UPGRADE_WEBSOCKET,
	    NO_VERSION },
	{ "another version", CONNECT "websocket\nsec-websocket-version|8\n",
	    false, UPGRADE_WEBSOCKET, NO_VERSION },
};

static void
upgrade_takes_connects_that_open_one(void **state UNUSED)
{
	for (size_t i = 0; i < COUNT_OF(connects); i++) {
		struct slice list = list_of(connects[i].list);
		struct http_request req;
		struct parse_fail fail;
		print_message("# %s\n", connects[i].name);
		assert_int_equal(h2_request_take(list, connects[i].ends, &req,
				     &fail),
		    PARSE_DONE);
		assert_int_equal(upgrade_asked(&req), connects[i].asked);
		const char *why = upgrade_check_request(&req);
		if (connects[i].why == NULL)
			assert_null(why);
		else
			assert_string_equal(why, connects[i].why);
		drop(list);
	}
}

static void
upgrade_takes_their_answers(void **state UNUSED)
{
	static const struct {
		const char *list, *why;
	} rows[] = {
		{ ":status|200\n", NULL },
		{ ":status|200\nsec-websocket-protocol|v2\n", NULL },
		{ ":status|200\nsec-websocket-protocol|v3\n", UNOFFERED },
		{ ":status|200\nsec-websocket-extensions|x-a\n", UNOFFERED },
	};
	struct slice ask = list_of(
	    CONNECT "websocket\n" V13 "sec-websocket-protocol|v1, v2\n");
	struct http_request req;
	struct parse_fail fail;

	assert_int_equal(h2_request_take(ask, false, &req, &fail), PARSE_DONE);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct slice list = list_of(rows[i].list);
		struct http_response res;
		assert_int_equal(h2_response_take(list, false, req.method, &res,
				     &fail),
		    PARSE_DONE);
		const char *why =
		    upgrade_check_answer(&req, &res, (struct slice){ 0 });
		if (rows[i].why == NULL)
			assert_null(why);
		else
			assert_string_equal(why, rows[i].why);
		drop(list);
	}
	drop(ask);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(upgrade_knows_what_is_asked),
		cmocka_unit_test(upgrade_takes_requests_that_open_one),
		cmocka_unit_test(upgrade_takes_answers_to_what_was_asked),
		cmocka_unit_test(upgrade_takes_connects_that_open_one),
		cmocka_unit_test(upgrade_takes_their_answers),
	};

	return cmocka_run_group_tests_name("upgrade", tests, NULL, NULL);
}
