/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"
#include "git/tree.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice in = { data, size }, last = { 0 };
	struct tree_entry e;
	struct tree t;

	tree_init(&t, in, OID_SHA1);
	while (tree_next(&t, &e)) {
		CHECK(e.name.n != 0 && lies_in(e.name, in));
		CHECK(memchr(e.name.p, '/', e.name.n) == NULL);
		CHECK(e.id.n == OID_SHA1 && !slice_eq(e.name, last));
		last = e.name;
	}
	CHECK(t.bad || t.rest.n == 0);
	return 0;
}
