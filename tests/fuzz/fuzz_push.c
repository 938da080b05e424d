/* SPDX-License-Identifier: Apache-2.0 */
/*
 * However the body is cut the answer is the same, and what was read is written
 * so that it is read as the same again.
 */
#include "base/limits.h"
#include "fuzz.h"
#include "git/push.h"

static enum parse
read_in(struct push *p, struct slice body, size_t piece, size_t *n,
    struct parse_fail *fail)
{
	enum parse got = PARSE_MORE;
	size_t used;

	push_init(p);
	for (*n = 0; got == PARSE_MORE && *n < body.n; *n += used) {
		struct slice part = slice_first(slice_from(body, *n), piece);
		got = push_take(p, part, &used, fail);
		CHECK(used <= part.n);
		CHECK(got != PARSE_MORE || used == part.n);
	}
	return got;
}

static void
compare(const struct push *p, const struct push *q)
{
	CHECK(p->n_commands == q->n_commands && p->caps == q->caps &&
	    p->n_options == q->n_options && p->wants_pack == q->wants_pack);
	for (size_t i = 0; i < p->n_commands; i++) {
		struct git_command a = push_command(p, i),
				   b = push_command(q, i);
		CHECK(a.kind == b.kind && slice_eq(a.ref, b.ref) &&
		    slice_eq(a.old_id, b.old_id) &&
		    slice_eq(a.new_id, b.new_id));
		CHECK(a.new_id.n == p->n_id && a.old_id.n == p->n_id);
	}
	for (size_t i = 0; i < p->n_options; i++)
		CHECK(slice_eq(push_option(p, i), push_option(q, i)));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct parse_fail fail = { 0 }, why = { 0 };
	struct slice body = { data, size };
	struct push p, q, again;
	struct buf out;
	size_t n, m;

	enum parse whole = read_in(&p, body, size + 1, &n, &fail);
	enum parse parts = read_in(&q, body, 1 + size % 7, &m, &why);
	CHECK(whole == parts);
	if (whole == PARSE_BAD)
		CHECK(fail.detail == why.detail && fail.at == why.at &&
		    fail.at <= size);
	if (whole == PARSE_DONE) {
		CHECK(n == m);
		compare(&p, &q);
		buf_init(&out, LIMIT_PUSH_LIST_SIZE);
		CHECK(push_write(&p, &out));
		CHECK(read_in(&again, buf_slice(&out), SIZE_MAX, &m, &why) ==
		    PARSE_DONE);
		CHECK(m == out.n);
		compare(&p, &again);
		push_release(&again);
		buf_release(&out);
	}
	push_release(&p);
	push_release(&q);
	return 0;
}
