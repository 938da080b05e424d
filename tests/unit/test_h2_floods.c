/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a hostile client, or a hostile upstream, sends too much of.
 */
#include <stdio.h>

#include "h2_bed.h"

static void
get(struct buf *b)
{
	h2_put_head(b, ES, 1, H2_GET);
}

static void
post(struct buf *b)
{
	h2_put_head(b, 0, 1, H2_POST);
}

static void
continuations_without_end(struct buf *b)
{
	FRAME(HEADERS, ES, 1, "\x82");
	for (int i = 0; i < 200; i++)
		FRAME(CONTINUATION, 0, 1, "\0\1a\1b");
}

static void
continuations_empty(struct buf *b)
{
	FRAME(HEADERS, ES, 1, "\x82");
	for (int i = 0; i < 200; i++)
		FRAME(CONTINUATION, i == 199 ? EH : 0, 1, "");
}

/* --- floods ---------------------------------------------------------------- */

static void
rapid_reset(struct buf *b)
{
	for (uint32_t i = 0; i < 1100; i++) {
		h2_put_head(b, ES, 2 * i + 1, H2_GET);
		FRAME(RST_STREAM, 0, 2 * i + 1, "\0\0\0\10");
	}
}

static void
made_you_reset(struct buf *b)
{
	for (uint32_t i = 0; i < 1100; i++) {
		h2_put_head(b, ES, 2 * i + 1, H2_GET);
		FRAME(WINDOW_UPDATE, 0, 2 * i + 1, "\x7f\xff\xff\xff");
	}
}

static void
pings(struct buf *b)
{
	for (int i = 0; i < 1100; i++)
		FRAME(PING, 0, 0, "12345678");
}

static void
settings(struct buf *b)
{
	for (int i = 0; i < 1100; i++)
		FRAME(SETTINGS, 0, 0, "\0\4\0\0\0\1");
}

static void
windows(struct buf *b)
{
	for (int i = 0; i < 1100; i++)
		FRAME(WINDOW_UPDATE, 0, 0, "\0\0\0\1");
}

static void
priorities(struct buf *b)
{
	for (int i = 0; i < 1100; i++)
		FRAME(PRIORITY, 0, 1, "\0\0\0\3\20");
}

static void
unknowns(struct buf *b)
{
	for (int i = 0; i < 1100; i++)
		h2_put_frame(b, 0xee, 0, 0, SLICE(""));
}

static void
empty_data(struct buf *b)
{
	post(b);
	for (int i = 0; i < 1100; i++)
		FRAME(DATA, 0, 1, "");
}

static void
padding_alone(struct buf *b)
{
	post(b);
	for (int i = 0; i < 1100; i++)
		FRAME(DATA, NGHTTP2_FLAG_PADDED, 1, "\3\0\0\0");
}

/* An entry of 4000 bytes in the table, then a reference a byte. */
static void
hpack_bomb(struct buf *b)
{
	struct buf f;

	buf_init(&f, 20000);
	assert_true(buf_put(&f,
	    SLICE("\x82\x84\x87\x41\7ok.test\x40\1a"
		  "\x7f\xa1\x1e")));
	for (int i = 0; i < 4000; i++)
		buf_put_byte(&f, 'a');
	for (int i = 0; i < 10000; i++)
		buf_put_byte(&f, 0xbe);
	h2_put_frame(b, NGHTTP2_HEADERS, ES | EH, 1, buf_slice(&f));
	buf_release(&f);
}

/* --- messages -------------------------------------------------------------- */

static void
trailers_without_end(struct buf *b)
{
	post(b);
	h2_put_head(b, 0, 1, "a|b\n");
}

static void
http1_text(struct buf *b)
{
	b->n = 0;
	assert_true(buf_put(b,
	    SLICE("GET / HTTP/1.1\r\nHost: ok.test\r\n"
		  "\r\n")));
}

static void
no_settings(struct buf *b)
{
	b->n = 0;
	assert_true(buf_put(b, SLICE(PREFACE)));
	get(b);
}

