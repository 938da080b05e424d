/* SPDX-License-Identifier: Apache-2.0 */
/*
 * However it is cut the same comes out; what came out is filtered to itself;
 * and none of what is taken out is in it.
 */
#include "fuzz_bed.h"
#include "git/advert.h"

static const char policy[] =
    "version: 1\n"
    "policies:\n"
    "  p:\n"
    "    rules:\n"
    "      - allow: git+https://github.com/a/b\n"
    "        fetch: true\n"
    "        hide_other_refs: true\n"
    "        push: {branches: ['agent/**'], keep: [x]}\n";

static enum parse
filter(const struct program *p, bool push, struct slice in, size_t piece,
    struct buf *out)
{
	struct parse_fail fail = { 0 };
	enum parse got = PARSE_MORE;
	struct advert a;

	advert_init(&a, p, 0, push);
	for (size_t at = 0; got != PARSE_BAD && at < in.n; at += piece)
		got = advert_take(&a, slice_first(slice_from(in, at), piece),
		    out, &fail);
	if (got != PARSE_BAD)
		got = advert_end(&a, &fail);
	CHECK(got == PARSE_DONE || fail.detail != NULL);
	advert_release(&a);
	return got;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct program *p;
	struct slice in = { data, size };
	struct buf a, b, c;

	if (p == NULL)
		p = fuzz_bed_program(policy);
	buf_init(&a, 1 << 20);
	buf_init(&b, 1 << 20);
	buf_init(&c, 1 << 20);
	bool push = memmem(data, size, "git-receive-pack", 16) != NULL;
	enum parse whole = filter(p, push, in, size + 1, &a);
	CHECK(whole == filter(p, push, in, 1 + size % 7, &b));
	if (whole == PARSE_DONE) {
		CHECK(slice_eq(buf_slice(&a), buf_slice(&b)));
		CHECK(filter(p, push, buf_slice(&a), SIZE_MAX / 2, &c) ==
		    PARSE_DONE);
		if (!push) /* there `no-thin` was added, and is not known */
			CHECK(slice_eq(buf_slice(&a), buf_slice(&c)));
	}
	buf_release(&a);
	buf_release(&b);
	buf_release(&c);
	return 0;
}
