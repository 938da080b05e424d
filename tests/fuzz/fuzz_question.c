/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"
#include "git/question.h"

struct result {
	enum parse answer;
	const char *detail;
	size_t total;
	bool is_done; /* the pack */
};

static struct result
feed(struct slice in, size_t step)
{
	struct pack_cfg cfg = { .id_size = OID_SHA1 };
	struct parse_fail fail = { 0 };
	struct result r = { 0 };
	enum err err;
	struct pack *p = pack_new(&cfg, &err);
	struct answer a;
	size_t used, have = 0;

	CHECK(p != NULL);
	answer_init(&a, p);
	do {
		/* what has come: `have` bytes, of which `total` were used */
		have = in.n - have < step ? in.n : have + step;
		r.answer = answer_take(&a,
		    slice_from(slice_first(in, have), r.total), &used, &fail);
		CHECK(r.answer == PARSE_BAD || used <= have - r.total);
		if (r.answer != PARSE_BAD)
			r.total += used;
	} while (r.answer == PARSE_MORE && (have < in.n || a.done != 0));
	r.detail = fail.detail;
	r.is_done = pack_is_done(p);
	CHECK(r.answer != PARSE_DONE || r.is_done);
	pack_free(p);
	return r;
}

static void
check_small(struct slice in)
{
	struct parse_fail fail = { 0 };
	struct question_caps caps;
	struct oid head;

	if (question_caps_take(in, &caps, &fail) == PARSE_BAD)
		CHECK(fail.detail != NULL && fail.at <= in.n);
	if (question_head_take(in, OID_SHA1, &head, &fail) == PARSE_DONE)
		CHECK(head.n == 0 || head.n == OID_SHA1);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 1)
		return 0;
	struct slice in = { data + 1, size - 1 };
	struct result a = feed(in, size), b = feed(in, 1 + data[0] % 64);

	CHECK(a.answer == b.answer && a.detail == b.detail);
	CHECK(a.answer == PARSE_BAD || a.total == b.total);
	CHECK(a.is_done == b.is_done);
	check_small(in);
	return 0;
}
