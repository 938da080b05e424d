/* SPDX-License-Identifier: Apache-2.0 */
#include "row.h"
#include "wire/field.h"

static const struct {
	const char *name;
	struct slice in;
	enum parse want;
	struct slice field, value;
	const char *detail;
	size_t at;
} cases[] = {
	{ "plain", IN("Accept: */*\r\nX"), PARSE_DONE, IN("Accept"),
	    IN("*/*") },
	{ "no blank", IN("a:b\r\n"), PARSE_DONE, IN("a"), IN("b") },
	{ "empty value", IN("a:\r\n"), PARSE_DONE, IN("a"), IN("") },
	{ "blanks alone", IN("a: \t \r\n"), PARSE_DONE, IN("a"), IN("") },
	{ "blanks round it", IN("a:\t b c \r\n"), PARSE_DONE, IN("a"),
	    IN("b c") },
	{ "SM-20 tab inside", IN("a: b\tc\r\n"), PARSE_DONE, IN("a"),
	    IN("b\tc") },
	{ "high bytes", IN("a: \xc3\xa4\xff\r\n"), PARSE_DONE, IN("a"),
	    IN("\xc3\xa4\xff") },
	{ "every token character", IN("!#$%&'*+-.^_`|~09azAZ: x\r\n"),
	    PARSE_DONE, IN("!#$%&'*+-.^_`|~09azAZ"), IN("x") },
	{ "nothing", IN(""), PARSE_MORE },
	{ "half a name", IN("Acc"), PARSE_MORE },
	{ "half a value", IN("a: b"), PARSE_MORE },
	{ "half a line end", IN("a: b\r"), PARSE_MORE },
	{ "SM-17 no colon", IN("abc\r\n"), PARSE_BAD,
	    .detail = "line without a colon", .at = 3 },
	{ "empty line", IN("\r\n"), PARSE_BAD, .detail = "line without a colon",
	    .at = 0 },
	{ "SM-17 empty name", IN(": x\r\n"), PARSE_BAD,
	    .detail = "empty field name", .at = 0 },
	{ "SM-17 separator", IN("a(b): x\r\n"), PARSE_BAD,
	    .detail = "byte that no field name has", .at = 1 },
	{ "SM-17 NUL", IN("a\0b: x\r\n"), PARSE_BAD,
	    .detail = "byte that no field name has", .at = 1 },
	{ "SM-17 high byte", IN("\xe4: x\r\n"), PARSE_BAD,
	    .detail = "byte that no field name has", .at = 0 },
	{ "SM-18 blank before the colon", IN("a : x\r\n"), PARSE_BAD,
	    .detail = "blank in or behind a field name", .at = 1 },
	{ "tab before the colon", IN("a\t: x\r\n"), PARSE_BAD,
	    .detail = "blank in or behind a field name", .at = 1 },
	{ "SM-19 folded", IN(" x\r\n"), PARSE_BAD, .detail = "folded line",
	    .at = 0 },
	{ "folded with a tab", IN("\tx\r\n"), PARSE_BAD,
	    .detail = "folded line", .at = 0 },
	{ "SM-16 bare LF", IN("a: b\nc"), PARSE_BAD, .detail = "bare LF",
	    .at = 4 },
	{ "SM-20 bare CR", IN("a: b\rc\r\n"), PARSE_BAD, .detail = "bare CR",
	    .at = 4 },
	{ "SM-20 NUL", IN("a: b\0c\r\n"), PARSE_BAD,
	    .detail = "control in a field value", .at = 4 },
	{ "SM-20 DEL", IN("a: \x7f\r\n"), PARSE_BAD,
	    .detail = "control in a field value", .at = 3 },
};

static enum parse
take(struct slice in, struct field *f, size_t *used, struct parse_fail *fail)
{
	struct slice copy = exact(in);
	enum parse answer = field_take(copy, f, used, fail);

	/* The slices outlive the copy: let them point into the original. */
	if (answer == PARSE_DONE) {
		f->name.p = in.p + (f->name.p - copy.p);
		f->value.p = in.p + (f->value.p - copy.p);
	}
	drop(copy);
	return answer;
}

static void
field_takes_each_case(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct parse_fail fail = { 0 };
		struct field f = { 0 };
		size_t used = 0;

		print_message("# %s\n", cases[i].name);
		assert_int_equal(take(cases[i].in, &f, &used, &fail),
		    cases[i].want);
		assert_slice(f.name, cases[i].field);
		assert_slice(f.value, cases[i].value);
		if (cases[i].want != PARSE_BAD)
			continue;
		assert_string_equal(fail.detail, cases[i].detail);
		assert_int_equal(fail.at, cases[i].at);
		assert_int_equal(fail.reason, REASON_HTTP_MALFORMED);
	}
}

