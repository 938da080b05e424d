/* SPDX-License-Identifier: Apache-2.0 */
/* What a caller of the control socket may send: a head, a body behind it. */
#include "control/call.h"
#include "control/content.h"
#include "fuzz.h"

static void
check_request(const struct control_request *req, struct slice name)
{
	static uint8_t room[1 << 20];
	static struct control_request again;
	struct wr w = wr_of(room, sizeof(room));

	CHECK(slice_eq(req->name, name));
	control_request_write(&w, req);
	/* The monitor reads what the porter lets through. */
	CHECK(!w.bad && control_request_read(wr_slice(&w), &again));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct call c;
	static struct control_request req;
	struct slice in = { data, size };
	struct content content;
	struct problem why;
	size_t used = 0;

	content_setup(1);
	memset(&c, 0, sizeof(c));
	enum parse part = call_take(in, &c, &used);
	if (part == PARSE_BAD)
		CHECK(control_code_status(c.problem.code) >= 400);
	if (part != PARSE_DONE)
		return 0;
	CHECK(used <= size && c.route != NULL);
	CHECK(c.name[0] == '\0' || control_is_name(slice_of_str(c.name)));
	if (!c.route->has_body)
		return 0;
	struct slice body = slice_first(slice_from(in, used), c.length);
	struct slice name = slice_of_str(c.name);
	if (!content_read(&content, body, c.route->verb, name, &req, &why)) {
		CHECK(content.root == NULL && why.detail[0] != '\0');
		return 0;
	}
	check_request(&req, name);
	content_release(&content);
	return 0;
}