static const struct h2_row rows[] = {
	/* clang-format off */
	{ "H2-14 without END_HEADERS", continuations_without_end, REASON_H2_ABUSE, NGHTTP2_ENHANCE_YOUR_CALM, NONE, 0 },
	{ "H2-14 empty", continuations_empty, REASON_H2_ABUSE, NGHTTP2_ENHANCE_YOUR_CALM, NONE, 0 },
	{ "H2-12 rapid reset", rapid_reset, REASON_H2_ABUSE, NGHTTP2_ENHANCE_YOUR_CALM, NONE, LIMIT_H2_RESETS_BURST + 1 },
	{ "H2-13 made you reset", made_you_reset, REASON_H2_ABUSE, NGHTTP2_ENHANCE_YOUR_CALM, NONE, LIMIT_H2_RESETS_BURST + 200 },
	{ "H2-16 PING", pings, REASON_H2_ABUSE, NGHTTP2_ENHANCE_YOUR_CALM, NONE, 0 },
	{ "H2-16 SETTINGS", settings, REASON_H2_ABUSE, NGHTTP2_ENHANCE_YOUR_CALM, NONE, 0 },
	{ "WINDOW_UPDATE flood", windows, REASON_H2_ABUSE, NGHTTP2_ENHANCE_YOUR_CALM, NONE, 0 },
	{ "PRIORITY flood", priorities, REASON_H2_ABUSE, NGHTTP2_ENHANCE_YOUR_CALM, NONE, 0 },
	{ "flood of unknown kinds", unknowns, REASON_H2_ABUSE, NGHTTP2_ENHANCE_YOUR_CALM, NONE, 0 },
	{ "H2-19 empty DATA", empty_data, REASON_H2_ABUSE, NGHTTP2_ENHANCE_YOUR_CALM, NONE, 1 },
	{ "H2-19 DATA of padding", padding_alone, REASON_H2_ABUSE, NGHTTP2_ENHANCE_YOUR_CALM, NONE, 1 },
	{ "H2-15 HPACK bomb", hpack_bomb, REASON_H2_ABUSE, NGHTTP2_ENHANCE_YOUR_CALM, NONE, 0 },
	{ "H2-11 trailers without the end", trailers_without_end, REASON_ALLOW, NONE, NGHTTP2_PROTOCOL_ERROR, 1 },
	{ "TL-25 HTTP/1.1 text", http1_text, REASON_H2_PROTOCOL, NGHTTP2_PROTOCOL_ERROR, NONE, 0 },
	{ "3.4 no SETTINGS first", no_settings, REASON_H2_PROTOCOL, NGHTTP2_PROTOCOL_ERROR, NONE, 0 },
	/* clang-format on */
};

static void
h2_server_takes_each_flood(void **state)
{
	(void)state;
	h2_bed_check(rows, COUNT_OF(rows), H2_BED_SERVER);
}

/* Heads that are each within the limit are not, all together. */
static void
h2_heads_have_a_limit_together(void **state)
{
	(void)state;
	static char lines[62000];
	struct http_request req = { 0 };
	struct parse_fail fail;
	struct buf fields, head;
	struct h2_bed b;
	size_t n = (size_t)snprintf(lines, sizeof(lines), "%s", H2_GET);

	for (int i = 0; i < 15; i++)
		n += (size_t)snprintf(lines + n, sizeof(lines) - n,
		    "a|%04000d\n", i);
	buf_init(&fields, 1 << 20);
	buf_init(&head, LIMIT_HEAD_SIZE);
	h2_put_fields(&fields, lines);
	h2_bed_init(&b, H2_BED_SERVER);
	h2_put_hello(&b.to_server.bytes, true);
	for (uint32_t i = 0; i < 20; i++)
		for (size_t at = 0; at < fields.n; at += 16000)
			h2_put_frame(&b.to_server.bytes,
			    at == 0 ? NGHTTP2_HEADERS : NGHTTP2_CONTINUATION,
			    (at == 0 ? ES : 0) |
				(at + 16000 >= fields.n ? EH : 0),
			    2 * i + 1,
			    slice_first(slice_from(buf_slice(&fields), at),
				16000));
	h2_bed_turn(&b);
	assert_int_equal(b.server.n, 20);
	for (size_t i = 0; i < 20; i++) {
		bool fits = (i + 1) * n < LIMIT_H2_HEADS_SIZE;
		assert_int_equal(h2_read_request(b.server.s[i], &req, &head,
				     &fail),
		    fits ? PARSE_DONE : PARSE_BAD);
		if (!fits)
			assert_int_equal(fail.reason, REASON_LIMIT_BYTES);
		stream_close(b.server.s[i]);
		b.server.s[i] = NULL;
	}
	/* With those streams their heads are gone. */
	h2_bed_turn(&b);
	h2_put_head(&b.to_server.bytes, ES, 99, H2_GET);
	h2_bed_turn(&b);
	h2_bed_read(b.server.s[20], &req);
	buf_release(&fields);
	buf_release(&head);
	h2_bed_release(&b);
}

