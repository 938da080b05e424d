/* SPDX-License-Identifier: Apache-2.0 */
#include "base/limits.h"
#include "row.h"
#include "wire/h1_body.h"

static struct slice section; /* of trailers, that came last */

/* Feed `in` in pieces of `step` bytes; returns the last answer. */
static enum parse
feed(struct h1_body *b, struct slice in, size_t step, struct slice *got,
    size_t *end, struct parse_fail *fail)
{
	static uint8_t text[65536], section_text[LIMIT_TRAILER_SIZE];
	size_t at = 0, n = 0, n_section = 0;
	enum parse answer = PARSE_MORE;

	*fail = (struct parse_fail){ .detail = "" };
	while (answer == PARSE_MORE && at < in.n) {
		struct slice piece =
		    exact(slice_first(slice_from(in, at), step));
		struct slice rest = piece, data;
		do {
			size_t used = 0;
			answer = h1_body_take(b, rest, &data, &used, fail);
			if (answer == PARSE_BAD)
				break;
			assert_true(used <= rest.n && data.n <= used);
			assert_true(n + data.n <= sizeof(text));
			memcpy(text + n, data.p, data.n);
			n += data.n;
			memcpy(section_text + n_section, b->section.p,
			    b->section.n);
			n_section += b->section.n;
			at += used;
			rest = slice_from(rest, used);
		} while (answer == PARSE_MORE && rest.n != 0);
		drop(piece);
	}
	*got = slice_of(text, n);
	*end = at;
	section = slice_of(section_text, n_section);
	return answer;
}

static const struct {
	const char *name;
	enum http_body kind;
	uint64_t length;
	struct slice in, want;
	enum parse answer;
	size_t rest; /* bytes behind the body */
	struct slice section;
} good[] = {
	{ "length", HTTP_BODY_LENGTH, 3, IN("abcGET"), IN("abc"), PARSE_DONE,
	    3 },
	{ "half a length", HTTP_BODY_LENGTH, 4, IN("abc"), IN("abc"),
	    PARSE_MORE },
	{ "until close", HTTP_BODY_UNTIL_CLOSE, 0, IN("abc"), IN("abc"),
	    PARSE_MORE },
	{ "chunks", HTTP_BODY_OPEN, 0,
	    IN("3\r\nabc\r\nA\r\n0123456789\r\n"
	       "0\r\n\r\nGET"),
	    IN("abc0123456789"), PARSE_DONE, 3 },
	{ "no data", HTTP_BODY_OPEN, 0, IN("0\r\n\r\n"), IN(""), PARSE_DONE },
	{ "16 digits", HTTP_BODY_OPEN, 0,
	    IN("0000000000000001\r\na\r\n000\r\n\r\n"), IN("a"), PARSE_DONE },
	{ "a huge chunk", HTTP_BODY_OPEN, 0, IN("7fFFffffffffffff\r\nabc"),
	    IN("abc"), PARSE_MORE },
	{ "SM-09 extensions dropped", HTTP_BODY_OPEN, 0,
	    IN("1;a=b;c=\"d\"\r\na\r\n0;x\r\n\r\n"), IN("a"), PARSE_DONE },
	{ "blanks behind a size", HTTP_BODY_OPEN, 0,
	    IN("1 \t \r\na\r\n0 ;x y\r\n\r\n"), IN("a"), PARSE_DONE },
	{ "SM-12 trailers", HTTP_BODY_OPEN, 0,
	    IN("1\r\na\r\n0\r\nx-a: x\r\nB:\r\n\r\nGET"), IN("a"), PARSE_DONE,
	    3, IN("x-a: x\r\nB:\r\n\r\n") },
	{ "a long trailer name", HTTP_BODY_OPEN, 0,
	    IN("0\r\nContent-Length-of-something-with-a-longer-name: 3\r\n\r\n"),
	    IN(""), PARSE_DONE, 0,
	    IN("Content-Length-of-something-with-a-longer-name: 3\r\n\r\n") },
	{ "cut before the last chunk", HTTP_BODY_OPEN, 0, IN("1\r\na\r\n"),
	    IN("a"), PARSE_MORE },
	{ "cut before the end", HTTP_BODY_OPEN, 0, IN("1\r\na\r\n0\r\n\r"),
	    IN("a"), PARSE_MORE },
};

