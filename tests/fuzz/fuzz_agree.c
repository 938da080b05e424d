/* SPDX-License-Identifier: Apache-2.0 */
/*
 * llhttp, the parser of node, reads what we write as we mean it: one message,
 * its method or status, target, fields and body.  A request that it takes as
 * it came it reads as we did, too.
 *
 *	u8 0: a request; else a response, to a HEAD if that is 2; its bytes
 */
#include <llhttp.h>

#include "fuzz.h"
#include "policy/method.h"
#include "wire/h1_body.h"
#include "wire/h1_head.h"
#include "wire/h1_write.h"
#include "wire/query.h"
#include "wire/urlpath.h"

#define TEXT_MAX 200000

static uint8_t body_bytes[TEXT_MAX], out_bytes[TEXT_MAX];
static uint8_t section[LIMIT_TRAILER_SIZE], lines_bytes[TEXT_MAX];
static struct field_list trailers;

/* --- what llhttp reads --------------------------------------------------- */

/* Fields are `name: value` and CRLF, as we would have written them. */
static struct {
	struct wr target, head, body;
	uint8_t target_bytes[TEXT_MAX], head_bytes[TEXT_MAX], bytes[TEXT_MAX];
	unsigned n_heads, n_messages;
	bool in_value, no_body;
} theirs;

static void
put(struct wr *w, const char *at, size_t n)
{
	wr_bytes(w, slice_of(at, n));
}

static int
on_url(llhttp_t *p, const char *at, size_t n)
{
	(void)p;
	put(&theirs.target, at, n);
	return 0;
}

static void
end_value(void)
{
	if (theirs.in_value)
		put(&theirs.head, "\r\n", 2);
	theirs.in_value = false;
}

static int
on_name(llhttp_t *p, const char *at, size_t n)
{
	(void)p;
	end_value();
	put(&theirs.head, at, n);
	return 0;
}

static int
on_name_end(llhttp_t *p)
{
	(void)p;
	put(&theirs.head, ": ", 2);
	theirs.in_value = true;
	return 0;
}

static int
on_value(llhttp_t *p, const char *at, size_t n)
{
	(void)p;
	put(&theirs.head, at, n);
	return 0;
}

static int
on_head(llhttp_t *p)
{
	(void)p;
	end_value();
	theirs.n_heads++;
	return theirs.no_body ? 1 : 0;
}

static int
on_body(llhttp_t *p, const char *at, size_t n)
{
	(void)p;
	put(&theirs.body, at, n);
	return 0;
}

static int
on_end(llhttp_t *p)
{
	(void)p;
	end_value(); /* of trailers, which come as the fields of a head do */
	theirs.n_messages++;
	return 0;
}

/* False: it refuses this, or wants more of it. */
static bool
read_theirs(struct slice in, llhttp_type_t type, bool no_body, llhttp_t *p)
{
	static llhttp_settings_t on;

	llhttp_settings_init(&on);
	on.on_url = on_url;
	on.on_header_field = on_name;
	on.on_header_field_complete = on_name_end;
	on.on_header_value = on_value;
	on.on_headers_complete = on_head;
	on.on_body = on_body;
	on.on_message_complete = on_end;
	theirs.target = wr_of(theirs.target_bytes, TEXT_MAX);
	theirs.head = wr_of(theirs.head_bytes, TEXT_MAX);
	theirs.body = wr_of(theirs.bytes, TEXT_MAX);
	theirs.n_heads = theirs.n_messages = 0;
	theirs.in_value = false;
	theirs.no_body = no_body;
	llhttp_init(p, type, &on);
	return llhttp_execute(p, (const char *)in.p, in.n) == HPE_OK &&
	    llhttp_finish(p) == HPE_OK && theirs.n_messages != 0;
}

/* The field lines of a head that we wrote, and those behind the body. */
static struct slice
lines_of(struct slice head, const struct field_list *more)
{
	struct wr w = wr_of(lines_bytes, sizeof(lines_bytes));
	const uint8_t *p = memchr(head.p, '\n', head.n);

	head = slice_from(head, (size_t)(p - head.p) + 1);
	wr_bytes(&w, slice_first(head, head.n - 2));
	for (size_t i = 0; i < more->n; i++) {
		wr_bytes(&w, more->at[i].name);
		wr_bytes(&w, SLICE(": "));
		wr_bytes(&w, more->at[i].value);
		wr_bytes(&w, SLICE("\r\n"));
	}
	CHECK(!w.bad);
	return wr_slice(&w);
}

/* --- what we read -------------------------------------------------------- */

/* The body at the front of `in`, which ends with it, and `trailers`; false:
 * not whole. */
static bool
read_body(struct slice in, struct h1_body *b, size_t *used, struct slice *got)
{
	struct parse_fail fail;
	struct slice data;
	size_t n = 0, n_section = 0, taken;
	enum parse p;

	*used = 0;
	do {
		p = h1_body_take(b, slice_from(in, *used), &data, &taken,
		    &fail);
		if (p == PARSE_BAD)
			return false;
		if (data.n != 0)
			memcpy(body_bytes + n, data.p, data.n);
		n += data.n;
		if (b->section.n != 0)
			memcpy(section + n_section, b->section.p, b->section.n);
		n_section += b->section.n;
		*used += taken;
	} while (p == PARSE_MORE && taken != 0);
	*got = slice_of(body_bytes, n);
	CHECK(h1_trailers_take(slice_of(section, n_section), &trailers) ||
	    p != PARSE_DONE);
	return p == PARSE_DONE || h1_body_may_end(b);
}