static void
field_prefix_is_never_worse(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct parse_fail fail;
		struct field f;
		size_t used, end = cases[i].in.n;

		if (take(cases[i].in, &f, &used, &fail) == PARSE_DONE)
			end = used;
		for (size_t n = 0; n < end; n++) {
			enum parse got =
			    take(slice_first(cases[i].in, n), &f, &used, &fail);
			assert_int_not_equal(got, PARSE_DONE);
			if (cases[i].want == PARSE_DONE)
				assert_int_equal(got, PARSE_MORE);
		}
	}
}

/* SM-17 and SM-20: every byte in a name and in a value. */
static void
field_judges_every_byte(void **state)
{
	(void)state;
	for (unsigned c = 0; c < 256; c++) {
		uint8_t name[] = "a?b: x\r\n", value[] = "a: b?c\r\n";
		struct parse_fail fail;
		struct field f;
		size_t used;

		name[1] = (uint8_t)c;
		value[4] = (uint8_t)c;
		assert_int_equal(field_take(slice_of(name, 8), &f, &used,
				     &fail) == PARSE_DONE,
		    field_is_token_char((uint8_t)c) || c == ':');
		assert_int_equal(field_take(slice_of(value, 8), &f, &used,
				     &fail) == PARSE_DONE,
		    c == '\t' || (c >= ' ' && c != 0x7f));
	}
}

static void
field_class_knows_its_names(void **state)
{
	static const struct {
		struct slice name;
		unsigned bits;
	} rows[] = {
		{ IN("Connection"), FIELD_IS_HOP },
		{ IN("KEEP-ALIVE"), FIELD_IS_HOP },
		{ IN("te"), FIELD_IS_HOP },
		{ IN("Proxy-Connection"), FIELD_IS_PROXY },
		{ IN("Proxy-Authorization"), FIELD_IS_PROXY | FIELD_IS_SINGLE },
		{ IN("Forwarded"), FIELD_IS_FORWARDED },
		{ IN("X-Forwarded-For"), FIELD_IS_FORWARDED },
		{ IN("x_forwarded_host"), FIELD_IS_FORWARDED },
		{ IN("X-Original-URL"), FIELD_IS_FORWARDED },
		{ IN("X-HTTP-Method-Override"), FIELD_IS_OVERRIDE },
		{ IN("Alt-Svc"), FIELD_IS_ALT_SVC },
		{ IN("Content-Length"),
		    FIELD_IS_FRAMING | FIELD_IS_SINGLE |
			FIELD_IS_SINGLE_ANSWER },
		{ IN("Host"), FIELD_IS_HOST | FIELD_IS_SINGLE },
		{ IN("Authorization"), FIELD_IS_SINGLE },
		{ IN("X_Remote_IP"), FIELD_IS_FORWARDED }, /* not first of 11 */
		{ IN("From"), FIELD_IS_SINGLE },	   /* the last row */
		{ IN("X-Other-IPs"), 0 },
		{ IN("X-Forwarded"), 0 },
		{ IN("Proxy"), 0 },
		{ IN("Connections"), 0 },
		{ IN("Set-Cookie"), 0 },
		{ IN(""), 0 },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++)
		assert_int_equal(field_class(rows[i].name), rows[i].bits);
	assert_true(field_class(SLICE("Trailer")) & FIELD_NOT_UPSTREAM);
	assert_true(field_class(SLICE("Alt-Svc")) & FIELD_NOT_TO_CLIENT);
	assert_false(field_class(SLICE("Forwarded")) & FIELD_NOT_TO_CLIENT);
}

static void
field_knows_what_may_trail(void **state)
{
	static const char *const neither[] = { "Host", "Content-Length",
		"transfer_encoding", "TE", "Trailer", "Connection", "Upgrade",
		"Proxy-Foo", "X-Forwarded-For", "X-HTTP-Method", "Alt-Svc",
		"Authorization", "Cookie", "set_cookie", "WWW-Authenticate",
		"Content-Encoding", "Content-Location", "Content-Type",
		"Content-Range", "If-Match", "if_none_match", "Cache-Control",
		"Pragma", "Age", "Expires", "Date", "Location", "Retry-After",
		"Vary", "Warning" };
	static const char *const both[] = { "X-A", "Grpc-Status", "ETag",
		"Server-Timing", "Content-Digest", "If", "Dates", "" };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(neither); i++) {
		print_message("# %s\n", neither[i]);
		assert_false(field_may_trail(slice_of_str(neither[i]), false));
		assert_false(field_may_trail(slice_of_str(neither[i]), true));
	}
	for (size_t i = 0; i < COUNT_OF(both); i++) {
		assert_true(field_may_trail(slice_of_str(both[i]), false));
		assert_true(field_may_trail(slice_of_str(both[i]), true));
	}
	assert_false(field_may_trail(SLICE("User-Agent"), false));
}

