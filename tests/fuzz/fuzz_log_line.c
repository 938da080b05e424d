/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A hostile log (LG-16): whatever is in it, the check of it ends, and a line
 * that is taken is the one line that duenna writes for that record.
 */
#include "audit/verify.h"
#include "fuzz.h"

static void
on_problem(uint64_t line, uint64_t seq, const char *text, void *arg)
{
	size_t *n = arg;

	(void)line;
	(void)seq;
	for (const char *p = text; *p != '\0'; p++)
		CHECK((uint8_t)*p >= 0x20 && *p != 0x7f);
	(*n)++;
}

static void
check_line(struct slice in, struct buf *store)
{
	char hash[LINE_HASH_HEX + 1] = { 0 };
	const char *detail;
	struct buf again;
	struct line l;

	if (!line_read(in, store, &l, &detail)) {
		CHECK(detail != NULL);
		return;
	}
	CHECK(lies_in(l.hash, in) && lies_in(l.covered, in));
	memcpy(hash, l.hash.p, LINE_HASH_HEX);
	buf_init(&again, LINE_SIZE_MAX);
	line_put(&again, l.seq, l.wall_us, &l.event);
	CHECK(slice_eq(buf_slice(&again), l.covered));
	line_put_hash(&again, hash);
	CHECK(slice_eq(slice_first(buf_slice(&again), again.n - 1), in));
	buf_release(&again);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct verify_want any;
	enum err err = ERR_NONE;
	size_t n_problems = 0;
	struct verify *v = verify_new(&any, on_problem, &n_problems, &err);
	struct slice rest = { data, size };
	struct buf store;

	CHECK(v != NULL);
	buf_init(&store, LINE_SIZE_MAX + 1);
	while (rest.n != 0) {
		const uint8_t *end = memchr(rest.p, '\n', rest.n);
		size_t n = end == NULL ? rest.n : (size_t)(end - rest.p);
		check_line(slice_first(rest, n), &store);
		verify_put(v, end == NULL ? READER_CUT : READER_LINE,
		    slice_first(rest, n));
		rest = slice_from(rest, n + 1);
	}
	struct verify_sum sum = verify_end(v);
	CHECK(sum.n_problems == n_problems);
	CHECK(sum.covered <= sum.n_records || sum.n_problems != 0);
	verify_free(v);
	buf_release(&store);
	return 0;
}
