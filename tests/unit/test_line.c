/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "audit/line.h"

#define HASH "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define WALL_US 1764493687123456ULL /* 2025-11-30T09:08:07.123456Z */

static void
write_line(struct buf *b, const struct event *e)
{
	buf_clear(b);
	line_put(b, 1042, WALL_US, e);
	line_put_hash(b, HASH);
	assert_false(b->failed);
}

/* Without its LF. */
static bool
read_line(struct buf *b, struct buf *store, struct line *l)
{
	const char *detail;

	return line_read(slice_first(buf_slice(b), b->n - 1), store, l,
	    &detail);
}

static void
line_has_fields_in_their_order(void **state UNUSED)
{
	struct buf b;
	struct event e;

	buf_init(&b, LINE_SIZE_MAX);
	event_init(&e, EVENT_REQUEST_END);
	event_number(&e, FIELD_PORT, 443);
	event_str(&e, FIELD_METHOD, "DELETE");
	event_bool(&e, FIELD_UPGRADE, false);
	event_bool(&e, FIELD_RANGE, true);
	event_str(&e, FIELD_SANDBOX, "build-42");
	write_line(&b, &e);
	assert_string_equal(buf_text(&b),
	    "{\"seq\":1042,\"time\":\"2025-11-30T09:08:07.123456Z\","
	    "\"event\":\"request.end\",\"sandbox\":\"build-42\","
	    "\"server.port\":443,\"http.request.method\":\"DELETE\","
	    "\"duenna.upgrade\":false,\"duenna.range\":true,"
	    "\"hash\":\"" HASH "\"}\n");
	buf_release(&b);
}

/* LG-01, LG-02: in every text field, whatever a peer chose. */
static void
line_is_one_printable_line_whatever_the_texts(void **state UNUSED)
{
	static uint8_t all[256];
	const struct slice evil[] = {
		slice_of(all, sizeof(all)),
		SLICE("\r\n{\"seq\":1043,\"event\":\"stop\",\"hash\":\"" HASH
		      "\"}\n"),
		SLICE("\",\"verdict\":\"allow\",\"x\":\""),
		SLICE("\x1b]0;title\x07\x1b[2J\xff\xfe"),
	};
	struct buf b, store;
	struct line l;

	for (size_t i = 0; i < sizeof(all); i++)
		all[i] = (uint8_t)i;
	buf_init(&b, LINE_SIZE_MAX);
	buf_init(&store, LINE_SIZE_MAX + 1);
	for (size_t i = 0; i < COUNT_OF(evil); i++) {
		struct event e;
		event_init(&e, EVENT_ALARM);
		for (int f = 0; f < FIELD_COUNT; f++)
			if (event_field_is_text((enum event_field)f))
				event_text(&e, (enum event_field)f, evil[i]);
		write_line(&b, &e);
		for (size_t k = 0; k + 1 < b.n; k++)
			assert_true(b.p[k] >= 0x20 && b.p[k] < 0x7f);
		assert_int_equal(b.p[b.n - 1], '\n');
		assert_true(read_line(&b, &store, &l));
		assert_true(l.event.set == e.set);
		for (int f = 0; f < FIELD_COUNT; f++)
			if (event_field_is_text((enum event_field)f))
				assert_true(slice_eq(l.event.text[f], evil[i]));
	}
	buf_release(&b);
	buf_release(&store);
}

static void
line_comes_back_with_number_time_and_hash(void **state UNUSED)
{
	struct buf b, store;
	struct event e;
	struct line l;

	buf_init(&b, LINE_SIZE_MAX);
	buf_init(&store, LINE_SIZE_MAX + 1);
	event_init(&e, EVENT_GAP);
	event_number(&e, FIELD_COUNTED, UINT64_MAX);
	write_line(&b, &e);
	assert_true(read_line(&b, &store, &l));
	assert_int_equal(l.seq, 1042);
	assert_true(l.wall_us == WALL_US);
	assert_int_equal(l.event.kind, EVENT_GAP);
	assert_true(l.event.number[FIELD_COUNTED] == UINT64_MAX);
	assert_true(slice_eq_str(l.hash, HASH));
	assert_int_equal(l.covered.n, b.n - 1 - 64 - 11);
	buf_release(&b);
	buf_release(&store);
}