static void
field_takes_what_is_announced(void **state)
{
	struct field_list list = { 0 };
	struct field_walk walk = { 0 };
	struct slice name;

	(void)state;
	assert_false(field_take_announced(&list, &walk, false, &name));
	assert_true(field_add(&list, SLICE("Trailer"), SLICE("Host,a")));
	assert_true(field_add(&list, SLICE("X"), SLICE("c")));
	assert_true(field_add(&list, SLICE("TRAILER"), SLICE(" , b c,d")));
	walk = (struct field_walk){ 0 };
	assert_true(field_take_announced(&list, &walk, false, &name));
	assert_slice(name, SLICE("a"));
	assert_true(field_take_announced(&list, &walk, false, &name));
	assert_slice(name, SLICE("d"));
	assert_false(field_take_announced(&list, &walk, false, &name));
	/* What Connection names is not for the next hop. */
	assert_true(field_add(&list, SLICE("Connection"), SLICE("trailer")));
	walk = (struct field_walk){ 0 };
	assert_false(field_take_announced(&list, &walk, false, &name));
	assert_false(field_wants_trailers(&list));
	assert_true(field_add(&list, SLICE("te"), SLICE("a, Trailers")));
	assert_true(field_wants_trailers(&list));
}

static void
field_list_has_a_ceiling(void **state)
{
	struct field_list list = { 0 };

	(void)state;
	for (size_t i = 0; i < FIELD_MAX; i++)
		assert_true(field_add(&list, i % 2 ? SLICE("a") : SLICE("B"),
		    SLICE("x")));
	assert_false(field_add(&list, SLICE("c"), SLICE("x")));
	assert_int_equal(field_count(&list, SLICE("b")), FIELD_MAX / 2);
	assert_ptr_equal(field_find(&list, SLICE("A")), &list.at[1]);
	assert_null(field_find(&list, SLICE("c")));
	assert_int_equal(field_remove(&list, SLICE("b")), FIELD_MAX / 2);
	assert_int_equal(list.n, FIELD_MAX / 2);
	assert_int_equal(field_count(&list, SLICE("A")), FIELD_MAX / 2);
	assert_int_equal(field_remove(&list, SLICE("b")), 0);
}

static void
field_elements_are_trimmed(void **state)
{
	struct slice rest = SLICE(" , a,\tb c ,,d"), e;
	struct field_list list = { 0 };

	(void)state;
	assert_true(field_take_element(&rest, &e));
	assert_slice(e, SLICE("a"));
	assert_true(field_take_element(&rest, &e));
	assert_slice(e, SLICE("b c"));
	assert_true(field_take_element(&rest, &e));
	assert_slice(e, SLICE("d"));
	assert_false(field_take_element(&rest, &e));

	assert_true(field_add(&list, SLICE("Accept"), SLICE("x")));
	assert_true(field_add(&list, SLICE("connection"), SLICE("close, X-A")));
	assert_true(field_add(&list, SLICE("Connection"), SLICE("x-b")));
	assert_true(field_is_named(&list, SLICE("Close")));
	assert_true(field_is_named(&list, SLICE("x-a")));
	assert_true(field_is_named(&list, SLICE("X-B")));
	assert_false(field_is_named(&list, SLICE("x")));
}

static void
field_list_loses_what_connection_names(void **state)
{
	struct field_list list = { 0 };

	(void)state;
	assert_true(field_add(&list, SLICE("X-B"), SLICE("1")));
	assert_true(field_add(&list, SLICE("Connection"), SLICE("x-a, close")));
	assert_true(field_add(&list, SLICE("X-A"), SLICE("2")));
	assert_true(field_add(&list, SLICE("Accept"), SLICE("3")));
	assert_true(field_add(&list, SLICE("x-b"), SLICE("4")));
	assert_true(field_add(&list, SLICE("connection"), SLICE("X-B")));
	assert_true(field_add(&list, SLICE("X-C"), SLICE("5")));
	field_remove_named(&list);
	assert_int_equal(list.n, 2);
	assert_slice(list.at[0].value, SLICE("3"));
	assert_slice(list.at[1].value, SLICE("5"));
}

static void
field_names_are_capitalised(void **state)
{
	uint8_t out[16];

	(void)state;
	field_put_name(SLICE("x-aPI-key_b-9C"), out);
	assert_slice(slice_of(out, 14), SLICE("X-Api-Key_b-9c"));
	assert_true(field_is_token(SLICE("a-b")));
	assert_false(field_is_token(SLICE("a b")));
	assert_false(field_is_token(SLICE("")));
	assert_true(field_is_ascii(SLICE("a\t\x7f")));
	assert_false(field_is_ascii(SLICE("a\x80")));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(field_takes_each_case),
		cmocka_unit_test(field_prefix_is_never_worse),
		cmocka_unit_test(field_judges_every_byte),
		cmocka_unit_test(field_class_knows_its_names),
		cmocka_unit_test(field_knows_what_may_trail),
		cmocka_unit_test(field_takes_what_is_announced),
		cmocka_unit_test(field_list_has_a_ceiling),
		cmocka_unit_test(field_elements_are_trimmed),
		cmocka_unit_test(field_list_loses_what_connection_names),
		cmocka_unit_test(field_names_are_capitalised),
	};

	return cmocka_run_group_tests_name("field", tests, NULL, NULL);
}
