/* SPDX-License-Identifier: Apache-2.0 */
/* A request's head and the head of its answer, one behind the other. */
#include "fuzz.h"
#include "wire/h1_head.h"
#include "wire/upgrade.h"

#define ACCEPT "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

static void
check_answer(const struct http_request *req, struct slice in)
{
	static struct http_response res;
	struct parse_fail fail;
	size_t used;

	memset(&res, 0, sizeof(res));
	if (h1_response_take(in, &h1_limits, req->method, &res, &used, &fail) !=
		PARSE_DONE ||
	    upgrade_check_answer(req, &res, SLICE(ACCEPT)) != NULL)
		return;
	CHECK(!res.is_http10);
	CHECK(field_count(&res.fields, SLICE("sec-websocket-accept")) == 1);
	CHECK(field_count(&res.fields, SLICE("sec-websocket-protocol")) <=
	    field_count(&req->fields, SLICE("sec-websocket-protocol")));
	CHECK(field_is_named(&res.fields, SLICE("upgrade")));
	CHECK(upgrade_check_answer(req, &res, SLICE("x")) != NULL);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct http_request req;
	struct slice in = { data, size };
	struct parse_fail fail;
	size_t used;

	memset(&req, 0, sizeof(req));
	if (h1_request_take(in, &h1_limits, &req, &used, &fail) != PARSE_DONE)
		return 0;
	CHECK(req.has_upgrade || upgrade_asked(&req) == UPGRADE_NONE);
	if (upgrade_asked(&req) == UPGRADE_WEBSOCKET &&
	    upgrade_check_request(&req) == NULL) {
		CHECK(upgrade_key(&req).n == 24);
		CHECK(lies_in(upgrade_key(&req), in));
		CHECK(req.body != HTTP_BODY_OPEN && req.length == 0);
		CHECK(field_is_named(&req.fields, SLICE("upgrade")));
	}
	check_answer(&req, slice_from(in, used));
	return 0;
}
