/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"
#include "wire/accept.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct field_list list;
	struct slice in = { data, size };
	bool alone, behind;

	list.n = 0;
	CHECK(field_add(&list, SLICE("Accept"), in));
	alone = accept_prefers_json(&list);
	/* What has no weight changes nothing. */
	CHECK(field_add(&list, SLICE("accept"),
	    SLICE("text/plain;q=0, application/json;q=0")));
	CHECK(accept_prefers_json(&list) == alone);
	/* Behind an equal one it is not preferred, behind none it is. */
	CHECK(field_add(&list, SLICE("ACCEPT"), SLICE("application/json")));
	behind = accept_prefers_json(&list);
	CHECK(!alone || behind);
	/* What stands first with full weight decides. */
	list.at[0].value = SLICE("text/plain");
	list.at[1].value = in;
	CHECK(!accept_prefers_json(&list));
	list.at[0].value = SLICE("application/json");
	CHECK(accept_prefers_json(&list));
	return 0;
}