static void
the_longest_event_fits_into_a_line(void **state UNUSED)
{
	static uint8_t text[LIMIT_TARGET_SIZE];
	struct buf b, store;
	struct event e;
	struct line l;

	memset(text, 0xff, sizeof(text));
	event_init(&e, EVENT_ALARM);
	for (int i = 0; i < FIELD_COUNT; i++) {
		enum event_field f = (enum event_field)i;
		if (event_field_is_text(f))
			event_text(&e, f, slice_of(text, event_field_max(f)));
		else if (event_field_is_bool(f))
			event_bool(&e, f, false);
		else
			event_number(&e, f, UINT64_MAX);
	}
	buf_init(&b, LINE_SIZE_MAX);
	buf_init(&store, LINE_SIZE_MAX + 1);
	write_line(&b, &e);
	assert_true(read_line(&b, &store, &l));
	buf_release(&b);
	buf_release(&store);
}

#define HEAD "{\"seq\":1,\"time\":\"2025-11-30T09:08:07.123456Z\",\"event\":"
#define TAIL ",\"hash\":\"" HASH "\"}"

static void
line_read_takes_only_what_duenna_writes(void **state UNUSED)
{
	static const struct {
		const char *in, *detail;
	} rows[] = {
		{ HEAD "\"stop\"" TAIL, NULL },
		{ HEAD "\"stop\",\"server.port\":0" TAIL, NULL },
		{ "", "sequence number, time and event come first" },
		{ "{}", "sequence number, time and event come first" },
		{ HEAD "\"halt\"" TAIL,
		    "sequence number, time and event come first" },
		{ "{\"seq\":1,\"time\":\"2025-13-30T09:08:07.123456Z\","
		  "\"event\":\"stop\"" TAIL,
		    "sequence number, time and event come first" },
		{ "{\"seq\":01,\"time\":\"2025-11-30T09:08:07.123456Z\","
		  "\"event\":\"stop\"" TAIL,
		    "not as duenna writes it" },
		{ "{\"seq\":18446744073709551616,"
		  "\"time\":\"2025-11-30T09:08:07.123456Z\","
		  "\"event\":\"stop\"" TAIL,
		    "sequence number, time and event come first" },
		{ HEAD "\"stop\",\"colour\":1" TAIL, "unknown key" },
		{ HEAD "\"stop\",\"server.port\":\"1\"" TAIL,
		    "value is not of its field's type" },
		{ HEAD "\"stop\",\"server.port\":1e3" TAIL, "unknown key" },
		{ HEAD "\"stop\",\"duenna.range\":1" TAIL,
		    "value is not of its field's type" },
		{ HEAD "\"stop\",\"sandbox\":\"a\\nb\"" TAIL,
		    "value is not of its field's type" },
		{ HEAD "\"stop\",\"sandbox\":\"\\u0041\"" TAIL,
		    "not as duenna writes it" },
		{ HEAD "\"stop\",\"policy\":\"p\",\"sandbox\":\"s\"" TAIL,
		    "not as duenna writes it" },
		{ HEAD "\"stop\",\"policy\":\"p\",\"policy\":\"p\"" TAIL,
		    "not as duenna writes it" },
		{ HEAD "\"stop\" ,\"server.port\":1" TAIL, "unknown key" },
		{ HEAD "\"stop\",\"hash\":\"12\"}",
		    "hash is not 64 digits at the end" },
		{ HEAD "\"stop\"" TAIL " ",
		    "hash is not 64 digits at the end" },
		{ HEAD "\"stop\"}", "unknown key" },
	};
	struct buf store;
	struct line l;

	buf_init(&store, LINE_SIZE_MAX + 1);
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		const char *detail = NULL;
		bool good =
		    line_read(slice_of_str(rows[i].in), &store, &l, &detail);
		print_message("# %s\n", rows[i].in);
		assert_int_equal(good, rows[i].detail == NULL);
		if (rows[i].detail != NULL)
			assert_string_equal(detail, rows[i].detail);
	}
	buf_release(&store);
}

static void
line_read_refuses_one_that_is_too_long(void **state UNUSED)
{
	static uint8_t text[LINE_SIZE_MAX];
	const char *detail;
	struct buf store;
	struct line l;

	buf_init(&store, LINE_SIZE_MAX + 1);
	assert_false(
	    line_read(slice_of(text, sizeof(text)), &store, &l, &detail));
	assert_string_equal(detail, "line is too long");
	buf_release(&store);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(line_has_fields_in_their_order),
		cmocka_unit_test(line_is_one_printable_line_whatever_the_texts),
		cmocka_unit_test(line_comes_back_with_number_time_and_hash),
		cmocka_unit_test(the_longest_event_fits_into_a_line),
		cmocka_unit_test(line_read_takes_only_what_duenna_writes),
		cmocka_unit_test(line_read_refuses_one_that_is_too_long),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
