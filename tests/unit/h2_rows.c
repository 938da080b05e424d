/* SPDX-License-Identifier: Apache-2.0 */
/* The runner of rows: see h2_bed.h. */
#include <stdlib.h>

#include "h2_bed.h"

void
h2_put_zeros(struct buf *b, uint8_t type, uint32_t stream, size_t n)
{
	uint8_t *p = calloc(1, n);

	assert_non_null(p);
	h2_put_frame(b, type, 0, stream, slice_of(p, n));
	free(p);
}

static void
check_frames(const struct h2_row *r, struct slice got)
{
	if (r->goaway == NONE)
		assert_int_equal(h2_count_frames(got, NGHTTP2_GOAWAY), 0);
	else
		assert_int_equal(
		    h2_u32(h2_last_frame(got, NGHTTP2_GOAWAY, 0).payload, 4),
		    r->goaway);
	if (r->reset != NONE)
		assert_int_equal(
		    h2_u32(h2_last_frame(got, NGHTTP2_RST_STREAM, 1).payload,
			0),
		    r->reset);
	else if (r->reason == REASON_ALLOW && r->n == 1)
		assert_int_equal(h2_count_frames(got, NGHTTP2_RST_STREAM), 0);
}

static void
check_row(const struct h2_row *r, enum h2_bed_kind kind, size_t cut)
{
	struct h2_bed b;
	bool is_server = kind == H2_BED_SERVER;
	struct h2_pipe *to = is_server ? &b.to_server : &b.to_client;
	struct h2_pipe *from = is_server ? &b.to_client : &b.to_server;
	struct h2_side *side = is_server ? &b.server : &b.client;

	h2_bed_init(&b, kind);
	to->cut = cut;
	if (!is_server) {
		(void)h2_bed_ask(side, "POST", false);
		h2_bed_turn(&b);
	}
	h2_put_hello(&to->bytes, is_server);
	r->put(&to->bytes);
	for (int i = 0; i < 20000 && to->bytes.n != 0 && to->reader != NULL;
	     i++)
		h2_bed_turn(&b);
	assert_string_equal(reason_name(h2_reason(side->c)),
	    reason_name(r->reason));
	assert_int_equal(h2_is_broken(side->c), r->goaway != NONE);
	check_frames(r, buf_slice(&from->bytes));
	/* Behind a fault that came with it no request is heard. */
	assert_true(side->n <= r->n);
	if (r->n < 3 && (r->goaway == NONE || !is_server))
		assert_int_equal(side->n, r->n);
	/* None of them can be answered, or taken, as if it were whole. */
	for (size_t i = 0; r->goaway != NONE && i < side->n; i++)
		assert_true(stream_is_broken(side->s[i]));
	if (r->goaway != NONE)
		assert_true(from->ended);
	h2_bed_release(&b);
}

void
h2_bed_check(const struct h2_row *rows, size_t n, enum h2_bed_kind kind)
{
	for (size_t i = 0; i < n; i++) {
		struct buf whole;
		buf_init(&whole, 32 << 20);
		rows[i].put(&whole);
		size_t size = whole.n;
		buf_release(&whole);
		print_message("# %s\n", rows[i].name);
		check_row(&rows[i], kind, SIZE_MAX);
		for (size_t cut = 1; size < 200 && cut < 24; cut++)
			check_row(&rows[i], kind, cut);
		check_row(&rows[i], kind, size < 3000 ? 100 : 5000);
	}
}
