/* SPDX-License-Identifier: Apache-2.0 */
/* However the answer is cut the same is read; what is shown is printable. */
#include "fuzz.h"
#include "git/outcome.h"

#define A "1731762a484853c04a0bf95166bc6fdb98b96e81"

static void
read_in(struct outcome *o, const struct push *p, struct slice in, size_t piece)
{
	CHECK(outcome_init(o, p) == 0);
	for (size_t at = 0; at < in.n; at += piece)
		outcome_take(o, slice_first(slice_from(in, at), piece));
}

static void
compare(const struct push *p, struct slice in)
{
	struct outcome a, b;
	struct slice x, y;

	read_in(&a, p, in, in.n + 1);
	read_in(&b, p, in, 1 + in.n % 5);
	CHECK(a.is_odd == b.is_odd && a.has_ended == b.has_ended &&
	    a.unpacked == b.unpacked);
	for (size_t i = 0; i < p->n_commands; i++) {
		CHECK(outcome_of(&a, i, &x) == outcome_of(&b, i, &y));
		CHECK(slice_eq(x, y) && x.n <= OUTCOME_REASON_MAX);
		for (size_t k = 0; k < x.n; k++)
			CHECK(x.p[k] >= ' ' && x.p[k] < 0x7f);
	}
	outcome_release(&a);
	outcome_release(&b);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char list[] = "0073" A " " A " a\0report-status side-band-"
				   "64k0057" A " " A " b0000";
	static struct push banded, plain;
	struct parse_fail fail;
	size_t used;

	if (plain.n_commands == 0) {
		push_init(&banded);
		push_init(&plain);
		struct slice in = slice_of(list, sizeof(list) - 1);
		CHECK(push_take(&banded, in, &used, &fail) == PARSE_DONE);
		CHECK(push_take(&plain, in, &used, &fail) == PARSE_DONE);
		plain.caps = PUSH_REPORT_STATUS;
	}
	compare(&banded, slice_of(data, size));
	compare(&plain, slice_of(data, size));
	return 0;
}
