/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"
#include "git/commit.h"

/* What was read as a parent stands as such a line before the author. */
static void
check_parents(struct slice in, const struct commit *c)
{
	CHECK(lies_in(c->parents, in) && lies_in(c->author, in));
	CHECK(lies_in(c->committer, in));
	for (size_t i = 0; i < c->n_parents; i++) {
		struct oid o = commit_parent(c, i);
		char text[OID_TEXT_SIZE];
		oid_text(&o, text);
		struct slice digits = slice_of_str(text);
		CHECK(memmem(c->parents.p, c->parents.n, digits.p, digits.n) !=
		    NULL);
	}
	if (c->author.n != 0)
		CHECK(c->parents.p + c->parents.n < c->author.p);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice in = { data, size };
	struct parse_fail fail = { 0 };
	struct commit c;
	struct tag t;

	for (size_t n = OID_SHA1; n <= OID_SHA256; n += OID_SHA256 - OID_SHA1) {
		if (commit_read(in, n, &c, &fail))
			check_parents(in, &c);
		else
			CHECK(fail.detail != NULL && fail.at <= size);
		if (tag_read(in, n, &t, &fail))
			CHECK(lies_in(t.tagger, in) && t.object.n == n);
		else
			CHECK(fail.detail != NULL && fail.at <= size);
	}
	return 0;
}
