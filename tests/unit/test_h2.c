/* SPDX-License-Identifier: Apache-2.0 */
/* Two connections back to back: what one side puts the other takes. */
#include <stdio.h>

#include "h2_bed.h"

#define BOTH             \
	struct h2_bed b; \
	h2_bed_init(&b, H2_BED_BOTH)

static uint8_t pattern[1 << 20];

static void
fill_pattern(void)
{
	for (size_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = (uint8_t)(i * 7 + (i >> 8));
}

static void
h2_carries_a_request_and_its_answer(void **state)
{
	(void)state;
	struct http_request req;
	BOTH;
	struct stream *up = h2_bed_ask(&b.client, "POST", false);

	assert_true(stream_put(up, SLICE("hello")));
	stream_shut(up);
	h2_bed_turn(&b);
	assert_int_equal(b.server.n, 1);
	struct stream *s = b.server.s[0];
	h2_bed_read(s, &req);
	assert_int_equal(req.body, HTTP_BODY_OPEN);
	assert_slice(stream_peek(s), SLICE("hello"));
	assert_false(stream_is_eof(s));
	stream_take(s, 5);
	assert_true(stream_is_eof(s));
	assert_true(stream_is_shut(up));

	h2_bed_answer(s, 103, false);
	h2_bed_answer(s, 200, false);
	assert_true(stream_put(s, SLICE("world")));
	h2_bed_turn(&b);
	assert_int_equal(h2_bed_status(up), 103);
	assert_int_equal(h2_bed_status(up), 200);
	assert_int_equal(h2_bed_status(up), 0); /* nothing more has come */
	assert_slice(stream_peek(up), SLICE("world"));
	stream_take(up, 5);
	assert_false(stream_is_eof(up));
	stream_shut(s);
	h2_bed_turn(&b);
	assert_true(stream_is_eof(up) && stream_is_shut(s));
	assert_false(stream_is_broken(up) || stream_is_broken(s));
	assert_int_equal(up->n_in, 5);
	assert_int_equal(up->n_out, 5);
	h2_bed_release(&b);
}

static void
h2_carries_trailers_each_way(void **state)
{
	(void)state;
	for (int with_data = 0; with_data < 3; with_data++) {
		struct field_list t = { .n = 1 }, got;
		struct http_request req;
		struct parse_fail fail;
		struct buf head;
		BOTH;
		t.at[0] = (struct field){ .name = SLICE("grpc-status"),
			.value = SLICE("0") };
		struct stream *up = h2_bed_ask(&b.client, "POST", false);
		if (with_data == 1)
			assert_true(stream_put(up, SLICE("abc")));
		if (with_data == 2)
			h2_bed_turn(&b); /* the answerer waits for DATA */
		assert_true(h2_put_trailers(up, &t));
		h2_bed_turn(&b);
		struct stream *s = b.server.s[0];
		h2_bed_read(s, &req);
		stream_take(s, stream_peek(s).n);
		assert_true(stream_is_eof(s));
		buf_init(&head, LIMIT_HEAD_SIZE);
		assert_int_equal(h2_read_trailers(s, &got, &head, &fail),
		    PARSE_DONE);
		assert_int_equal(got.n, 1);
		assert_slice(got.at[0].name, SLICE("grpc-status"));

		h2_bed_answer(s, 200, false);
		if (with_data == 1)
			assert_true(stream_put(s, SLICE("abc")));
		if (with_data == 2)
			h2_bed_turn(&b);
		assert_true(h2_put_trailers(s, &t));
		h2_bed_turn(&b);
		assert_int_equal(h2_bed_status(up), 200);
		assert_int_equal(stream_peek(up).n, with_data == 1 ? 3 : 0);
		stream_take(up, stream_peek(up).n);
		assert_true(stream_is_eof(up) && stream_is_shut(s));
		assert_int_equal(h2_read_trailers(up, &got, &head, &fail),
		    PARSE_DONE);
		assert_slice(got.at[0].value, SLICE("0"));
		/* Read once: there are none behind them. */
		assert_int_equal(h2_read_trailers(up, &got, &head, &fail),
		    PARSE_DONE);
		assert_int_equal(got.n, 0);
		buf_release(&head);
		h2_bed_release(&b);
	}
}

/* What there is room for, from `at` on. */
static size_t
put_more(struct stream *s, size_t at)
{
	size_t n = stream_room(s);

	if (n > sizeof(pattern) - at)
		n = sizeof(pattern) - at;
	assert_true(n == 0 || stream_put(s, slice_of(pattern + at, n)));
	return n;
}

static void
h2_window_is_opened_by_taking_alone(void **state)
{
	(void)state;
	struct http_request req;
	size_t sent = 0, got = 0;
	BOTH;
	struct stream *up = h2_bed_ask(&b.client, "POST", false);

	fill_pattern();
	h2_bed_turn(&b);
	struct stream *s = b.server.s[0];
	h2_bed_read(s, &req);
	for (int i = 0; i < 100; i++) {
		sent += put_more(up, sent);
		h2_bed_turn(&b);
	}
	/* What came is the window, and what waits is a full buffer. */
	assert_int_equal(s->n_in, LIMIT_H2_CLIENT_WINDOW);
	assert_int_equal(stream_backlog(up), LIMIT_BACKLOG_SIZE);
	assert_int_equal(stream_room(up), 0);
	/* The answer is not held by it. */
	h2_bed_answer(s, 200, false);
	h2_bed_turn(&b);
	assert_int_equal(h2_bed_status(up), 200);
	while (!stream_is_eof(s)) {
		struct slice in = stream_peek(s);
		assert_true(in.n != 0);
		in = slice_first(in, 50000);
		assert_memory_equal(in.p, pattern + got, in.n);
		got += in.n;
		stream_take(s, in.n);
		sent += put_more(up, sent);
		if (sent == sizeof(pattern))
			stream_shut(up);
		h2_bed_turn(&b);
	}
	assert_int_equal(got, sizeof(pattern));
	h2_bed_release(&b);
}

static void
h2_streams_share_a_connection(void **state)
{
	(void)state;
	struct stream *up[LIMIT_H2_STREAMS];
	struct http_request req;
	enum err err = ERR_NONE;
	BOTH;

	h2_bed_turn(&b);
	assert_true(h2_is_ready(b.client.c));
	for (size_t i = 0; i < LIMIT_H2_STREAMS; i++)
		up[i] = h2_bed_ask(&b.client, "GET", true);
	assert_false(h2_may_open(b.client.c));
	assert_null(h2_open(b.client.c, &err));
	assert_int_equal(err, ERR_FULL);
	h2_bed_turn(&b);
	assert_int_equal(b.server.n, LIMIT_H2_STREAMS);
	assert_int_equal(h2_n_streams(b.server.c), LIMIT_H2_STREAMS);
	for (size_t i = LIMIT_H2_STREAMS; i-- > 0;) {
		h2_bed_read(b.server.s[i], &req);
		h2_bed_answer(b.server.s[i], 200 + (unsigned)i, true);
	}
	unsigned before = b.client.n_news;
	h2_bed_turn(&b);
	assert_true(b.client.n_news > before);
	assert_true(h2_may_open(b.client.c));
	for (size_t i = 0; i < LIMIT_H2_STREAMS; i++) {
		assert_int_equal(h2_bed_status(up[i]), 200 + (unsigned)i);
		assert_true(stream_is_eof(up[i]));
		stream_close(b.server.s[i]);
		b.server.s[i] = NULL;
	}
	h2_bed_turn(&b);
	assert_int_equal(h2_n_streams(b.server.c), 0);
	h2_bed_release(&b);
}

/* An answer before its request has ended, then RST_STREAM(NO_ERROR). */
static void
h2_early_answer_is_whole(void **state)
{
	(void)state;
	struct http_request req;
	BOTH;
	struct stream *up = h2_bed_ask(&b.client, "POST", false);

	assert_true(stream_put(up, SLICE("part")));
	h2_bed_turn(&b);
	h2_bed_read(b.server.s[0], &req);
	h2_bed_answer(b.server.s[0], 403, false);
	assert_true(stream_put(b.server.s[0], SLICE("no")));
	stream_shut(b.server.s[0]);
	h2_bed_turn(&b);
	assert_true(stream_is_shut(b.server.s[0]));
	stream_close(b.server.s[0]);
	b.server.s[0] = NULL;
	h2_bed_turn(&b);
	assert_int_equal(h2_error(up), H2_NO_ERROR);
	assert_true(stream_is_broken(up)); /* takes no more */
	assert_int_equal(h2_bed_status(up), 403);
	assert_slice(stream_peek(up), SLICE("no"));
	stream_take(up, 2);
	assert_true(stream_is_eof(up));
	h2_bed_release(&b);
}

/* --- lengths and limits ---------------------------------------------------- */

#define LENGTH_5 H2_POST "content-length|5\n"

/* H2-04: as much DATA as the head said, or the stream is reset. */
static void
h2_request_of_another_length_is_cut(void **state)
{
	(void)state;
	static const struct {
		const char *data, *more;
		bool whole;
	} rows[] = {
		{ "hello", "", true },
		{ "hel", "lo", true },
		{ "", "hello", true },
		{ "hell", "", false },
		{ "", "", false },
		{ "hello!", "", false },
		{ "hello", "!", false },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct http_request req;
		struct h2_bed b;
		struct buf *to = &b.to_server.bytes;
		h2_bed_init(&b, H2_BED_SERVER);
		h2_put_hello(to, true);
		h2_put_head(to, 0, 1, LENGTH_5);
		h2_put_frame(to, NGHTTP2_DATA, 0, 1,
		    slice_of_str(rows[i].data));
		h2_bed_turn(&b);
		struct stream *s = b.server.s[0];
		h2_bed_read(s, &req);
		h2_put_frame(to, NGHTTP2_DATA, ES, 1,
		    slice_of_str(rows[i].more));
		h2_bed_turn(&b);
		stream_take(s, stream_peek(s).n);
		assert_int_equal(stream_is_eof(s), rows[i].whole);
		assert_int_equal(stream_is_broken(s), !rows[i].whole);
		if (!rows[i].whole) {
			assert_int_equal(stream_reason(s), REASON_HTTP_FRAMING);
			struct h2_frame f =
			    h2_last_frame(buf_slice(&b.to_client.bytes),
				NGHTTP2_RST_STREAM, 1);
			assert_int_equal(h2_u32(f.payload, 0),
			    H2_PROTOCOL_ERROR);
		}
		assert_false(h2_is_broken(b.server.c));
		h2_bed_release(&b);
	}
}

static void
h2_answer_of_another_length_is_cut(void **state)
{
	(void)state;
	static const struct {
		const char *head, *data;
		bool whole;
	} rows[] = {
		{ ":status|200\ncontent-length|5\n", "hello", true },
		{ ":status|200\ncontent-length|5\n", "hell", false },
		{ ":status|200\ncontent-length|5\n", "hello!", false },
		{ ":status|204\n", "", true },
		{ ":status|204\n", "hello", false },
		{ ":status|304\ncontent-length|5\n", "hello", false },
		{ ":status|200\n", "hello", true },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		struct h2_bed b;
		struct buf *to = &b.to_client.bytes;
		h2_bed_init(&b, H2_BED_CLIENT);
		struct stream *s = h2_bed_ask(&b.client, "GET", true);
		h2_put_hello(to, false);
		h2_bed_turn(&b);
		h2_put_head(to, 0, 1, rows[i].head);
		h2_put_frame(to, NGHTTP2_DATA, ES, 1,
		    slice_of_str(rows[i].data));
		h2_bed_turn(&b);
		assert_true(h2_bed_status(s) >= 200);
		stream_take(s, stream_peek(s).n);
		assert_int_equal(stream_is_eof(s), rows[i].whole);
		if (!rows[i].whole)
			assert_int_equal(stream_reason(s), REASON_UP_RESPONSE);
		h2_bed_release(&b);
	}
}

/* A head over the limit can be refused in words; the next is read. */
static void
h2_head_over_the_limit_is_refused(void **state)
{
	(void)state;
	static char lines[100000];
	struct http_request req = { 0 };
	struct parse_fail fail = { .detail = "" };
	struct buf head;
	struct h2_bed b;
	size_t n = (size_t)snprintf(lines, sizeof(lines), "%s", H2_GET);

	/* 17 values of 4000 bytes, in frames that are within the limits. */
	for (int i = 0; i < 17; i++)
		n += (size_t)snprintf(lines + n, sizeof(lines) - n,
		    "a|%04000d\n", i);
	h2_bed_init(&b, H2_BED_SERVER);
	h2_put_hello(&b.to_server.bytes, true);
	struct buf fields;
	buf_init(&fields, 1 << 20);
	h2_put_fields(&fields, lines);
	for (size_t at = 0; at < fields.n; at += 16000)
		h2_put_frame(&b.to_server.bytes,
		    at == 0 ? NGHTTP2_HEADERS : NGHTTP2_CONTINUATION,
		    (at == 0 ? ES : 0) | (at + 16000 >= fields.n ? EH : 0), 1,
		    slice_first(slice_from(buf_slice(&fields), at), 16000));
	h2_put_head(&b.to_server.bytes, ES, 3, H2_GET);
	h2_bed_turn(&b);
	assert_int_equal(b.server.n, 2);
	buf_init(&head, LIMIT_HEAD_SIZE);
	assert_int_equal(h2_read_request(b.server.s[0], &req, &head, &fail),
	    PARSE_BAD);
	assert_int_equal(fail.reason, REASON_LIMIT_BYTES);
	assert_int_equal(http_fail_status(&fail), 431);
	h2_bed_answer(b.server.s[0], 431, true);
	h2_bed_read(b.server.s[1], &req);
	h2_bed_turn(&b);
	assert_int_equal(h2_count_frames(buf_slice(&b.to_client.bytes),
			     NGHTTP2_HEADERS),
	    1);
	buf_release(&fields);
	buf_release(&head);
	h2_bed_release(&b);
}

/* H2-17: an answer that is never taken holds its source, and nothing grows. */
static void
h2_client_without_window_holds_the_answer(void **state)
{
	(void)state;
	struct http_request req;
	struct h2_bed b;

	h2_bed_init(&b, H2_BED_SERVER);
	fill_pattern();
	h2_put_hello(&b.to_server.bytes, true);
	h2_put_frame(&b.to_server.bytes, NGHTTP2_SETTINGS, 0, 0,
	    SLICE("\0\4\0\0\0\1"));
	h2_put_head(&b.to_server.bytes, ES, 1, H2_GET);
	h2_bed_turn(&b);
	struct stream *s = b.server.s[0];
	h2_bed_read(s, &req);
	h2_bed_answer(s, 200, false);
	for (int i = 0; i < 20; i++) {
		(void)put_more(s, 0);
		h2_bed_turn(&b);
	}
	assert_int_equal(s->n_out, 1);
	assert_int_equal(stream_room(s), 0);
	assert_int_equal(stream_backlog(s), LIMIT_BACKLOG_SIZE);
	/* One byte a time, as it is let. */
	h2_put_frame(&b.to_server.bytes, NGHTTP2_WINDOW_UPDATE, 0, 1,
	    SLICE("\0\0\0\1"));
	h2_bed_turn(&b);
	assert_int_equal(s->n_out, 2);
	h2_bed_release(&b);
}

/* Whatever the borders of reads and writes, the same happens. */
static void
h2_survives_every_cut(void **state)
{
	(void)state;
	for (size_t cut = 1; cut < 200; cut += cut < 30 ? 1 : 17) {
		struct http_request req;
		BOTH;
		b.to_server.cut = b.to_client.cut = cut;
		b.to_server.window = b.to_client.window = cut;
		struct stream *up = h2_bed_ask(&b.client, "POST", false);
		assert_true(stream_put(up, SLICE("hello")));
		stream_shut(up);
		for (int i = 0; i < 100 && b.server.n == 0; i++)
			h2_bed_turn(&b);
		h2_bed_read(b.server.s[0], &req);
		h2_bed_answer(b.server.s[0], 200, false);
		assert_true(stream_put(b.server.s[0], SLICE("world")));
		stream_shut(b.server.s[0]);
		for (int i = 0; i < 100 && !up->ended; i++)
			h2_bed_turn(&b);
		assert_int_equal(h2_bed_status(up), 200);
		assert_slice(stream_peek(up), SLICE("world"));
		stream_take(up, 5);
		assert_true(stream_is_eof(up));
		h2_bed_release(&b);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(h2_carries_a_request_and_its_answer),
		cmocka_unit_test(h2_carries_trailers_each_way),
		cmocka_unit_test(h2_window_is_opened_by_taking_alone),
		cmocka_unit_test(h2_streams_share_a_connection),
		cmocka_unit_test(h2_early_answer_is_whole),
		cmocka_unit_test(h2_request_of_another_length_is_cut),
		cmocka_unit_test(h2_answer_of_another_length_is_cut),
		cmocka_unit_test(h2_head_over_the_limit_is_refused),
		cmocka_unit_test(h2_client_without_window_holds_the_answer),
		cmocka_unit_test(h2_survives_every_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
