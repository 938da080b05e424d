/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of tests/cases against wire/ alone: what it refuses it refuses with
 * the row's reason, what it cannot decide it takes, what goes on is what the
 * row says, and none of it depends on where the bytes are cut.
 */
#include "base/limits.h"
#include "case.h"
#include "row.h"
#include "wire/h1_body.h"
#include "wire/h1_write.h"
#include "wire/hello.h"
#include "wire/query.h"
#include "wire/urlpath.h"

#define CUT_MAX 600 /* longer cases are cut at some places only */

/* One connection, as a worker would drive it; no policy. */
struct peer {
	struct slice in; /* all that has arrived */
	size_t at;	 /* what of it was consumed */
	bool in_body, closed;
	struct http_request req;
	struct http_response res;
	struct h1_body body;
	struct field_list trailers;
	uint8_t section[LIMIT_TRAILER_SIZE];
	size_t n_section;
	uint8_t out[CASE_SIZE]; /* whole messages, and the one that is begun */
	size_t n, whole;
	uint8_t path[LIMIT_PATH_SIZE];
};

static struct peer peer, other;

static void
put(struct peer *p, struct slice s)
{
	assert_true(s.n <= sizeof(p->out) - p->n);
	if (s.n != 0)
		memcpy(p->out + p->n, s.p, s.n);
	p->n += s.n;
}

/* What a head means beyond its grammar, and the head anew. */
static enum reason
take_head(struct peer *p)
{
	struct parse_fail fail;
	struct urlpath path;
	struct target *t = &p->req.target;

	if (t->form == TARGET_AUTHORITY &&
	    slice_eq_str(p->req.method, "CONNECT"))
		return REASON_HTTP_CONNECT;
	if (t->form != TARGET_ORIGIN && t->form != TARGET_ABSOLUTE)
		return REASON_HTTP_TARGET_FORM;
	if (urlpath_canon(t->path, LIMIT_PATH_SIZE, p->path, &path, &fail) !=
		PARSE_DONE ||
	    query_check(t->query, &fail) != PARSE_DONE)
		return fail.reason;
	if (p->req.expect == HTTP_EXPECT_OTHER)
		return REASON_HTTP_MALFORMED;
	struct wr w = wr_of(p->out + p->n, sizeof(p->out) - p->n);
	struct http_new_request r =
	    http_new_request(&p->req, path.text, &p->req.host.host);
	h1_put_request(&w, &r);
	assert_false(w.bad);
	p->n += w.n;
	h1_body_init(&p->body, p->req.body, p->req.length, H1_CLIENT);
	return REASON_ALLOW;
}

/* What of the trailers came with a piece of the body. */
static void
keep_trailers(struct peer *p)
{
	struct slice more = p->body.section;

	assert_true(more.n <= sizeof(p->section) - p->n_section);
	if (more.n != 0)
		memcpy(p->section + p->n_section, more.p, more.n);
	p->n_section += more.n;
}

/* Trailers anew, behind a request that announced them or any answer. */
static void
put_trailers(struct peer *p, bool answer)
{
	uint8_t out[H1_TRAILERS_ROOM(LIMIT_TRAILER_SIZE)];
	struct wr w = wr_of(out, sizeof(out));

	if (p->n_section == 0 || (!answer && !http_has_trailers(&p->req)))
		return;
	assert_true(
	    h1_trailers_take(slice_of(p->section, p->n_section), &p->trailers));
	h1_body_put_end(&w, &p->trailers);
	assert_false(w.bad);
	put(p, slice_from(wr_slice(&w), sizeof("0\r\n") - 1));
}

/* What has come of the body; REASON_COUNT: more is to come. */
static enum reason
take_body(struct peer *p, bool of_answer)
{
	enum parse answer;

	do {
		struct slice data, rest = slice_from(p->in, p->at);
		struct parse_fail fail;
		size_t used;

		answer = h1_body_take(&p->body, rest, &data, &used, &fail);
		if (answer == PARSE_BAD)
			return fail.reason;
		put(p, data);
		keep_trailers(p);
		p->at += used;
	} while (answer == PARSE_MORE && p->at < p->in.n);
	if (answer == PARSE_MORE)
		return REASON_COUNT;
	put_trailers(p, of_answer);
	p->n_section = 0;
	p->in_body = false;
	p->whole = p->n;
	return REASON_ALLOW;
}

/* Requests until the bytes are used up: REASON_COUNT, if more may come. */
static enum reason
take_requests(struct peer *p)
{
	while (!p->closed) {
		struct slice rest = slice_from(p->in, p->at);
		struct parse_fail fail;
		enum reason reason;
		size_t used;

		if (p->in_body) {
			reason = take_body(p, false);
			if (reason != REASON_ALLOW)
				return reason;
			p->closed = !p->req.keep_alive;
			memset(&p->req, 0, sizeof(p->req));
			continue;
		}
		enum parse got =
		    h1_request_take(rest, &h1_limits, &p->req, &used, &fail);
		if (got == PARSE_MORE)
			return REASON_COUNT;
		if (got == PARSE_BAD)
			return fail.reason;
		reason = take_head(p);
		if (reason != REASON_ALLOW)
			return reason;
		p->at += used;
		p->in_body = true;
	}
	return REASON_ALLOW;
}

