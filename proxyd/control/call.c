/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "base/ascii.h"
#include "base/limits.h"
#include "control/call.h"
#include "wire/h1_head.h"

static const struct h1_limits limits = {
	.head = LIMIT_CONTROL_HEAD_SIZE,
	.target = 1024, /* the longest path has 64 */
	.fields = 64,
	.any_host = true, /* `localhost`, or what a client makes up */
};

static enum parse
bad(struct call *c, enum control_code code, const char *detail)
{
	c->problem = (struct problem){ .code = code };
	snprintf(c->problem.detail, sizeof(c->problem.detail), "%s", detail);
	return PARSE_BAD;
}

/* "application/json", perhaps with parameters (RFC 9110 8.3). */
static bool
is_json(struct slice type)
{
	static const struct slice want = { (const uint8_t *)"application/json",
		16 };
	struct slice rest = slice_from(type, want.n);

	return ascii_eq_fold(slice_first(type, want.n), want) &&
	    (rest.n == 0 || rest.p[0] == ';' || rest.p[0] == ' ');
}

static enum parse
read_route(struct call *c)
{
	struct slice name = { 0 };
	enum control_code code;

	if (c->head.target.form != TARGET_ORIGIN)
		return bad(c, CONTROL_PATH_UNKNOWN, "");
	if (c->head.target.has_query)
		return bad(c, CONTROL_REQUEST_WRONG,
		    "no path here has a query");
	c->route =
	    route_find(c->head.method, c->head.target.path, &name, &code);
	if (code == CONTROL_METHOD_UNKNOWN && c->route == NULL)
		route_allow(c->head.target.path, c->allow);
	if (c->route == NULL)
		return bad(c, code, "");
	/* route_find() lets no longer one through. */
	memcpy(c->name, name.n == 0 ? "" : (const char *)name.p, name.n);
	return PARSE_DONE;
}

static enum parse
read_body(struct call *c)
{
	struct field *type = field_find(&c->head.fields, SLICE("content-type"));

	if (c->head.has_upgrade || c->head.expect == HTTP_EXPECT_OTHER)
		return bad(c, CONTROL_REQUEST_MALFORMED,
		    "an upgrade or an expectation that is not known here");
	if (c->head.body == HTTP_BODY_OPEN)
		return bad(c, CONTROL_REQUEST_MALFORMED,
		    "a body needs a Content-Length");
	if (c->head.length > LIMIT_CONTROL_SIZE)
		return bad(c, CONTROL_REQUEST_LARGE, "a body is at most 1 MiB");
	c->length = (size_t)c->head.length;
	if (!c->route->has_body)
		return c->length == 0 ?
		    PARSE_DONE :
		    bad(c, CONTROL_REQUEST_WRONG, "no body is expected here");
	if (type == NULL || !is_json(type->value))
		return bad(c, CONTROL_REQUEST_TYPE,
		    "expected Content-Type: application/json");
	return PARSE_DONE;
}

enum parse
call_take(struct slice in, struct call *c, size_t *used)
{
	struct parse_fail fail;
	enum parse part = h1_request_take(in, &limits, &c->head, used, &fail);

	if (part == PARSE_BAD)
		return bad(c,
		    fail.reason == REASON_LIMIT_BYTES ?
			CONTROL_REQUEST_LARGE :
			CONTROL_REQUEST_MALFORMED,
		    fail.detail);
	if (part == PARSE_MORE)
		return PARSE_MORE;
	c->keep_alive = c->head.keep_alive;
	c->expects = c->head.expect == HTTP_EXPECT_CONTINUE;
	part = read_route(c);
	return part == PARSE_DONE ? read_body(c) : part;
}
