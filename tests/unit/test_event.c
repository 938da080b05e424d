/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "audit/event.h"

static void
event_comes_back_from_its_encoding(void **state UNUSED)
{
	static uint8_t bytes[EVENT_SIZE_MAX];
	struct event e, back;
	size_t n;

	event_init(&e, EVENT_REQUEST_END);
	event_text(&e, FIELD_SANDBOX, SLICE("s\0\xff"));
	event_number(&e, FIELD_PORT, UINT64_MAX);
	event_bool(&e, FIELD_UPGRADE, true);
	event_bool(&e, FIELD_RANGE, false);
	event_str(&e, FIELD_METHOD, "");
	n = event_encode(&e, bytes, sizeof(bytes));
	assert_true(event_decode(slice_of(bytes, n), &back));
	assert_int_equal(back.kind, EVENT_REQUEST_END);
	assert_true(back.set == e.set);
	assert_true(
	    slice_eq(event_text_of(&back, FIELD_SANDBOX), SLICE("s\0\xff")));
	assert_true(event_number_of(&back, FIELD_PORT) == UINT64_MAX);
	assert_int_equal(event_number_of(&back, FIELD_UPGRADE), 1);
	assert_true(event_has(&back, FIELD_RANGE));
	assert_true(event_has(&back, FIELD_METHOD));
	assert_false(event_has(&back, FIELD_PATH));
	/* No prefix of it is one, but at the border of a field. */
	for (size_t i = 0; i < n; i++) {
		struct event part;
		if (event_decode(slice_of(bytes, i), &part))
			assert_true(part.set != e.set);
	}
}

static void
event_encode_takes_the_longest_texts_everywhere(void **state UNUSED)
{
	static uint8_t bytes[EVENT_SIZE_MAX], text[100000];
	struct event e, back;

	memset(text, 'a', sizeof(text));
	event_init(&e, EVENT_ALARM);
	for (int i = 0; i < FIELD_COUNT; i++) {
		enum event_field f = (enum event_field)i;
		if (event_field_is_text(f))
			event_text(&e, f, slice_of(text, sizeof(text)));
		else if (event_field_is_bool(f))
			event_bool(&e, f, true);
		else
			event_number(&e, f, UINT64_MAX);
	}
	size_t n = event_encode(&e, bytes, sizeof(bytes));
	assert_true(n > 0);
	assert_true(event_decode(slice_of(bytes, n), &back));
	assert_true(back.set == e.set);
}

/* DN-05: an allowed page is not "blocked" since a browser asked for more. */
static void
event_is_denial_passes_over_what_nobody_misses(void **state UNUSED)
{
	struct event e;

	event_init(&e, EVENT_DNS);
	event_str(&e, FIELD_VERDICT, "deny");
	event_reason(&e, REASON_DNS_QTYPE);
	event_number(&e, FIELD_QTYPE, 65);
	assert_false(event_is_denial(&e));
	event_number(&e, FIELD_QTYPE, 16);
	assert_true(event_is_denial(&e));
	event_number(&e, FIELD_QTYPE, 65);
	event_reason(&e, REASON_DNS_DENIED);
	assert_true(event_is_denial(&e));
	event_reason(&e, REASON_CLIENT_ABORT);
	assert_false(event_is_denial(&e));
}

/* LG-03 */
static void
event_encode_cuts_a_long_text_with_length_and_digest(void **state UNUSED)
{
	static uint8_t bytes[EVENT_SIZE_MAX], text[2000];
	struct event e, back;
	char tail[] =
	    "...(2000 bytes, sha256:"
	    "c4a700f85b7e9e5cdbdc51170409ee2ad48bebe2f2f0957a067937531a0a3c42)";
	struct slice got;

	memset(text, 'a', sizeof(text));
	event_init(&e, EVENT_ALARM);
	event_text(&e, FIELD_DETAIL, slice_of(text, sizeof(text)));
	size_t n = event_encode(&e, bytes, sizeof(bytes));
	assert_true(event_decode(slice_of(bytes, n), &back));
	got = event_text_of(&back, FIELD_DETAIL);
	assert_int_equal(got.n, EVENT_TEXT_MAX);
	size_t at = got.n - (sizeof(tail) - 1);
	assert_memory_equal(got.p, text, at);
	assert_memory_equal(got.p + at, tail, sizeof(tail) - 1);
	/* A text of exactly the ceiling stays. */
	event_text(&e, FIELD_DETAIL, slice_of(text, EVENT_TEXT_MAX));
	n = event_encode(&e, bytes, sizeof(bytes));
	assert_true(event_decode(slice_of(bytes, n), &back));
	assert_true(slice_eq(event_text_of(&back, FIELD_DETAIL),
	    slice_of(text, EVENT_TEXT_MAX)));
}

