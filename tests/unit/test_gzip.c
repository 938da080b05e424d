/* SPDX-License-Identifier: Apache-2.0 */
#include <zlib.h>

#include "base/buf.h"
#include "base/limits.h"
#include "git/gzip.h"
#include "git/push.h"
#include "git_bed.h"
#include "row.h"

#define MANY UINT64_MAX

/* `text` as one gzip member behind what is in `out`. */
static void
deflate_to(struct slice text, struct buf *out)
{
	z_stream z = { 0 };

	assert_int_equal(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 9,
			     Z_DEFAULT_STRATEGY),
	    Z_OK);
	size_t room = deflateBound(&z, text.n);
	z.next_in = (z_const Bytef *)(uintptr_t)text.p;
	z.avail_in = (uInt)text.n;
	z.next_out = buf_room(out, room);
	assert_non_null(z.next_out);
	z.avail_out = (uInt)room;
	assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
	buf_added(out, room - z.avail_out);
	deflateEnd(&z);
}

/* All of it, `piece` bytes in and `room` out at a time. */
static enum parse
inflate_all(struct slice in, size_t piece, size_t room, uint64_t most,
    struct buf *out, struct parse_fail *fail)
{
	struct gzip *g = gzip_new(most);
	enum parse got = PARSE_MORE;
	static uint8_t bytes[65536];

	assert_non_null(g);
	*fail = (struct parse_fail){ .detail = "" };
	for (size_t at = 0; got != PARSE_BAD && at < in.n; at += piece) {
		struct slice part =
		    exact(slice_first(slice_from(in, at), piece));
		struct gzip_step s = { .in = part, .out = bytes, .room = room };
		do {
			got = gzip_take(g, &s, fail);
			if (got != PARSE_BAD && out != NULL)
				buf_put(out, slice_of(bytes, s.n));
		} while (got == PARSE_MORE && (s.in.n != 0 || s.n == room));
		drop(part);
	}
	if (got != PARSE_BAD)
		got = gzip_end(g, fail);
	gzip_free(g);
	return got;
}

static void
gzip_inflates_what_a_client_sends_at_every_split(void **state)
{
	struct slice in = git_body("push/jgit-push-gzip");
	struct parse_fail fail;
	struct buf first, out;
	struct push p;
	size_t used;

	(void)state;
	buf_init(&first, 1 << 20);
	buf_init(&out, 1 << 20);
	assert_int_equal(inflate_all(in, in.n, 65536, MANY, &first, &fail),
	    PARSE_DONE);
	for (size_t piece = 1; piece < in.n; piece++) {
		buf_clear(&out);
		assert_int_equal(inflate_all(in, piece, 1 + piece % 100, MANY,
				     &out, &fail),
		    PARSE_DONE);
		assert_slice(buf_slice(&out), buf_slice(&first));
	}
	push_init(&p);
	assert_int_equal(push_take(&p, buf_slice(&first), &used, &fail),
	    PARSE_DONE);
	assert_int_equal(p.n_commands, 40);
	assert_slice(slice_first(slice_from(buf_slice(&first), used), 4),
	    SLICE("PACK"));
	push_release(&p);
	buf_release(&out);
	buf_release(&first);
	drop(in);
}

static void
gzip_refuses_what_is_not_one_clean_member(void **state)
{
	struct parse_fail fail;
	struct buf one, two;

	(void)state;
	buf_init(&one, 1 << 16);
	buf_init(&two, 1 << 16);
	deflate_to(SLICE("0000"), &one);
	deflate_to(SLICE("0000"), &two);
	deflate_to(SLICE("again"), &two);
	struct slice whole = buf_slice(&one);
	assert_int_equal(inflate_all(whole, 1, 1, MANY, NULL, &fail),
	    PARSE_DONE);
	for (size_t piece = 1; piece <= two.n; piece++) {
		assert_int_equal(inflate_all(buf_slice(&two), piece, 9, MANY,
				     NULL, &fail),
		    PARSE_BAD);
		assert_string_equal(fail.detail,
		    "bytes behind the gzip member");
		assert_int_equal(fail.reason, REASON_GIT_MALFORMED);
	}
	for (size_t n = 1; n < whole.n; n++) {
		assert_int_equal(inflate_all(slice_first(whole, n), n, 9, MANY,
				     NULL, &fail),
		    PARSE_BAD);
		assert_string_equal(fail.detail, "gzip that is cut");
	}
	/* The checksum, and the length behind it. */
	for (size_t i = whole.n - 8; i < whole.n; i++) {
		one.p[i] ^= 1;
		assert_int_equal(inflate_all(whole, 3, 9, MANY, NULL, &fail),
		    PARSE_BAD);
		assert_string_equal(fail.detail, "gzip that is broken");
		one.p[i] ^= 1;
	}
	/* Neither zlib's own form nor no form at all. */
	assert_int_equal(inflate_all(SLICE("x\234\3\0\0\0\0\1"), 8, 9, MANY,
			     NULL, &fail),
	    PARSE_BAD);
	assert_int_equal(inflate_all(SLICE("0000"), 4, 9, MANY, NULL, &fail),
	    PARSE_BAD);
	assert_string_equal(fail.detail, "gzip that is broken");
	buf_release(&one);
	buf_release(&two);
}

static void
gzip_has_a_ceiling_on_bytes_and_on_ratio(void **state)
{
	struct slice zeros = repeat(SLICE(""), 0, 1 << 20);
	struct parse_fail fail;
	struct buf b;

	(void)state;
	buf_init(&b, 1 << 21);
	deflate_to(zeros, &b);
	assert_true(b.n * 900 < zeros.n);
	assert_int_equal(inflate_all(buf_slice(&b), b.n, 4096, MANY, NULL,
			     &fail),
	    PARSE_BAD);
	assert_string_equal(fail.detail, "gzip that inflates too far");
	assert_int_equal(fail.reason, REASON_LIMIT_BYTES);

	/* What is small may have any ratio; exactly `most` may come out. */
	buf_clear(&b);
	deflate_to(slice_first(zeros, LIMIT_GZIP_RATIO_FROM), &b);
	assert_int_equal(inflate_all(buf_slice(&b), 7, 999,
			     LIMIT_GZIP_RATIO_FROM, NULL, &fail),
	    PARSE_DONE);
	assert_int_equal(inflate_all(buf_slice(&b), 7, 999,
			     LIMIT_GZIP_RATIO_FROM - 1, NULL, &fail),
	    PARSE_BAD);
	assert_int_equal(fail.reason, REASON_LIMIT_BYTES);
	buf_release(&b);
	drop(zeros);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    gzip_inflates_what_a_client_sends_at_every_split),
		cmocka_unit_test(gzip_refuses_what_is_not_one_clean_member),
		cmocka_unit_test(gzip_has_a_ceiling_on_bytes_and_on_ratio),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
