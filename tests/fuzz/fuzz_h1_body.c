/* SPDX-License-Identifier: Apache-2.0 */
#include "fuzz.h"
#include "wire/h1_body.h"

struct result {
	enum parse answer;
	struct slice data;    /* all of it, in the caller's buffer */
	struct slice section; /* of trailers; behind it there */
	size_t used;	      /* up to the end, or to the fault */
	const char *detail;
};

static void
keep(struct slice *section, struct slice more, uint8_t *out)
{
	if (more.n != 0)
		memcpy(out + section->n, more.p, more.n);
	*section = slice_of(out, section->n + more.n);
}

/* Feed pieces of `step` bytes; `out` has room for twice as many as `in`. */
static struct result
feed(struct slice in, enum http_body kind, uint64_t length, size_t step,
    uint8_t *out)
{
	struct result r = { .data = { out, 0 } };
	struct h1_body b;

	h1_body_init(&b, kind, length, H1_CLIENT);
	do {
		struct slice piece = slice_first(slice_from(in, r.used), step);
		struct parse_fail fail = { 0 };
		struct slice data;
		size_t used;

		r.answer = h1_body_take(&b, piece, &data, &used, &fail);
		if (r.answer == PARSE_BAD) {
			CHECK(fail.at < piece.n);
			r.used += fail.at;
			r.detail = fail.detail;
			return r;
		}
		CHECK(used <= piece.n && data.n <= used);
		CHECK(lies_in(data, piece));
		CHECK(piece.n == 0 || used != 0 || r.answer == PARSE_DONE);
		if (data.n != 0)
			memcpy(out + r.data.n, data.p, data.n);
		r.data.n += data.n;
		keep(&r.section, b.section, out + in.n);
		r.used += used;
	} while (r.answer == PARSE_MORE && r.used < in.n);
	CHECK((r.answer == PARSE_DONE) <= h1_body_may_end(&b));
	return r;
}

/* What was data, chunked anew, is the same data; so are the trailers. */
static void
check_written(struct slice data, struct slice section)
{
	size_t max = data.n + 64 + H1_TRAILERS_ROOM(section.n), n = 0;
	uint8_t *text = malloc(max), *out = malloc(2 * max);
	static struct field_list fields, again;

	CHECK(text != NULL && out != NULL);
	CHECK(h1_trailers_take(section, &fields));
	if (data.n != 0) {
		n = h1_body_put_chunk(data.n, text);
		memcpy(text + n, data.p, data.n);
		n += data.n;
		memcpy(text + n, H1_CHUNK_END, 2);
		n += 2;
	}
	struct wr end = wr_of(text + n, H1_TRAILERS_ROOM(section.n));
	h1_body_put_end(&end, &fields);
	CHECK(!end.bad);
	struct result r =
	    feed(slice_of(text, n + end.n), HTTP_BODY_OPEN, 0, 4096, out);
	CHECK(r.answer == PARSE_DONE && r.used == n + end.n);
	CHECK(slice_eq(r.data, data));
	CHECK(h1_trailers_take(r.section, &again) && again.n == fields.n);
	for (size_t i = 0; i < fields.n; i++) {
		CHECK(slice_eq(again.at[i].name, fields.at[i].name));
		CHECK(slice_eq(again.at[i].value, fields.at[i].value));
		CHECK(field_may_trail(fields.at[i].name, false));
	}
	free(out);
	free(text);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size < 2)
		return 0;
	enum http_body kind = data[0] % 4 == 0 ? HTTP_BODY_LENGTH :
	    data[0] % 4 == 1		       ? HTTP_BODY_UNTIL_CLOSE :
						 HTTP_BODY_OPEN;
	size_t step = 1 + data[1] % 32;
	struct slice in = { data + 2, size - 2 };
	uint8_t *one = malloc(2 * size), *two = malloc(2 * size);

	CHECK(one != NULL && two != NULL);
	struct result a = feed(in, kind, data[1], size, one);
	struct result b = feed(in, kind, data[1], step, two);
	CHECK(a.answer == b.answer && a.used == b.used);
	CHECK(a.detail == b.detail && slice_eq(a.data, b.data));
	CHECK(a.answer == PARSE_BAD || slice_eq(a.section, b.section));
	if (a.answer == PARSE_DONE)
		check_written(a.data, a.section);
	free(two);
	free(one);
	return 0;
}
