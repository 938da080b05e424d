/* SPDX-License-Identifier: Apache-2.0 */
/* A question that was written anew is read as the same again, at its length; an
 * answer has its length, says Authorization in no key, and cut anywhere the
 * same. */
#include "base/ascii.h"
#include "base/limits.h"
#include "fuzz.h"
#include "git/lfs.h"

static void
ask(struct slice in)
{
	static uint8_t room[LIMIT_LFS_ASK_SIZE], again[LIMIT_LFS_ASK_SIZE];
	struct wr out = wr_of(room, sizeof(room));
	struct wr second = wr_of(again, sizeof(again));
	struct parse_fail fail;
	struct lfs_ask one, two;

	if (in.n > sizeof(room) ||
	    lfs_ask_read(in, &one, &out, &fail) != PARSE_DONE)
		return;
	CHECK(!out.bad && out.n == in.n);
	CHECK(lfs_ask_read(wr_slice(&out), &two, &second, &fail) == PARSE_DONE);
	CHECK(slice_eq(wr_slice(&out), wr_slice(&second)));
	CHECK(one.upload == two.upload && one.n_objects == two.n_objects &&
	    one.bytes == two.bytes && one.n_objects <= LIMIT_LFS_OBJECTS);
}

static bool
take(struct slice in, size_t cut, struct buf *out)
{
	struct parse_fail fail = { .detail = NULL };
	struct lfs_answer a;

	buf_init(out, 1 << 20);
	lfs_answer_init(&a);
	return lfs_answer_take(&a, slice_first(in, cut), out, &fail) &&
	    lfs_answer_take(&a, slice_from(in, cut), out, &fail) &&
	    lfs_answer_end(&a, &fail);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct slice in = { data, size };
	const struct slice key = SLICE("\"authorization\"");
	struct buf one, two;

	ask(in);
	bool good = take(in, 0, &one);
	CHECK(take(in, size == 0 ? 0 : data[0] % size, &two) == good);
	if (good) {
		CHECK(one.n == in.n);
		CHECK(slice_eq(buf_slice(&one), buf_slice(&two)));
		for (size_t i = 0; i + key.n < one.n; i++) {
			size_t at = i + key.n;
			if (!ascii_eq_fold(
				slice_first(slice_from(buf_slice(&one), i),
				    key.n),
				key))
				continue;
			while (at < one.n && one.p[at] <= ' ')
				at++;
			/* A value, or the inside of a string with quotes. */
			CHECK(one.p[at] != ':' ||
			    (i > 0 && one.p[i - 1] == '\\'));
		}
	}
	buf_release(&one);
	buf_release(&two);
	return 0;
}