static void
put_body(struct wr *w, enum http_body kind, struct slice text)
{
	uint8_t line[H1_CHUNK_HEAD_MAX];

	if (kind != HTTP_BODY_OPEN) {
		wr_bytes(w, text);
		return;
	}
	if (text.n != 0) {
		wr_bytes(w, slice_of(line, h1_body_put_chunk(text.n, line)));
		wr_bytes(w, text);
		wr_bytes(w, SLICE(H1_CHUNK_END));
	}
	h1_body_put_end(w, &trailers);
}

/* A request that could be allowed by some rule. */
static bool
may_be_sent(const struct http_request *req, uint8_t *canon,
    struct urlpath *path)
{
	const struct target *t = &req->target;
	struct parse_fail fail;

	return method_bit(req->method) != 0 && !req->has_upgrade &&
	    req->expect != HTTP_EXPECT_OTHER &&
	    (t->form == TARGET_ORIGIN || t->form == TARGET_ABSOLUTE) &&
	    urlpath_canon(t->path, LIMIT_PATH_SIZE, canon, path, &fail) ==
	    PARSE_DONE &&
	    (!t->has_query || query_check(t->query, &fail) == PARSE_DONE);
}

static void
check_request(struct slice in)
{
	static uint8_t canon[LIMIT_PATH_SIZE];
	static struct http_request req;
	struct parse_fail fail;
	struct urlpath path;
	struct h1_body b;
	struct slice body;
	size_t head, used;
	llhttp_t p;

	memset(&req, 0, sizeof(req));
	if (h1_request_take(in, &h1_limits, &req, &head, &fail) != PARSE_DONE ||
	    !may_be_sent(&req, canon, &path))
		return;
	h1_body_init(&b, req.body, req.length, H1_CLIENT);
	if (!read_body(slice_from(in, head), &b, &used, &body))
		return;
	struct wr w = wr_of(out_bytes, sizeof(out_bytes));
	struct http_new_request r =
	    http_new_request(&req, path.text, &req.host.host);
	h1_put_request(&w, &r);
	if (!http_has_trailers(&req))
		trailers.n = 0;
	struct slice lines = lines_of(wr_slice(&w), &trailers);
	put_body(&w, req.body, body);
	CHECK(read_theirs(wr_slice(&w), HTTP_REQUEST, false, &p));
	CHECK(theirs.n_messages == 1 && theirs.n_heads == 1);
	CHECK(slice_eq_str(req.method,
	    llhttp_method_name((llhttp_method_t)llhttp_get_method(&p))));
	size_t n = theirs.target.n;
	CHECK(n > path.text.n - 1 &&
	    slice_eq(slice_first(wr_slice(&theirs.target), path.text.n),
		path.text));
	CHECK(n == path.text.n + (r.has_query ? r.query.n + 1 : 0));
	CHECK(slice_eq(wr_slice(&theirs.head), lines));
	CHECK(slice_eq(wr_slice(&theirs.body), body));
	if (!read_theirs(slice_first(in, head + used), HTTP_REQUEST, false, &p))
		return;
	CHECK(theirs.n_messages == 1);
	CHECK(slice_eq(wr_slice(&theirs.target), req.raw_target));
	CHECK(slice_eq(wr_slice(&theirs.body), body));
}

static void
check_response(struct slice in, bool to_head)
{
	static struct http_response res;
	const struct http_request get = { .keep_alive = true };
	struct parse_fail fail;
	struct h1_body b;
	struct slice body;
	size_t head, used;
	llhttp_t p;

	memset(&res, 0, sizeof(res));
	if (h1_response_take(in, &h1_limits,
		to_head ? SLICE("HEAD") : SLICE("GET"), &res, &head,
		&fail) != PARSE_DONE ||
	    res.status == 101)
		return;
	h1_body_init(&b, res.body, res.length, H1_UPSTREAM);
	if (!read_body(slice_from(in, head), &b, &used, &body))
		return;
	struct wr w = wr_of(out_bytes, sizeof(out_bytes));
	struct http_new_response r = http_new_response(&res, &get);
	h1_put_response(&w, &r);
	if (to_head)
		trailers.n = 0;
	struct slice lines = lines_of(wr_slice(&w), &trailers);
	if (res.body != HTTP_BODY_NONE)
		put_body(&w, r.body, body);
	CHECK(read_theirs(wr_slice(&w), HTTP_RESPONSE, to_head, &p));
	CHECK(theirs.n_messages == 1 && theirs.n_heads == 1);
	CHECK(llhttp_get_status_code(&p) == (int)res.status);
	CHECK(slice_eq(wr_slice(&theirs.head), lines));
	CHECK(slice_eq(wr_slice(&theirs.body), body));
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* Both parsers see the same; what is longer than memory is nobody's. */
	if (size == 0 || size > TEXT_MAX / 4)
		return 0;
	if (data[0] == 0)
		check_request(slice_of(data + 1, size - 1));
	else
		check_response(slice_of(data + 1, size - 1), data[0] == 2);
	return 0;
}