/* A reader of Go's opens both windows again with each 4 KiB that it takes. */
static void
h2_eager_windows_are_no_flood(void **state)
{
	(void)state;
	static const uint8_t zeros[65536];
	struct http_request req;
	struct h2_bed b;
	struct buf *to = &b.to_server.bytes;

	h2_bed_init(&b, H2_BED_SERVER);
	h2_put_hello(to, true);
	h2_put_head(to, ES, 1, H2_GET);
	h2_bed_turn(&b);
	struct stream *s = b.server.s[0];
	h2_bed_read(s, &req);
	h2_bed_answer(s, 200, false);
	for (int i = 0; i < 400; i++) {
		(void)!stream_put(s,
		    slice_first(slice_of(zeros, sizeof(zeros)),
			stream_room(s)));
		for (int j = 0; j < 16; j++) {
			FRAME_TO(to, WINDOW_UPDATE, 0, 0, "\0\0\20\0");
			FRAME_TO(to, WINDOW_UPDATE, 0, 1, "\0\0\20\0");
		}
		b.to_client.bytes.n = 0;
		h2_bed_turn(&b);
		assert_false(h2_is_broken(b.server.c));
	}
	assert_true(s->n_out > 300 * sizeof(zeros));
	h2_bed_release(&b);
}

/* It reads nothing, so we read no more of it; then it is gone. */
static void
h2_held_peer_that_goes_is_seen(void **state)
{
	(void)state;
	static const uint8_t zeros[65536];
	struct http_request req;
	struct h2_bed b;
	struct buf *to = &b.to_server.bytes;

	h2_bed_init(&b, H2_BED_SERVER);
	b.to_client.window = 0;
	h2_put_hello(to, true);
	FRAME_TO(to, WINDOW_UPDATE, 0, 0, "\0\100\0\0");
	h2_put_head(to, 0, 1, H2_POST);
	FRAME_TO(to, WINDOW_UPDATE, 0, 1, "\0\100\0\0");
	h2_bed_turn(&b);
	struct stream *s = b.server.s[0];
	h2_bed_read(s, &req);
	h2_bed_answer(s, 200, false);
	for (int i = 0; i < 16; i++) {
		(void)!stream_put(s,
		    slice_first(slice_of(zeros, sizeof(zeros)),
			stream_room(s)));
		h2_bed_turn(&b);
	}
	for (int i = 0; i < 900; i++)
		FRAME_TO(to, PING, 0, 0, "12345678");
	h2_bed_turn(&b);
	assert_false(h2_is_broken(b.server.c));
	/* Held: more than this is not read. */
	FRAME_TO(to, DATA, 0, 1, "a");
	h2_bed_turn(&b);
	assert_int_equal(stream_peek(s).n, 0);
	b.to_server.broken = b.to_client.broken = true;
	stream_nudge(b.to_server.reader);
	h2_bed_turn(&b);
	assert_true(h2_is_broken(b.server.c));
	assert_true(stream_is_broken(s));
	h2_bed_release(&b);
}

/* --- the same of an upstream: H2-21 ---------------------------------------- */

static void
ok_head(struct buf *b)
{
	h2_put_head(b, 0, 1, ":status|200\n");
}

static void
answers_of_resets(struct buf *b)
{
	/* One stream is all it has: the budget is not its way. */
	FRAME(RST_STREAM, 0, 1, "\0\0\0\10");
	FRAME(RST_STREAM, 0, 1, "\0\0\0\10");
}

static void
push_of_upstream(struct buf *b)
{
	FRAME(SETTINGS, NGHTTP2_FLAG_ACK, 0, "");
	FRAME(PUSH_PROMISE, EH, 1, "\0\0\0\2\x82");
}

/* For nghttp2 our SETTINGS hold only when the peer has acknowledged them. */
static void
early_push_of_upstream(struct buf *b)
{
	FRAME(PUSH_PROMISE, EH, 1, "\0\0\0\2\x82");
	ok_head(b);
}

static void
request_of_upstream(struct buf *b)
{
	h2_put_head(b, ES, 2, H2_GET);
}

static void
many_informational(struct buf *b)
{
	for (int i = 0; i < 100; i++)
		h2_put_head(b, 0, 1, ":status|103\n");
}