static void
h1_body_ends_where_it_ends_at_any_cut(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(good); i++) {
		print_message("# %s\n", good[i].name);
		for (size_t step = 1; step <= good[i].in.n; step++) {
			struct h1_body b;
			struct parse_fail fail;
			struct slice got;
			size_t end;

			h1_body_init(&b, good[i].kind, good[i].length,
			    H1_CLIENT);
			assert_int_equal(feed(&b, good[i].in, step, &got, &end,
					     &fail),
			    good[i].answer);
			assert_slice(got, good[i].want);
			if (good[i].answer == PARSE_DONE)
				assert_slice(section, good[i].section);
			assert_int_equal(end, good[i].in.n - good[i].rest);
			assert_int_equal(h1_body_may_end(&b),
			    good[i].answer == PARSE_DONE ||
				good[i].kind == HTTP_BODY_UNTIL_CLOSE);
		}
	}
}

static const struct {
	const char *name;
	struct slice in;
	const char *detail;
	size_t at;
	bool malformed;	 /* else http.framing */
	bool of_request; /* an answer may have it */
} bad[] = {
	{ "SM-08 hex", IN("0x1\r\n"), "byte that no chunk size has", 1 },
	{ "SM-08 sign", IN("+1\r\n"), "chunk size is not hex", 0 },
	{ "SM-08 minus", IN("-1\r\n"), "chunk size is not hex", 0 },
	{ "SM-08 leading blank", IN(" 1\r\n"), "chunk size is not hex", 0 },
	{ "empty size", IN("\r\n"), "chunk size is not hex", 0 },
	{ "extension without a size", IN(";a\r\n"), "chunk size is not hex",
	    0 },
	{ "text behind a blank", IN("1 zz\r\n"), "byte that no chunk size has",
	    2 },
	{ "17 digits", IN("00000000000000001\r\n"), "chunk size out of range",
	    16 },
	{ "2^63", IN("8000000000000000\r\n"), "chunk size out of range", 15 },
	{ "SM-10 bare LF behind a size", IN("1\na\r\n"),
	    "byte that no chunk size has", 1 },
	{ "bare LF behind an extension", IN("1;a\na\r\n"),
	    "control in a chunk extension", 3 },
	{ "NUL in an extension", IN("1;\0\r\n"), "control in a chunk extension",
	    2 },
	{ "bare CR behind a size", IN("1\ra\r\n"),
	    "bare CR behind a chunk size", 2 },
	{ "SM-10 bare LF behind data", IN("1\r\na\n0\r\n"),
	    "no CRLF behind a chunk", 4 },
	{ "SM-11 no CRLF", IN("1\r\nab\r\n"), "no CRLF behind a chunk", 4 },
	{ "CR and no LF", IN("1\r\na\r0\r\n"), "no CRLF behind a chunk", 5 },
	{ "SM-12 length in trailers", IN("0\r\nContent-Length: 1\r\n\r\n"),
	    HTTP_NO_TRAILER, 17, true },
	{ "SM-12 coding in trailers", IN("0\r\ntransfer_encoding: x\r\n\r\n"),
	    HTTP_NO_TRAILER, 20, true },
	{ "SM-21 Host in trailers", IN("0\r\nA: b\r\nHOST: x\r\n\r\n"),
	    HTTP_NO_TRAILER, 13, true },
	{ "SM-12 credential in trailers",
	    IN("0\r\nOcp_Apim_Subscription-Key: x\r\n\r\n"), HTTP_NO_TRAILER,
	    28, true, true },
	{ "trailer without colon", IN("0\r\nab\r\n\r\n"),
	    "byte that no trailer name has", 5, true },
	{ "folded trailer", IN("0\r\na: b\r\n c\r\n\r\n"),
	    "byte that no trailer name has", 9, true },
	{ "trailer without a name", IN("0\r\n: b\r\n"),
	    "byte that no trailer name has", 3, true },
	{ "NUL in a trailer", IN("0\r\na: \0\r\n"), "control in a trailer", 6,
	    true },
	{ "bare LF in a trailer", IN("0\r\na: b\n\r\n"), "control in a trailer",
	    7, true },
	{ "bare CR in a trailer", IN("0\r\na: b\rc\r\n"),
	    "bare CR in the trailers", 8, true },
	{ "bare CR at the end", IN("0\r\n\rx"), "bare CR in the trailers", 4,
	    true },
};

