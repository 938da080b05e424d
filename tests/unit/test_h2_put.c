/* SPDX-License-Identifier: Apache-2.0 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "h2_bed.h"

#define BOTH             \
	struct h2_bed b; \
	h2_bed_init(&b, H2_BED_BOTH)

static void
ignore_news(struct h2_conn *c UNUSED, void *arg UNUSED)
{
}

static const struct h2_conn_ops no_ops = { .on_news = ignore_news };

/* How often `needle` stands in the heap. */
static size_t
count_in_heap(struct slice needle)
{
	FILE *f = fopen("/proc/self/maps", "r");
	uintptr_t from = 0, to = 0;
	char line[512];
	size_t n = 0;

	assert_non_null(f);
	while (fgets(line, sizeof(line), f) != NULL) {
		char *end;
		if (strstr(line, "[heap]") == NULL)
			continue;
		from = strtoull(line, &end, 16);
		to = strtoull(end + 1, NULL, 16);
	}
	fclose(f);
	while (from < to) {
		const uint8_t *p =
		    memmem((const void *)from, to - from, needle.p, needle.n);
		if (p == NULL)
			break;
		n++;
		from = (uintptr_t)p + 1;
	}
	return n;
}

/* A sanitizer's allocator has none of that name: then there is nothing to see,
 * and it says so (cmocka's own skip is a failure to who reads its TAP). */
static bool
has_heap(void)
{
	uint8_t *p = malloc(16);

	assert_non_null(p);
	memcpy(p, "\1heap\2seen\3here", 16);
	bool seen = count_in_heap(slice_of(p, 16)) != 0;
	free(p);
	if (!seen)
		print_message("# skipped: no heap of malloc's\n");
	return seen;
}

/* CR-33: never indexed, so in no table, and in no memory once it has left. */
static void
h2_credential_is_never_indexed_and_wiped(void **state)
{
	(void)state;
	static const struct host host = { .text = "ok.test", .n = 7 };
	static const char secret[] = "Bearer canary-0123456789-canary";
	static uint8_t huffman[64];
	struct field slot = { .name = SLICE("Authorization"),
		.value = slice_of_str(secret) };
	struct field_list fields = { .n = 0 };
	struct http_new_request r = {
		.method = SLICE("GET"),
		.path = SLICE("/"),
		.host = &host,
		.fields = &fields,
		.credentials = &slot,
		.n_credentials = 1,
	};
	enum err err;
	struct h2_bed b;

	if (!has_heap())
		return;
	h2_bed_init(&b, H2_BED_CLIENT);
	h2_bed_turn(&b);
	h2_put_hello(&b.to_client.bytes, false);
	h2_bed_turn(&b);
	for (int i = 0; i < 2; i++) {
		b.to_server.bytes.n = 0;
		struct stream *s = h2_open(b.client.c, &err);
		assert_non_null(s);
		assert_true(h2_put_request(s, &r, true));
		b.client.s[b.client.n++] = s;
		h2_bed_turn(&b);
		struct h2_frame f = h2_last_frame(buf_slice(&b.to_server.bytes),
		    NGHTTP2_HEADERS, 0);
		/* Name 23 of the static table, never indexed: RFC 7541 6.2.3;
		 * the second time too, since it is in no table. */
		static const uint8_t want[] = { 0x1f, 23 - 15 };
		const uint8_t *p = memmem(f.payload.p, f.payload.n, want, 2);
		assert_non_null(p);
		assert_true((p[2] & 0x80) != 0 && (p[2] & 0x7f) < 64);
		struct slice coded = slice_of(huffman, p[2] & 0x7f);
		memcpy(huffman, p + 3, coded.n);
		assert_int_equal(count_in_heap(coded), 1); /* the peer's */
		explicit_bzero(b.to_server.bytes.p, b.to_server.bytes.n);
		assert_int_equal(count_in_heap(coded), 0);
		assert_int_equal(count_in_heap(slice_of_str(secret)), 0);
	}
	h2_bed_release(&b);
}

/* An idle connection costs this, and one page of the buffer that is mapped. */
static void
h2_idle_connection_is_small(void **state)
{
	(void)state;
	struct h2_bed b;

	if (!has_heap())
		return;
	h2_bed_init(&b, H2_BED_CLIENT);
	h2_bed_turn(&b);
	size_t before = mallinfo2().uordblks;
	enum err err;
	struct h2_conn *c =
	    h2_accept(b.loop, h2_bed_end(&b), &no_ops, NULL, &err);
	assert_non_null(c);
	h2_bed_turn(&b);
	size_t after = mallinfo2().uordblks;
	assert_true(after > before && after - before < 14000);
	h2_close(c);
	h2_bed_release(&b);
}

static void
h2_extended_connect_is_offered_on_demand(void **state)
{
	(void)state;
	for (int offered = 0; offered < 2; offered++) {
		BOTH;
		if (offered)
			h2_offer_connect(b.server.c);
		assert_false(h2_may_connect(b.client.c)); /* not known yet */
		h2_bed_turn(&b);
		assert_int_equal(h2_may_connect(b.client.c), offered);
		h2_bed_release(&b);
	}
}

/* RFC 8441: a stream of bytes each way, without an end but the streams'. */
static void
h2_extended_connect_carries_bytes(void **state)
{
	(void)state;
	static const struct host host = { .text = "ok.test", .n = 7 };
	struct field_list fields = { .n = 0 };
	struct http_new_request r = {
		.method = SLICE("CONNECT"),
		.protocol = SLICE("websocket"),
		.path = SLICE("/chat"),
		.host = &host,
		.fields = &fields,
		.body = HTTP_BODY_OPEN,
	};
	struct http_request req = { 0 };
	struct parse_fail fail;
	struct buf head;
	enum err err;
	BOTH;

	h2_offer_connect(b.server.c);
	h2_bed_turn(&b);
	assert_true(h2_may_connect(b.client.c));
	struct stream *up = h2_open(b.client.c, &err);
	assert_non_null(up);
	b.client.s[b.client.n++] = up;
	assert_true(h2_put_request(up, &r, false));
	h2_bed_turn(&b);
	struct stream *s = b.server.s[0];
	buf_init(&head, LIMIT_HEAD_SIZE);
	assert_int_equal(h2_read_request(s, &req, &head, &fail), PARSE_DONE);
	assert_true(req.has_upgrade);
	assert_slice(req.protocol, SLICE("websocket"));
	assert_slice(req.raw_target, SLICE("/chat"));
	h2_bed_answer(s, 200, false);
	assert_true(stream_put(s, SLICE("ping")));
	h2_bed_turn(&b);
	assert_int_equal(h2_bed_status(up), 200);
	assert_slice(stream_peek(up), SLICE("ping"));
	assert_true(stream_put(up, SLICE("pong")));
	h2_bed_turn(&b);
	assert_slice(stream_peek(s), SLICE("pong"));
	buf_release(&head);
	h2_bed_release(&b);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(h2_credential_is_never_indexed_and_wiped),
		cmocka_unit_test(h2_idle_connection_is_small),
		cmocka_unit_test(h2_extended_connect_is_offered_on_demand),
		cmocka_unit_test(h2_extended_connect_carries_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
