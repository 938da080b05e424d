/* SPDX-License-Identifier: Apache-2.0 */
/* However it is cut the same comes out, and never more than may. */
#include "base/limits.h"
#include "fuzz.h"
#include "git/gzip.h"

#define MOST 300000

static enum parse
inflate_all(struct slice in, size_t piece, size_t room, size_t *total,
    uint8_t *out)
{
	struct gzip *g = gzip_new(MOST);
	struct parse_fail fail = { 0 };
	enum parse got = PARSE_MORE;

	CHECK(g != NULL);
	*total = 0;
	for (size_t at = 0; got != PARSE_BAD && at < in.n; at += piece) {
		struct gzip_step s = { .in = slice_first(slice_from(in, at),
					   piece) };
		do {
			s.out = out + *total;
			s.room = room;
			got = gzip_take(g, &s, &fail);
			CHECK(s.n <= room);
			CHECK(got != PARSE_BAD || fail.detail != NULL);
			*total += got == PARSE_BAD ? 0 : s.n;
			CHECK(*total <= MOST);
		} while (got == PARSE_MORE && (s.in.n != 0 || s.n == room));
	}
	if (got != PARSE_BAD)
		got = gzip_end(g, &fail);
	gzip_free(g);
	return got;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t a[MOST + 4096], b[MOST + 4096];
	struct slice in = { data, size };
	size_t n, m;

	enum parse whole = inflate_all(in, size + 1, 4096, &n, a);
	enum parse parts = inflate_all(in, 1 + size % 5, 97, &m, b);
	CHECK(whole == parts);
	if (whole == PARSE_DONE)
		CHECK(slice_eq(slice_of(a, n), slice_of(b, m)));
	CHECK(n <= LIMIT_GZIP_RATIO_FROM + size * LIMIT_GZIP_RATIO);
	return 0;
}