static void
h1_body_refuses_each_bad_chunk(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct parse_fail fail;
		struct h1_body b;
		struct slice got;
		size_t end;

		print_message("# %s\n", bad[i].name);
		for (size_t step = 1; step <= bad[i].in.n; step++) {
			h1_body_init(&b, HTTP_BODY_OPEN, 0, H1_CLIENT);
			assert_int_equal(feed(&b, bad[i].in, step, &got, &end,
					     &fail),
			    PARSE_BAD);
			assert_string_equal(fail.detail, bad[i].detail);
			assert_int_equal(end + fail.at, bad[i].at);
			assert_int_equal(fail.reason,
			    bad[i].malformed ? REASON_HTTP_MALFORMED :
					       REASON_HTTP_FRAMING);
		}
		if (bad[i].of_request)
			continue;
		h1_body_init(&b, HTTP_BODY_OPEN, 0, H1_UPSTREAM);
		assert_int_equal(feed(&b, bad[i].in, 99, &got, &end, &fail),
		    PARSE_BAD);
		assert_int_equal(fail.reason, REASON_UP_RESPONSE);
	}
}

static void
refuses(struct slice in, const char *detail)
{
	struct parse_fail fail;
	struct h1_body b;
	struct slice got;
	size_t end;

	h1_body_init(&b, HTTP_BODY_OPEN, 0, H1_CLIENT);
	assert_int_equal(feed(&b, in, 1000, &got, &end, &fail), PARSE_BAD);
	assert_string_equal(fail.detail, detail);
}

static void
takes(struct slice in)
{
	struct parse_fail fail;
	struct h1_body b;
	struct slice got;
	size_t end;

	h1_body_init(&b, HTTP_BODY_OPEN, 0, H1_CLIENT);
	assert_int_equal(feed(&b, in, 1000, &got, &end, &fail), PARSE_MORE);
}

static void
h1_body_has_limits(void **state)
{
	struct slice in = repeat(SLICE("1;"), 'a', H1_EXTENSION_MAX);

	(void)state;
	refuses(in, "chunk extension over the limit");
	takes(slice_first(in, H1_EXTENSION_MAX + 1));
	drop(in);

	in = repeat(SLICE("0\r\na:"), 'a', LIMIT_TRAILER_SIZE - 1);
	refuses(in, "trailers over the limit");
	takes(slice_first(in, in.n - 1));
	drop(in);

	char lines[3 + 4 * (FIELD_MAX + 1)] = "0\r\n";
	for (size_t i = 0; i <= FIELD_MAX; i++)
		memcpy(lines + 3 + 4 * i, "a:\r\n", 4);
	refuses(slice_of(lines, sizeof(lines)), "too many trailers");
	takes(slice_of(lines, sizeof(lines) - 4));
}

/* SM-09: an extension for each byte of data (CVE-2023-39326). */
static void
h1_body_bounds_what_is_not_data(void **state)
{
	static uint8_t text[200000];
	struct parse_fail fail;
	struct slice got;
	struct h1_body b;
	size_t n = 0, end;

	(void)state;
	for (size_t i = 0; i < 1000; i++) {
		memcpy(text + n, "1;", 2);
		memset(text + n + 2, 'a', 100);
		memcpy(text + n + 102, "\r\nx\r\n", 5);
		n += 107;
	}
	h1_body_init(&b, HTTP_BODY_OPEN, 0, H1_CLIENT);
	assert_int_equal(feed(&b, slice_of(text, n), 4096, &got, &end, &fail),
	    PARSE_BAD);
	assert_string_equal(fail.detail, "chunks of little data");

	/* Small chunks alone, as of a model that types, are no fault. */
	for (n = 0; n + 6 < sizeof(text); n += 6)
		memcpy(text + n, "1\r\na\r\n", 6);
	h1_body_init(&b, HTTP_BODY_OPEN, 0, H1_CLIENT);
	assert_int_equal(feed(&b, slice_of(text, n), 4096, &got, &end, &fail),
	    PARSE_MORE);
}

