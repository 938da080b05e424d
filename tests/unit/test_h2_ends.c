/* SPDX-License-Identifier: Apache-2.0 */
/* How streams and connections end, and what each side makes of it. */
#include <sys/mman.h>

#include <unistd.h>

#include "base/clock.h"
#include "h2_bed.h"
#include "http/h2_part.h"
#include "net/timer.h"

#define BOTH             \
	struct h2_bed b; \
	h2_bed_init(&b, H2_BED_BOTH)

static void
h2_shut_loses_no_request(void **state)
{
	(void)state;
	enum err err;
	struct http_request req;
	BOTH;
	h2_bed_turn(&b);
	h2_shut(b.server.c);
	/* On its way when the first GOAWAY comes. */
	struct stream *up = h2_bed_ask(&b.client, "GET", true);
	h2_bed_turn(&b);
	assert_true(h2_is_draining(b.client.c) && h2_is_draining(b.server.c));
	assert_null(h2_open(b.client.c, &err));
	assert_int_equal(b.server.n, 1);
	h2_bed_read(b.server.s[0], &req);
	h2_bed_answer(b.server.s[0], 200, true);
	h2_bed_turn(&b);
	assert_int_equal(h2_bed_status(up), 200);
	/* Both see the end, in due form. */
	assert_true(h2_is_broken(b.client.c) && h2_is_broken(b.server.c));
	assert_int_equal(h2_reason(b.client.c), REASON_ALLOW);
	assert_int_equal(h2_reason(b.server.c), REASON_ALLOW);
	assert_false(stream_is_broken(up));
	assert_true(h2_is_over(b.client.c) && h2_is_over(b.server.c));
	h2_bed_release(&b);
}

static void
h2_close_of_a_connection_breaks_its_streams(void **state)
{
	(void)state;
	BOTH;
	struct stream *up = h2_bed_ask(&b.client, "GET", true);
	struct stream *own = NULL;

	h2_bed_turn(&b);
	own = b.server.s[0];
	h2_close(b.server.c);
	b.server.c = NULL;
	assert_true(stream_is_broken(own));
	assert_null(h2_conn_of(own));
	h2_bed_turn(&b);
	assert_true(h2_is_broken(b.client.c));
	assert_true(stream_is_broken(up));
	assert_int_equal(h2_reason(b.client.c), REASON_UP_RESPONSE);
	h2_bed_release(&b);
}

static void
h2_lost_connection_breaks_its_streams(void **state)
{
	(void)state;
	BOTH;
	struct stream *up = h2_bed_ask(&b.client, "GET", true);

	h2_bed_turn(&b);
	b.to_server.broken = b.to_client.broken = true;
	h2_bed_turn(&b);
	assert_true(stream_is_broken(up));
	assert_int_equal(stream_reason(up), REASON_UP_RESPONSE);
	assert_string_equal(stream_text(up), "connection reset");
	assert_true(stream_is_broken(b.server.s[0]));
	assert_int_equal(stream_reason(b.server.s[0]), REASON_CLIENT_ABORT);
	assert_true(h2_is_over(b.client.c));
	h2_bed_release(&b);
}

/* A request that was put when GOAWAY had come, unread yet: nothing was done. */
static void
h2_request_behind_goaway_may_be_asked_again(void **state)
{
	(void)state;
	BOTH;
	struct stream *first = h2_bed_ask(&b.client, "GET", true);

	h2_bed_turn(&b);
	h2_put_frame(&b.to_client.bytes, NGHTTP2_GOAWAY, 0, 0,
	    SLICE("\0\0\0\1\0\0\0\0"));
	h2_bed_turn(&b);
	assert_true(h2_is_draining(b.client.c));
	assert_false(h2_may_open(b.client.c));
	assert_false(stream_is_broken(first));
	h2_bed_answer(b.server.s[0], 204, true);
	h2_bed_turn(&b);
	assert_int_equal(h2_bed_status(first), 204);
	h2_bed_release(&b);

	h2_bed_init(&b, H2_BED_CLIENT);
	struct stream *s[2];
	s[0] = h2_bed_ask(&b.client, "GET", true);
	h2_bed_turn(&b);
	s[1] = h2_bed_ask(&b.client, "GET", true);
	h2_put_hello(&b.to_client.bytes, false);
	h2_put_frame(&b.to_client.bytes, NGHTTP2_GOAWAY, 0, 0,
	    SLICE("\0\0\0\1\0\0\0\0"));
	h2_bed_turn(&b);
	assert_false(stream_is_broken(s[0]));
	assert_true(stream_is_broken(s[1]));
	assert_true(h2_was_refused(s[1]));
	h2_bed_release(&b);
}

