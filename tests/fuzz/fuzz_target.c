/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"
#include "wire/target.h"

static void
check_authority(const struct target_authority *a)
{
	CHECK(a->host.n != 0);
	CHECK(a->has_port == (a->port != 0));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice in = { data, size };
	struct target_authority a;
	struct parse_fail fail;
	struct target t;

	if (target_authority(in, &a, &fail) == PARSE_DONE)
		check_authority(&a);
	else
		CHECK(fail.at <= size);
	if (target_parse(in, &t, &fail) != PARSE_DONE) {
		CHECK(fail.at <= size);
		return 0;
	}
	CHECK(lies_in(t.query, in) && (t.has_query || t.query.n == 0));
	switch (t.form) {
	case TARGET_ORIGIN:
		CHECK(t.path.n + t.query.n + t.has_query == size);
		break;
	case TARGET_ABSOLUTE:
		CHECK(t.scheme.n != 0 && t.path.n != 0);
		check_authority(&t.authority);
		break;
	case TARGET_AUTHORITY:
		CHECK(t.authority.has_port);
		check_authority(&t.authority);
		break;
	case TARGET_ASTERISK:
		CHECK(size == 1);
		break;
	}
	return 0;
}