static void
h1_trailers_are_taken_and_written(void **state)
{
	static const char text[] = "x-a: x\r\nB:\r\nc:\td \r\n\r\n";
	uint8_t out[H1_TRAILERS_ROOM(sizeof(text))];
	struct wr w = wr_of(out, sizeof(out));
	struct field_list fields;

	(void)state;
	assert_true(h1_trailers_take(slice_of_str(text), &fields));
	assert_int_equal(fields.n, 3);
	assert_slice(fields.at[2].value, SLICE("d"));
	h1_body_put_end(&w, &fields);
	assert_slice(wr_slice(&w), SLICE("0\r\nx-a: x\r\nB: \r\nc: d\r\n\r\n"));
	assert_true(h1_trailers_take((struct slice){ 0 }, &fields));
	assert_int_equal(fields.n, 0);
	w = wr_of(out, sizeof(out));
	h1_body_put_end(&w, &fields);
	assert_slice(wr_slice(&w), SLICE(H1_LAST_CHUNK));
	assert_false(h1_trailers_take(SLICE("a: b"), &fields));
	assert_false(h1_trailers_take(SLICE("a b\r\n\r\n"), &fields));
}

static void
h1_body_of_none_is_over(void **state)
{
	struct slice in = SLICE("GET"), data;
	struct parse_fail fail;
	struct h1_body b;
	size_t used;

	(void)state;
	h1_body_init(&b, HTTP_BODY_NONE, 0, H1_CLIENT);
	assert_int_equal(h1_body_take(&b, in, &data, &used, &fail), PARSE_DONE);
	assert_int_equal(used, 0);
	h1_body_init(&b, HTTP_BODY_LENGTH, 0, H1_CLIENT);
	assert_int_equal(h1_body_take(&b, in, &data, &used, &fail), PARSE_DONE);
	assert_int_equal(used, 0);
	assert_true(h1_body_may_end(&b));
	/* Over stays over. */
	h1_body_init(&b, HTTP_BODY_OPEN, 0, H1_CLIENT);
	assert_false(h1_body_may_end(&b));
	assert_int_equal(h1_body_take(&b, SLICE(H1_LAST_CHUNK), &data, &used,
			     &fail),
	    PARSE_DONE);
	assert_int_equal(h1_body_take(&b, in, &data, &used, &fail), PARSE_DONE);
	assert_int_equal(used, 0);
}

static void
h1_body_chunks_are_read_back(void **state)
{
	static const struct {
		uint64_t n;
		const char *text;
	} rows[] = { { 1, "1\r\n" }, { 15, "f\r\n" }, { 16, "10\r\n" },
		{ 65536, "10000\r\n" },
		{ UINT64_MAX, "ffffffffffffffff\r\n" } };

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		uint8_t out[H1_CHUNK_HEAD_MAX];
		size_t n = h1_body_put_chunk(rows[i].n, out);

		assert_slice(slice_of(out, n), slice_of_str(rows[i].text));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(h1_body_ends_where_it_ends_at_any_cut),
		cmocka_unit_test(h1_body_refuses_each_bad_chunk),
		cmocka_unit_test(h1_body_has_limits),
		cmocka_unit_test(h1_body_bounds_what_is_not_data),
		cmocka_unit_test(h1_trailers_are_taken_and_written),
		cmocka_unit_test(h1_body_of_none_is_over),
		cmocka_unit_test(h1_body_chunks_are_read_back),
	};

	return cmocka_run_group_tests_name("h1_body", tests, NULL, NULL);
}