static void
h2_head_is_whole_in_time(void **state)
{
	(void)state;
	struct h2_bed b;

	clock_set(1000, 1);
	h2_bed_init(&b, H2_BED_SERVER);
	h2_put_hello(&b.to_server.bytes, true);
	h2_put_head(&b.to_server.bytes, NGHTTP2_FLAG_END_STREAM, 1, H2_GET);
	h2_put_frame(&b.to_server.bytes, NGHTTP2_HEADERS, 0, 3, SLICE("\x82"));
	h2_bed_turn(&b);
	/* The one that is not whole is nobody's. */
	assert_int_equal(h2_n_streams(b.server.c), 1);
	clock_set(1000 + LIMIT_HEAD_MS - 1, 1);
	timer_fire_due();
	assert_false(h2_is_broken(b.server.c));
	clock_set(1000 + LIMIT_HEAD_MS, 1);
	timer_fire_due();
	h2_bed_turn(&b);
	assert_true(h2_is_broken(b.server.c));
	assert_int_equal(h2_reason(b.server.c), REASON_LIMIT_TIME);
	assert_true(stream_is_broken(b.server.s[0]));
	h2_bed_release(&b);

	/* One that is whole has no such limit. */
	h2_bed_init(&b, H2_BED_SERVER);
	h2_put_hello(&b.to_server.bytes, true);
	h2_put_head(&b.to_server.bytes, NGHTTP2_FLAG_END_STREAM, 1, H2_GET);
	h2_bed_turn(&b);
	clock_set(1000 + 9 * LIMIT_HEAD_MS, 1);
	timer_fire_due();
	h2_bed_turn(&b);
	assert_false(h2_is_broken(b.server.c));
	h2_bed_release(&b);
	clock_set(0, 0);
}

static void
h2_answers_leave_no_table(void **state)
{
	(void)state;
	struct field_list fields = { .n = 0 };
	struct http_new_response r = { .status = 200, .fields = &fields };
	struct http_request req;
	BOTH;

	assert_true(field_add(&fields, SLICE("etag"), SLICE("an answer's")));
	struct stream *up = h2_bed_ask(&b.client, "GET", true);
	h2_bed_turn(&b);
	h2_bed_read(b.server.s[0], &req);
	assert_true(h2_put_response(b.server.s[0], &r, true));
	h2_bed_turn(&b);
	assert_int_equal(h2_bed_status(up), 200);
	assert_int_equal(nghttp2_session_get_hd_deflate_dynamic_table_size(
			     b.server.c->session),
	    0);
	assert_int_equal(nghttp2_session_get_hd_inflate_dynamic_table_size(
			     b.client.c->session),
	    0);
	h2_bed_release(&b);
}

/* Pages of nghttp2's large blocks that cost memory now. */
static size_t
pages_of(const struct h2_conn *c)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	size_t n = 0, blocks = 0;

	for (size_t i = 0; i < H2_LARGE_MAX; i++) {
		const struct h2_large *l = &c->memory.large[i];
		unsigned char in[64];
		if (l->p == NULL)
			continue;
		blocks++;
		assert_true(l->n <= sizeof(in) * page);
		assert_int_equal(mincore(l->p, l->n, in), 0);
		for (size_t j = 0; j < (l->n + page - 1) / page; j++)
			n += in[j] & 1;
	}
	assert_int_equal(blocks, 2); /* a frame, and a table of streams */
	return n;
}

/* One exchange; each side then has something in each block. */
static void
exchange(struct h2_bed *b)
{
	struct stream *up = h2_bed_ask(&b->client, "GET", true);

	b->server.n = 0;
	h2_bed_turn(b);
	assert_int_equal(b->server.n, 1);
	h2_bed_answer(b->server.s[0], 204, true);
	h2_bed_turn(b);
	assert_int_equal(h2_bed_status(up), 204);
	assert_in_range(pages_of(b->server.c), 2, 4);
	assert_in_range(pages_of(b->client.c), 2, 4);
	stream_close(up);
	stream_close(b->server.s[0]);
	b->client.n = b->server.n = 0;
	h2_bed_turn(b);
}