static void
data_before_head(struct buf *b)
{
	FRAME(DATA, 0, 1, "abc");
}

static void
empty_data_of_answer(struct buf *b)
{
	ok_head(b);
	for (int i = 0; i < 1100; i++)
		FRAME(DATA, 0, 1, "");
}

static void
more_than_the_window(struct buf *b)
{
	ok_head(b);
	for (size_t n = 0; n <= LIMIT_H2_UPSTREAM_WINDOW; n += 16384)
		h2_put_zeros(b, NGHTTP2_DATA, 1, 16384);
}

static void
two_answers(struct buf *b)
{
	ok_head(b);
	h2_put_head(b, 0, 1, ":status|200\n");
}

static void
goaway_with_a_code(struct buf *b)
{
	FRAME(GOAWAY, 0, 0, "\0\0\0\0\0\0\0\13");
}

static void
continuations_of_answer(struct buf *b)
{
	FRAME(HEADERS, 0, 1, "\x88");
	for (int i = 0; i < 200; i++)
		FRAME(CONTINUATION, 0, 1, "\0\1a\1b");
}

static const struct h2_row upstream_rows[] = {
	/* clang-format off */
	{ "H2-21 PING", pings, REASON_H2_ABUSE, NGHTTP2_ENHANCE_YOUR_CALM, NONE, 1 },
	{ "H2-21 SETTINGS", settings, REASON_H2_ABUSE, NGHTTP2_ENHANCE_YOUR_CALM, NONE, 1 },
	{ "H2-21 WINDOW_UPDATE", windows, REASON_H2_ABUSE, NGHTTP2_ENHANCE_YOUR_CALM, NONE, 1 },
	{ "H2-21 unknown kinds", unknowns, REASON_H2_ABUSE, NGHTTP2_ENHANCE_YOUR_CALM, NONE, 1 },
	{ "H2-21 empty DATA", empty_data_of_answer, REASON_H2_ABUSE, NGHTTP2_ENHANCE_YOUR_CALM, NONE, 1 },
	{ "H2-21 CONTINUATION", continuations_of_answer, REASON_H2_ABUSE, NGHTTP2_ENHANCE_YOUR_CALM, NONE, 1 },
	{ "H2-21 HPACK bomb", hpack_bomb, REASON_H2_ABUSE, NGHTTP2_ENHANCE_YOUR_CALM, NONE, 1 },
	{ "H2-21 RST_STREAM twice", answers_of_resets, REASON_ALLOW, NONE, NONE, 1 },
	{ "H2-20 push of an upstream", push_of_upstream, REASON_H2_PROTOCOL, NGHTTP2_PROTOCOL_ERROR, NONE, 1 },
	{ "H2-20 push before our SETTINGS are acknowledged", early_push_of_upstream, REASON_H2_PROTOCOL, NGHTTP2_PROTOCOL_ERROR, NONE, 1 },
	{ "H2-20 request of an upstream", request_of_upstream, REASON_H2_PROTOCOL, NGHTTP2_PROTOCOL_ERROR, NONE, 1 },
	{ "H2-21 100 1xx", many_informational, REASON_ALLOW, NONE, NGHTTP2_PROTOCOL_ERROR, 1 },
	{ "DATA before the head", data_before_head, REASON_H2_PROTOCOL, NGHTTP2_PROTOCOL_ERROR, NONE, 1 },
	{ "more DATA than the window", more_than_the_window, REASON_ALLOW, NONE, NGHTTP2_FLOW_CONTROL_ERROR, 1 },
	{ "two answers", two_answers, REASON_ALLOW, NONE, NGHTTP2_PROTOCOL_ERROR, 1 },
	{ "GOAWAY with a code", goaway_with_a_code, REASON_ALLOW, NGHTTP2_NO_ERROR, NONE, 1 },
	{ "TL-25 HTTP/1.1 text", http1_text, REASON_H2_PROTOCOL, NGHTTP2_PROTOCOL_ERROR, NONE, 1 },
	/* clang-format on */
};

static void
h2_client_takes_each_flood(void **state)
{
	(void)state;
	h2_bed_check(upstream_rows, COUNT_OF(upstream_rows), H2_BED_CLIENT);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(h2_server_takes_each_flood),
		cmocka_unit_test(h2_client_takes_each_flood),
		cmocka_unit_test(h2_heads_have_a_limit_together),
		cmocka_unit_test(h2_eager_windows_are_no_flood),
		cmocka_unit_test(h2_held_peer_that_goes_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
