/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is written of a request's target, with a parameter of any bytes: one
 * target, which reads as it was meant, whatever the name and the value are.
 * A line of the input is the path, the next the query, the rest the value.
 */
#include "fuzz.h"
#include "wire/message.h"
#include "wire/query.h"
#include "wire/urlpath.h"

static struct slice
take_line(struct slice *in)
{
	const uint8_t *end = in->n == 0 ? NULL : memchr(in->p, '\n', in->n);
	size_t n = end == NULL ? in->n : (size_t)(end - in->p);
	struct slice line = slice_first(*in, n);

	*in = slice_from(*in, end == NULL ? n : n + 1);
	return line;
}

static void
check_numbers(const uint8_t *data, size_t size)
{
	uint8_t room[32];
	struct wr w = wr_of(room, sizeof(room));
	uint64_t v = 0, back = 0;

	for (size_t i = 0; i < size && i < sizeof(v); i++)
		v = v << 8 | data[i];
	http_put_number(&w, v);
	for (size_t i = 0; i < w.n; i++)
		back = back * 10 + (room[i] - '0');
	CHECK(!w.bad && back == v && (w.n == 1 || room[0] != '0'));
}

static void
check_target(const struct http_new_request *r, uint8_t *room, size_t max)
{
	struct wr w = wr_of(room, max);
	struct parse_fail fail;
	struct target t;

	http_put_target(&w, r);
	CHECK(!w.bad);
	for (size_t i = 0; i < w.n; i++)
		CHECK(room[i] > 0x20 && room[i] < 0x7f && room[i] != '#');
	CHECK(target_parse(wr_slice(&w), &t, &fail) == PARSE_DONE);
	CHECK(t.form == TARGET_ORIGIN && slice_eq(t.path, r->path));
	CHECK(t.has_query);
	CHECK(slice_has_prefix(t.query, r->query));
	/* A secret with controls in it is escaped, and no query of ours. */
	bool printable = true;
	for (size_t i = 0; i < r->parameters[0].value.n; i++) {
		uint8_t c = r->parameters[0].value.p[i];
		printable = printable && c >= 0x20 && c < 0x7f;
	}
	CHECK(!printable || query_check(t.query, &fail) == PARSE_DONE);
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint8_t canonical[LIMIT_PATH_SIZE], room[1 << 16];
	struct slice in = { data, size };
	struct http_new_request r = { 0 };
	struct field parameter = { .name = SLICE("key") };
	struct parse_fail fail;
	struct urlpath path;

	check_numbers(data, size);
	if (size > 8192 ||
	    urlpath_canon(take_line(&in), LIMIT_PATH_SIZE, canonical, &path,
		&fail) != PARSE_DONE)
		return 0;
	r.path = path.text;
	r.query = take_line(&in);
	r.has_query = r.query.n != 0;
	if (r.has_query && query_check(r.query, &fail) != PARSE_DONE)
		return 0;
	parameter.value = in;
	r.parameters = &parameter;
	r.n_parameters = 1;
	check_target(&r, room, sizeof(room));
	return 0;
}