static void
h2_idle_connection_gives_memory_back(void **state)
{
	(void)state;
	struct h2_bed b;

	clock_set(1000, 1);
	h2_bed_init(&b, H2_BED_BOTH);
	for (uint64_t i = 1; i < 4; i++) {
		exchange(&b);
		clock_set(1000 + i * 1000, 1);
		timer_fire_due();
		assert_int_equal(pages_of(b.server.c), 0);
		assert_int_equal(pages_of(b.client.c), 0);
	}
	/* While a request is there nothing is given back. */
	struct stream *up = h2_bed_ask(&b.client, "GET", true);
	h2_bed_turn(&b);
	clock_set(9000, 1);
	timer_fire_due();
	assert_in_range(pages_of(b.server.c), 1, 4);
	assert_in_range(pages_of(b.client.c), 2, 4);
	h2_bed_answer(b.server.s[0], 200, true);
	h2_bed_turn(&b);
	assert_int_equal(h2_bed_status(up), 200);
	h2_bed_release(&b);
	clock_set(0, 0);
}

/* A side may go at any point; then the other sees it broken, not whole. */
static void
h2_stream_closed_at_any_time_is_cleared_away(void **state)
{
	(void)state;
	static const uint8_t zeros[60000];
	for (int when = 0; when < 6; when++) {
		struct http_request req;
		BOTH;
		b.to_client.window = 1000; /* frames of ours wait in line */
		struct stream *up = h2_bed_ask(&b.client, "GET", true);
		h2_bed_turn(&b);
		struct stream *s = b.server.s[0];
		if (when > 0)
			h2_bed_read(s, &req);
		if (when > 1)
			h2_bed_answer(s, 200, false);
		if (when > 2)
			assert_true(stream_put(s, slice_of(zeros, 60000)));
		if (when > 3)
			h2_bed_turn(&b);
		if (when > 4)
			stream_shut(s);
		stream_close(s);
		b.server.s[0] = NULL;
		h2_bed_turn(&b);
		assert_int_equal(h2_n_streams(b.server.c), 0);
		b.to_client.window = SIZE_MAX;
		h2_bed_turn(&b);
		assert_true(stream_is_broken(up));
		assert_false(stream_is_eof(up));
		h2_bed_release(&b);
	}
}

/* What a close says to the other side. */
static void
h2_close_of_a_stream_is_a_reset(void **state)
{
	(void)state;
	struct http_request req;
	BOTH;
	struct stream *up = h2_bed_ask(&b.client, "GET", true);
	struct stream *other = h2_bed_ask(&b.client, "GET", true);

	h2_bed_turn(&b);
	h2_bed_read(b.server.s[0], &req);
	stream_close(up);
	b.client.s[0] = NULL;
	h2_bed_turn(&b);
	assert_true(stream_is_broken(b.server.s[0]));
	assert_int_equal(h2_error(b.server.s[0]), H2_CANCEL);
	assert_int_equal(stream_reason(b.server.s[0]), REASON_CLIENT_ABORT);
	assert_string_equal(stream_text(b.server.s[0]), "stream reset: CANCEL");
	/* The other stream, and the connection, are unharmed. */
	assert_false(stream_is_broken(b.server.s[1]));
	h2_bed_answer(b.server.s[1], 204, true);
	h2_bed_turn(&b);
	assert_int_equal(h2_bed_status(other), 204);
	assert_int_equal(h2_n_streams(b.client.c), 1);
	h2_bed_release(&b);
}

static void
h2_reset_passes_a_code_on(void **state)
{
	(void)state;
	BOTH;
	struct stream *up = h2_bed_ask(&b.client, "GET", true);
	struct stream *second = h2_bed_ask(&b.client, "GET", true);

	h2_bed_turn(&b);
	h2_reset(b.server.s[0], H2_ENHANCE_YOUR_CALM);
	h2_reset(b.server.s[1], H2_REFUSED_STREAM);
	assert_true(stream_is_broken(b.server.s[0]));
	h2_bed_turn(&b);
	assert_true(stream_is_broken(up));
	assert_int_equal(h2_error(up), H2_ENHANCE_YOUR_CALM);
	assert_int_equal(stream_reason(up), REASON_UP_RESPONSE);
	assert_false(h2_was_refused(up));
	/* Nothing of it was done: it may be asked elsewhere. */
	assert_true(stream_is_broken(second));
	assert_true(h2_was_refused(second));
	h2_bed_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(h2_shut_loses_no_request),
		cmocka_unit_test(h2_close_of_a_connection_breaks_its_streams),
		cmocka_unit_test(h2_lost_connection_breaks_its_streams),
		cmocka_unit_test(h2_request_behind_goaway_may_be_asked_again),
		cmocka_unit_test(h2_head_is_whole_in_time),
		cmocka_unit_test(h2_answers_leave_no_table),
		cmocka_unit_test(h2_idle_connection_gives_memory_back),
		cmocka_unit_test(h2_stream_closed_at_any_time_is_cleared_away),
		cmocka_unit_test(h2_close_of_a_stream_is_a_reset),
		cmocka_unit_test(h2_reset_passes_a_code_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
