/* SPDX-License-Identifier: Apache-2.0 */
/* What a porter that was taken over may send the monitor, or a file of the
 * state that somebody wrote may hold. */
#include "fuzz.h"
#include "priv/control.h"

/* What is let through can be written again, and is the same bytes. */
static void
check_whole(const struct control_request *req, struct slice bytes)
{
	static uint8_t room[1 << 20];
	struct wr w = wr_of(room, sizeof(room));

	control_request_write(&w, req);
	CHECK(!w.bad && slice_eq(wr_slice(&w), bytes));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct control_request req;
	struct slice bytes = { data, size };

	if (!control_request_read(bytes, &req))
		return 0;
	check_whole(&req, bytes);
	CHECK(req.verb < CONTROL_VERBS && control_needs(&req) != 0);
	CHECK(req.name.n == 0 || control_is_name(req.name));
	CHECK(lies_in(req.name, bytes) && lies_in(req.url, bytes));
	if (req.verb != CONTROL_ATTACH)
		return 0;
	CHECK(control_attach_wrong(&req.attach).what == NULL);
	CHECK(lies_in(req.attach.policy, bytes));
	CHECK(lies_in(req.attach.token, bytes));
	for (size_t i = 0; i < req.attach.n_secrets; i++)
		CHECK(lies_in(req.attach.secrets[i].value, bytes));
	return 0;
}