static void
event_decode_refuses_what_no_encoder_writes(void **state UNUSED)
{
	struct {
		const char *name;
		struct slice in;
	} rows[] = {
		{ "empty", SLICE("") },
		{ "unknown kind", SLICE("\xff") },
		{ "unknown field", SLICE("\x00\xf0\x00\x00") },
		{ "field twice", SLICE("\x00\x00\x00\x00\x00\x00\x00") },
		{ "fields out of order",
		    SLICE("\x00\x01\x00\x00\x00\x00\x00") },
		{ "text cut", SLICE("\x00\x00\x00\x02g") },
		{ "number cut", SLICE("\x00\x03\x00\x00\x00\x00\x00\x00\x00") },
	};
	struct event e;

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		print_message("# %s\n", rows[i].name);
		assert_false(event_decode(rows[i].in, &e));
	}
	/* A boolean is 0 or 1; a text has its ceiling. */
	uint8_t flag[3] = { EVENT_ALARM, FIELD_UPGRADE, 2 };
	assert_false(event_decode(slice_of(flag, 3), &e));
	flag[2] = 1;
	assert_true(event_decode(slice_of(flag, 3), &e));
	uint8_t text[4 + EVENT_TEXT_MAX + 1] = { EVENT_ALARM, FIELD_HOST,
		(EVENT_TEXT_MAX + 1) >> 8, (EVENT_TEXT_MAX + 1) & 255 };
	assert_false(event_decode(slice_of(text, sizeof(text)), &e));
}

static void
event_names_and_keys_are_found_again(void **state UNUSED)
{
	for (int k = 0; k < EVENT_COUNT; k++)
		assert_int_equal(event_find(slice_of_str(
				     event_name((enum event_kind)k))),
		    k);
	for (int f = 0; f < FIELD_COUNT; f++)
		assert_int_equal(event_field_find(slice_of_str(
				     event_field_key((enum event_field)f))),
		    f);
	assert_int_equal(event_find(SLICE("stopped")), EVENT_COUNT);
	assert_int_equal(event_field_find(SLICE("seq")), FIELD_COUNT);
	assert_string_equal(event_name(EVENT_COUNT), "unknown");
}

static void
decided(struct event *e, const char *verdict, const char *reason)
{
	event_init(e, EVENT_DNS);
	event_str(e, FIELD_SANDBOX, "s");
	event_str(e, FIELD_VERDICT, verdict);
	event_str(e, FIELD_REASON, reason);
}

static void
event_check_says_what_is_missing_or_contradicts(void **state UNUSED)
{
	enum event_field f;
	struct event e;

	decided(&e, "deny", "dns.denied");
	assert_null(event_check(&e, &f));
	event_init(&e, EVENT_DNS);
	assert_string_equal(event_check(&e, &f), "a field is missing");
	assert_int_equal(f, FIELD_SANDBOX);
	decided(&e, "deny", "because");
	assert_string_equal(event_check(&e, &f), "reason is not of the list");
	decided(&e, "deny", "allow");
	assert_string_equal(event_check(&e, &f),
	    "verdict and reason contradict each other");
	decided(&e, "allow", "dns.denied");
	assert_non_null(event_check(&e, &f));
	decided(&e, "perhaps", "dns.denied");
	assert_string_equal(event_check(&e, &f),
	    "verdict is neither allow nor deny nor report");
	decided(&e, "deny", "dns.denied");
	event_str(&e, FIELD_FAULT, "none");
	assert_string_equal(event_check(&e, &f), "fault is not of the list");
	decided(&e, "deny", "dns.denied");
	event_str(&e, FIELD_FACTS_KIND, "name");
	assert_string_equal(event_check(&e, &f), "facts without program");
	assert_int_equal(f, FIELD_PROGRAM);
	event_init(&e, EVENT_STOP);
	event_str(&e, FIELD_FACTS_KIND, "name");
	assert_string_equal(event_check(&e, &f), "facts without verdict");
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(event_comes_back_from_its_encoding),
		cmocka_unit_test(
		    event_encode_takes_the_longest_texts_everywhere),
		cmocka_unit_test(
		    event_encode_cuts_a_long_text_with_length_and_digest),
		cmocka_unit_test(event_decode_refuses_what_no_encoder_writes),
		cmocka_unit_test(event_names_and_keys_are_found_again),
		cmocka_unit_test(
		    event_is_denial_passes_over_what_nobody_misses),
		cmocka_unit_test(
		    event_check_says_what_is_missing_or_contradicts),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
