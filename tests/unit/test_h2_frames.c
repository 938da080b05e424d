/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Frames by hand against a server of ours: what ends the connection, what the
 * stream, and what is passed over; nothing that is refused is executed.
 */
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

/* --- RFC 9113 4: frames --------------------------------------------------- */

static void
frame_too_long(struct buf *b)
{
	post(b);
	h2_put_zeros(b, NGHTTP2_DATA, 1, 16385);
}

static void
frame_far_too_long(struct buf *b)
{
	post(b);
	assert_true(buf_put(b, SLICE("\xff\xff\xff\0\0\0\0\0\1")));
	h2_put_zeros(b, NGHTTP2_DATA, 1, 100);
}

static void
frame_unknown(struct buf *b)
{
	h2_put_frame(b, 0xee, 0xff, 0, SLICE("abc"));
	h2_put_frame(b, 0xed, 0xff, 77, SLICE("abc"));
	get(b);
}

static void
flags_unknown(struct buf *b)
{
	FRAME(PING, 0xfe, 0, "12345678");
	h2_put_head(b, ES | 0xd0, 1, H2_GET);
}

static void
reserved_bit(struct buf *b)
{
	FRAME(PING, 0, 0x80000000U, "12345678");
	get(b);
}

static void
hpack_wrong(struct buf *b)
{
	FRAME(HEADERS, ES | EH, 1, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff");
}

static void
hpack_index_zero(struct buf *b)
{
	FRAME(HEADERS, ES | EH, 1, "\x80");
}

static void
hpack_table_too_large(struct buf *b)
{
	FRAME(HEADERS, ES | EH, 1, "\x3f\xe2\x1f\x82"); /* 4097 */
}

static void
hpack_cut(struct buf *b)
{
	FRAME(HEADERS, ES | EH, 1,
	    "\x40\x0a"
	    "abc");
}

/* --- 5.1: streams --------------------------------------------------------- */

static void
id_zero(struct buf *b)
{
	h2_put_head(b, ES, 0, H2_GET);
}

static void
id_even(struct buf *b)
{
	h2_put_head(b, ES, 2, H2_GET);
}

static void
id_decreasing(struct buf *b)
{
	h2_put_head(b, ES, 5, H2_GET);
	h2_put_head(b, ES, 3, H2_GET);
}

static void
id_twice(struct buf *b)
{
	get(b);
	get(b);
}

static void
id_last(struct buf *b)
{
	h2_put_head(b, ES, 0x7fffffffU, H2_GET);
}

static void
data_on_idle(struct buf *b)
{
	FRAME(DATA, 0, 1, "abc");
}

static void
reset_on_idle(struct buf *b)
{
	FRAME(RST_STREAM, 0, 1, "\0\0\0\10");
}

static void
window_on_idle(struct buf *b)
{
	FRAME(WINDOW_UPDATE, 0, 1, "\0\0\0\1");
}

static void
data_behind_end(struct buf *b)
{
	get(b);
	FRAME(DATA, 0, 1, "abc");
}

static void
head_behind_end(struct buf *b)
{
	get(b);
	h2_put_head(b, ES, 1, "a|b\n");
}

static void
too_many_at_once(struct buf *b)
{
	for (uint32_t i = 0; i <= LIMIT_H2_STREAMS; i++)
		h2_put_head(b, 0, 2 * i + 1, H2_POST);
}

/* --- 6: kinds of frames --------------------------------------------------- */

static void
padding_too_long(struct buf *b)
{
	post(b);
	FRAME(DATA, NGHTTP2_FLAG_PADDED, 1, "\5abcd");
}

static void
padding_of_head_too_long(struct buf *b)
{
	FRAME(HEADERS, ES | EH | NGHTTP2_FLAG_PADDED, 1, "\11\x82\x84\x87");
}

static void
padding_honest(struct buf *b)
{
	post(b);
	FRAME(DATA, NGHTTP2_FLAG_PADDED | ES, 1, "\3abcde\0\0\0");
}

static void
data_on_zero(struct buf *b)
{
	FRAME(DATA, 0, 0, "abc");
}

static void
priority_is_passed_over(struct buf *b)
{
	FRAME(PRIORITY, 0, 9, "\0\0\0\1\20");
	get(b);
	FRAME(PRIORITY, 0, 1, "\0\0\0\3\20");
}

static void
priority_of_another_size(struct buf *b)
{
	FRAME(PRIORITY, 0, 1, "\0\0\0\1");
}

static void
priority_on_zero(struct buf *b)
{
	FRAME(PRIORITY, 0, 0, "\0\0\0\1\20");
}

static void
priority_in_head(struct buf *b)
{
	struct buf fields;

	buf_init(&fields, 1000);
	assert_true(buf_put(&fields, SLICE("\0\0\0\3\20")));
	h2_put_fields(&fields, H2_GET);
	h2_put_frame(b, NGHTTP2_HEADERS, ES | EH | NGHTTP2_FLAG_PRIORITY, 1,
	    buf_slice(&fields));
	buf_release(&fields);
}

static void
reset_of_another_size(struct buf *b)
{
	post(b);
	FRAME(RST_STREAM, 0, 1, "\0\0\10");
}

static void
reset_on_zero(struct buf *b)
{
	FRAME(RST_STREAM, 0, 0, "\0\0\0\10");
}

static void
settings_on_stream(struct buf *b)
{
	FRAME(SETTINGS, 0, 1, "");
}

static void
settings_of_another_size(struct buf *b)
{
	FRAME(SETTINGS, 0, 0, "\0\1\0");
}

static void
settings_ack_with_payload(struct buf *b)
{
	FRAME(SETTINGS, NGHTTP2_FLAG_ACK, 0, "\0\1\0\0\0\1");
}

static void
settings_push(struct buf *b)
{
	FRAME(SETTINGS, 0, 0, "\0\2\0\0\0\2");
}

static void
settings_window(struct buf *b)
{
	FRAME(SETTINGS, 0, 0, "\0\4\x80\0\0\0");
}

static void
settings_frame_size(struct buf *b)
{
	FRAME(SETTINGS, 0, 0, "\0\5\0\0\x3f\xff");
}

static void
settings_unknown(struct buf *b)
{
	FRAME(SETTINGS, 0, 0, "\xff\xff\0\0\0\1");
	get(b);
}

static void
push_from_client(struct buf *b)
{
	get(b);
	FRAME(PUSH_PROMISE, EH, 1, "\0\0\0\2\x82");
}

static void
ping_on_stream(struct buf *b)
{
	FRAME(PING, 0, 1, "12345678");
}

static void
ping_of_another_size(struct buf *b)
{
	FRAME(PING, 0, 0, "1234567");
}

static void
goaway_on_stream(struct buf *b)
{
	FRAME(GOAWAY, 0, 1, "\0\0\0\0\0\0\0\0");
}

static void
request_behind_goaway(struct buf *b)
{
	FRAME(GOAWAY, 0, 0, "\0\0\0\0\0\0\0\0");
	get(b);
}

static void
window_of_zero(struct buf *b)
{
	FRAME(WINDOW_UPDATE, 0, 0, "\0\0\0\0");
}

static void
window_of_zero_on_stream(struct buf *b)
{
	post(b);
	FRAME(WINDOW_UPDATE, 0, 1, "\0\0\0\0");
}

static void
window_too_large(struct buf *b)
{
	FRAME(WINDOW_UPDATE, 0, 0, "\x7f\xff\xff\xff");
}

static void
window_too_large_on_stream(struct buf *b)
{
	post(b);
	FRAME(WINDOW_UPDATE, 0, 1, "\x7f\xff\xff\xff");
}

static void
more_than_the_window(struct buf *b)
{
	post(b);
	for (size_t n = 0; n <= LIMIT_H2_CLIENT_WINDOW; n += 16384)
		h2_put_zeros(b, NGHTTP2_DATA, 1, 16384);
}

static void
continuation_alone(struct buf *b)
{
	FRAME(CONTINUATION, EH, 1, "\x82");
}

static void
continuation_of_another(struct buf *b)
{
	FRAME(HEADERS, ES, 1, "\x82");
	FRAME(CONTINUATION, EH, 3, "\x84");
}

static void
frame_between_continuations(struct buf *b)
{
	FRAME(HEADERS, ES, 1, "\x82");
	FRAME(PING, 0, 0, "12345678");
}

static void
continuations_honest(struct buf *b)
{
	FRAME(HEADERS, ES, 1, "\x82");
	FRAME(CONTINUATION, 0, 1, "\x84");
	FRAME(CONTINUATION, 0, 1, "\x87\x41");
	FRAME(CONTINUATION, EH, 1, "\7ok.test");
}

static const struct h2_row rows[] = {
	/* clang-format off */
	{ "4.2 longer than SETTINGS says", frame_too_long, REASON_H2_PROTOCOL, NGHTTP2_FRAME_SIZE_ERROR, NONE, 1 },
	{ "H2-19 2^24-1 bytes", frame_far_too_long, REASON_H2_PROTOCOL, NGHTTP2_FRAME_SIZE_ERROR, NONE, 1 },
	{ "4.1 unknown kinds", frame_unknown, REASON_ALLOW, NONE, NONE, 1 },
	{ "4.1 unknown flags", flags_unknown, REASON_ALLOW, NONE, NONE, 1 },
	{ "4.1 reserved bit", reserved_bit, REASON_ALLOW, NONE, NONE, 1 },
	{ "4.3 no list of fields", hpack_wrong, REASON_H2_PROTOCOL, NGHTTP2_COMPRESSION_ERROR, NONE, 0 },
	{ "4.3 index 0", hpack_index_zero, REASON_H2_PROTOCOL, NGHTTP2_COMPRESSION_ERROR, NONE, 0 },
	{ "4.3 table larger than SETTINGS says", hpack_table_too_large, REASON_H2_PROTOCOL, NGHTTP2_COMPRESSION_ERROR, NONE, 0 },
	{ "4.3 cut", hpack_cut, REASON_H2_PROTOCOL, NGHTTP2_COMPRESSION_ERROR, NONE, 0 },
	{ "H2-18 id 0", id_zero, REASON_H2_PROTOCOL, NGHTTP2_PROTOCOL_ERROR, NONE, 0 },
	{ "H2-18 even", id_even, REASON_H2_PROTOCOL, NGHTTP2_PROTOCOL_ERROR, NONE, 0 },
	{ "H2-18 decreasing", id_decreasing, REASON_H2_PROTOCOL, NGHTTP2_PROTOCOL_ERROR, NONE, 1 },
	{ "H2-18 used twice", id_twice, REASON_H2_PROTOCOL, NGHTTP2_STREAM_CLOSED, NONE, 1 },
	{ "H2-18 2^31-1", id_last, REASON_ALLOW, NONE, NONE, 1 },
	{ "H2-18 too many at once", too_many_at_once, REASON_ALLOW, NONE, NONE, LIMIT_H2_STREAMS },
	{ "5.1 DATA on idle", data_on_idle, REASON_H2_PROTOCOL, NGHTTP2_PROTOCOL_ERROR, NONE, 0 },
	{ "5.1 RST_STREAM on idle", reset_on_idle, REASON_H2_PROTOCOL, NGHTTP2_PROTOCOL_ERROR, NONE, 0 },
	{ "5.1 WINDOW_UPDATE on idle", window_on_idle, REASON_H2_PROTOCOL, NGHTTP2_PROTOCOL_ERROR, NONE, 0 },
	{ "H2-22 DATA behind the end", data_behind_end, REASON_H2_PROTOCOL, NGHTTP2_STREAM_CLOSED, NONE, 1 },
	{ "H2-22 HEADERS behind the end", head_behind_end, REASON_H2_PROTOCOL, NGHTTP2_STREAM_CLOSED, NONE, 1 },
	{ "H2-22 request behind GOAWAY", request_behind_goaway, REASON_H2_PROTOCOL, NGHTTP2_PROTOCOL_ERROR, NONE, 0 },
	{ "H2-19 padding longer than DATA", padding_too_long, REASON_H2_PROTOCOL, NGHTTP2_PROTOCOL_ERROR, NONE, 1 },
	{ "H2-19 padding longer than HEADERS", padding_of_head_too_long, REASON_H2_PROTOCOL, NGHTTP2_PROTOCOL_ERROR, NONE, 0 },
	{ "6.1 honest padding", padding_honest, REASON_ALLOW, NONE, NONE, 1 },
	{ "6.1 DATA on 0", data_on_zero, REASON_H2_PROTOCOL, NGHTTP2_PROTOCOL_ERROR, NONE, 0 },
	{ "6.3 PRIORITY", priority_is_passed_over, REASON_ALLOW, NONE, NONE, 1 },
	{ "6.3 in HEADERS", priority_in_head, REASON_ALLOW, NONE, NONE, 1 },
	{ "6.3 of another size", priority_of_another_size, REASON_H2_PROTOCOL, NGHTTP2_FRAME_SIZE_ERROR, NONE, 0 },
	{ "6.3 on 0", priority_on_zero, REASON_H2_PROTOCOL, NGHTTP2_PROTOCOL_ERROR, NONE, 0 },
	{ "6.4 of another size", reset_of_another_size, REASON_H2_PROTOCOL, NGHTTP2_FRAME_SIZE_ERROR, NONE, 1 },
	{ "6.4 on 0", reset_on_zero, REASON_H2_PROTOCOL, NGHTTP2_PROTOCOL_ERROR, NONE, 0 },
	{ "6.5 SETTINGS on a stream", settings_on_stream, REASON_H2_PROTOCOL, NGHTTP2_PROTOCOL_ERROR, NONE, 0 },
	{ "6.5 of another size", settings_of_another_size, REASON_H2_PROTOCOL, NGHTTP2_FRAME_SIZE_ERROR, NONE, 0 },
	{ "6.5 ACK with payload", settings_ack_with_payload, REASON_H2_PROTOCOL, NGHTTP2_FRAME_SIZE_ERROR, NONE, 0 },
	{ "6.5.2 ENABLE_PUSH 2", settings_push, REASON_H2_PROTOCOL, NGHTTP2_PROTOCOL_ERROR, NONE, 0 },
	{ "6.5.2 window of 2^31", settings_window, REASON_H2_PROTOCOL, NGHTTP2_FLOW_CONTROL_ERROR, NONE, 0 },
	{ "6.5.2 frames of 16383", settings_frame_size, REASON_H2_PROTOCOL, NGHTTP2_PROTOCOL_ERROR, NONE, 0 },
	{ "6.5.2 unknown", settings_unknown, REASON_ALLOW, NONE, NONE, 1 },
	{ "H2-20 PUSH_PROMISE from a client", push_from_client, REASON_H2_PROTOCOL, NGHTTP2_PROTOCOL_ERROR, NONE, 1 },
	{ "6.7 PING on a stream", ping_on_stream, REASON_H2_PROTOCOL, NGHTTP2_PROTOCOL_ERROR, NONE, 0 },
	{ "6.7 of another size", ping_of_another_size, REASON_H2_PROTOCOL, NGHTTP2_FRAME_SIZE_ERROR, NONE, 0 },
	{ "6.8 GOAWAY on a stream", goaway_on_stream, REASON_H2_PROTOCOL, NGHTTP2_PROTOCOL_ERROR, NONE, 0 },
	{ "6.9 WINDOW_UPDATE of 0", window_of_zero, REASON_H2_PROTOCOL, NGHTTP2_PROTOCOL_ERROR, NONE, 0 },
	{ "6.9 of 0 on a stream", window_of_zero_on_stream, REASON_H2_PROTOCOL, NGHTTP2_PROTOCOL_ERROR, NONE, 1 },
	{ "6.9.1 above 2^31-1", window_too_large, REASON_H2_PROTOCOL, NGHTTP2_FLOW_CONTROL_ERROR, NONE, 0 },
	{ "6.9.1 above it on a stream", window_too_large_on_stream, REASON_ALLOW, NONE, NGHTTP2_FLOW_CONTROL_ERROR, 1 },
	{ "6.9.1 more DATA than the window", more_than_the_window, REASON_ALLOW, NONE, NGHTTP2_FLOW_CONTROL_ERROR, 1 },
	{ "6.10 CONTINUATION alone", continuation_alone, REASON_H2_PROTOCOL, NGHTTP2_PROTOCOL_ERROR, NONE, 0 },
	{ "6.10 of another stream", continuation_of_another, REASON_H2_PROTOCOL, NGHTTP2_PROTOCOL_ERROR, NONE, 0 },
	{ "6.10 another frame between", frame_between_continuations, REASON_H2_PROTOCOL, NGHTTP2_PROTOCOL_ERROR, NONE, 0 },
	{ "6.10 honest", continuations_honest, REASON_ALLOW, NONE, NONE, 1 },
	/* clang-format on */
};

static void
h2_server_takes_each_frame(void **state)
{
	(void)state;
	h2_bed_check(rows, COUNT_OF(rows), H2_BED_SERVER);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(h2_server_takes_each_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