/* One answer of an origin, to a GET of a client of HTTP/1.1. */
static enum reason
take_answer(struct peer *p)
{
	struct http_request get = { .keep_alive = true };
	struct parse_fail fail;
	size_t used;

	if (!p->in_body) {
		enum parse got = h1_response_take(p->in, &h1_limits,
		    SLICE("GET"), &p->res, &used, &fail);
		if (got == PARSE_MORE)
			return REASON_COUNT;
		if (got == PARSE_BAD)
			return fail.reason;
		struct wr w = wr_of(p->out, sizeof(p->out));
		struct http_new_response r = http_new_response(&p->res, &get);
		h1_put_response(&w, &r);
		assert_false(w.bad);
		p->n = w.n;
		p->at = used;
		p->in_body = true;
		h1_body_init(&p->body, p->res.body, p->res.length, H1_UPSTREAM);
	}
	return take_body(p, true);
}

static enum reason
take_hello(struct slice in, size_t cut)
{
	static uint8_t scratch[LIMIT_HELLO_SIZE];
	struct hello hello = { 0 };
	struct parse_fail fail;
	struct host host;

	enum parse got =
	    hello_take(slice_first(in, cut), scratch, &hello, &fail);
	if (got == PARSE_MORE)
		got = hello_take(in, scratch, &hello, &fail);
	if (got == PARSE_MORE)
		return REASON_TLS_HELLO_TIMEOUT;
	if (got == PARSE_BAD)
		return fail.reason;
	if (!hello.has_sni)
		return REASON_TLS_NO_SNI;
	if (host_from_sni(hello.sni, &host, &fail) != PARSE_DONE)
		return fail.reason;
	return REASON_ALLOW;
}

/* The verdict on `in`, had its first `cut` bytes come first. */
static enum reason
run(struct peer *p, const char *input, struct slice in, size_t cut)
{
	bool answer = strcmp(input, "answer") == 0;
	enum reason reason;

	*p = (struct peer){ .in = slice_first(in, cut) };
	if (strcmp(input, "hello") == 0)
		return take_hello(in, cut);
	reason = answer ? take_answer(p) : take_requests(p);
	if (reason == REASON_COUNT) {
		p->in = in;
		reason = answer ? take_answer(p) : take_requests(p);
	}
	if (reason != REASON_COUNT)
		return reason;
	/* The peer closes: is that the end, or a cut? */
	if (answer && p->in_body && h1_body_may_end(&p->body)) {
		p->whole = p->n;
		return REASON_ALLOW;
	}
	if (answer)
		return REASON_UP_RESPONSE;
	return p->at == p->in.n && !p->in_body ? REASON_ALLOW :
						 REASON_CLIENT_ABORT;
}

/* Reasons that policy gives, or the connection: wire/ lets those through. */
static bool
is_beyond_wire(enum reason r)
{
	return r == REASON_HTTP_HOST_DENIED || r == REASON_HTTP_HOST_MISMATCH ||
	    r == REASON_HTTP_PATH_DENIED || r == REASON_HTTP_METHOD_DENIED ||
	    r == REASON_HTTP_QUERY_DENIED || r == REASON_HTTP_UPGRADE ||
	    r == REASON_DENY_RULE || r == REASON_TLS_SNI_DENIED ||
	    r == REASON_CRED_CLIENT_AUTH;
}

static void
check_cuts(const struct case_row *row, struct slice in, enum reason want)
{
	size_t step = in.n <= CUT_MAX ? 1 : in.n / 16 + 1;

	for (size_t cut = 0; cut < in.n; cut += step) {
		struct slice copy = exact(in);
		enum reason got = run(&other, row->input, copy, cut);

		if (got != want || other.whole != peer.whole ||
		    memcmp(other.out, peer.out, peer.whole) != 0)
			fail_msg("%s cut at %zu: %s", row->id, cut,
			    reason_name(got));
		drop(copy);
	}
}

static void
check_row(const struct case_row *row)
{
	static uint8_t bytes[CASE_SIZE], sees[CASE_SIZE];
	enum reason want = reason_find(slice_of_str(row->reason));
	size_t picks = 1, none;

	assert_int_not_equal(want, REASON_COUNT);
	size_t n_sees = case_unescape(row->sees, 0, &none, sees);
	for (size_t pick = 0; pick < picks; pick++) {
		size_t n = case_unescape(row->bytes, pick, &picks, bytes);
		struct slice in = slice_of(bytes, n);
		enum reason got = run(&peer, row->input, in, n);

		if (got != (is_beyond_wire(want) ? REASON_ALLOW : want))
			fail_msg("%s (%zu): %s", row->id, pick,
			    reason_name(got));
		if (!is_beyond_wire(want) && strcmp(row->input, "hello") != 0)
			assert_slice(slice_of(peer.out, peer.whole),
			    slice_of(sees, n_sees));
		check_cuts(row, in, got);
	}
}

static void
cases_of_names(void **state)
{
	(void)state;
	case_file("nm", 100, check_row);
}

static void
cases_of_paths(void **state)
{
	(void)state;
	case_file("pt", 180, check_row);
}

static void
cases_of_framing(void **state)
{
	(void)state;
	case_file("sm", 200, check_row);
}

static void
cases_of_hellos(void **state)
{
	(void)state;
	case_file("tl", 50, check_row);
}

static void
cases_of_tunnels(void **state)
{
	(void)state;
	case_file("up", 15, check_row);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cases_of_names),
		cmocka_unit_test(cases_of_paths),
		cmocka_unit_test(cases_of_framing),
		cmocka_unit_test(cases_of_hellos),
		cmocka_unit_test(cases_of_tunnels),
	};

	return cmocka_run_group_tests_name("cases", tests, NULL, NULL);
}
