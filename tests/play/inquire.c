/* SPDX-License-Identifier: Apache-2.0 */
/* Questions of our own to the origin of a request, which itself waits. */
#include "flow/inquire.h"
#include "flow/request.h"
#include "policy_bed.h"
#include "row.h"
#include "world.h"

#define ROOM 262144 /* bytes that each peer's script may need */
#define SECRET "canary-of-thirty-two-bytes-0123"
#define VALUE "Basic Z2l0OmNhbmFyeS1vZi10aGlydHktdHdvLWJ5dGVzLTAxMjM="
#define ADVERT "application/x-git-upload-pack-advertisement"
#define RESULT "application/x-git-upload-pack-result"

static const char policy[] = "version: 1\n"
			     "policies:\n"
			     "  p:\n"
			     "    rules:\n"
			     "      - allow: git+https://git.test/Acme/App\n"
			     "        forge: forgejo\n"
			     "        fetch: true\n"
			     "        push: {branches: ['agent/**']}\n"
			     "        credential: token\n";

static const char config[] = "version: 1\n"
			     "credentials:\n"
			     "  token: {kind: token, secret: {env: T}, "
			     "only: ['git+https://git.test/Acme/App']}\n";

struct scene {
	struct bed bed;
	struct world w;
	struct request *r;
	struct inquire *q;
	struct slice in;
	struct parse_fail fail;
};

static struct slice
value_of(const struct world *w UNUSED, uint32_t credential UNUSED)
{
	return SLICE(VALUE);
}

/* The world's own memory is there before any of ours fails. */
static void
reserve(struct buf *b)
{
	static const uint8_t zeros[ROOM];

	assert_true(buf_put(b, slice_of(zeros, ROOM)));
	buf_clear(b);
}

/* A request that went up and waits for its answer. */
static struct scene *
begin(void)
{
	static struct scene s;
	struct ip dst;

	s = (struct scene){ 0 };
	bed_load_trusted(&s.bed, config, policy);
	assert_non_null(s.bed.program);
	world_init(&s.w, s.bed.program);
	s.bed.program = NULL; /* the sandbox's now */
	s.w.value_of = value_of;
	reserve(&s.w.records);
	for (size_t i = 0; i < 4; i++) {
		reserve(&s.w.upstream[i].sends);
		reserve(&s.w.upstream[i].got);
	}
	assert_true(program_address(s.w.sandbox->generation->program,
	    SLICE("git.test"), &dst));
	world_connect(&s.w, &dst, 443);
	world_put_hello(&s.w.client->sends, SLICE("git.test"),
	    ALPN_OFFER_HTTP11);
	world_turn(&s.w);
	buf_put_str(&s.w.client->sends,
	    "GET /acme/app/info/refs?service=git-receive-pack HTTP/1.1\r\n"
	    "Host: git.test\r\n\r\n");
	world_turn(&s.w);
	assert_int_equal(s.w.n_upstreams, 1);
	s.r = LIST_FIRST(&LIST_FIRST(&s.w.sandbox->flows)->requests);
	assert_int_equal(s.r->x.phase, EXCHANGE_SEND);
	return &s;
}

/* The same, and one to ask. */
static struct scene *
begin_asking(void)
{
	struct scene *s = begin();

	s->q = inquire_new(s->r);
	assert_non_null(s->q);
	return s;
}

static void
finish(struct scene *s)
{
	inquire_free(s->q);
	world_turn(&s->w);
	assert_int_equal(s->w.sandbox->n_upstreams, 1);
	world_release(&s->w);
	assert_int_equal(s->w.n_wrong, 0);
	bed_release(&s->bed);
}

static void
discover(struct scene *s)
{
	assert_true(inquire_ask(s->q, true, (struct slice){ 0 }));
	world_turn(&s->w);
}

static void
answer(struct scene *s, const char *text)
{
	buf_put_str(&s->w.latest->sends, text);
	world_turn(&s->w);
}

static bool
has(const struct buf *b, const char *text)
{
	return b->n != 0 && memmem(b->p, b->n, text, strlen(text)) != NULL;
}

static void
want(struct scene *s, enum parse parse, const char *in)
{
	assert_int_equal(inquire_peek(s->q, &s->in, &s->fail), parse);
	assert_slice(s->in, slice_of_str(in));
}

static void
want_bad(struct scene *s, enum reason reason, const char *detail)
{
	want(s, PARSE_BAD, "");
	assert_int_equal(s->fail.reason, reason);
	assert_string_equal(s->fail.detail, detail);
	assert_false(inquire_is_pending(s->q));
}

static void
questions_go_over_one_connection_with_the_rules_credential(void **state)
{
	struct scene *s = begin_asking();

	(void)state;
	want(s, PARSE_MORE, "");
	assert_false(inquire_is_pending(s->q));
	discover(s);
	assert_true(inquire_is_pending(s->q));
	assert_int_equal(s->w.n_upstreams, 2);
	assert_int_equal(s->w.offered, ALPN_OFFER_HTTP11);
	buf_put_byte(&s->w.upstream[1].got, 0);
	assert_string_equal(s->w.upstream[1].got.p,
	    "GET /Acme/App.git/info/refs?service=git-upload-pack HTTP/1.1\r\n"
	    "Host: git.test\r\n"
	    "User-Agent: git/duenna\r\n"
	    "Accept-Encoding: identity\r\n"
	    "Git-Protocol: version=2\r\n"
	    "Authorization: " VALUE "\r\n\r\n");
	buf_clear(&s->w.upstream[1].got);
	answer(s,
	    "HTTP/1.1 100 Continue\r\n\r\n"
	    "HTTP/1.1 200 OK\r\nContent-Type: " ADVERT
	    "\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nabc");
	want(s, PARSE_MORE, "abc");
	inquire_take(s->q, 2);
	answer(s, "def\r\n0\r\n");
	want(s, PARSE_MORE, "cdef");
	answer(s, "\r\n");
	want(s, PARSE_DONE, "cdef");
	inquire_take(s->q, 4);
	want(s, PARSE_DONE, "");

	assert_true(inquire_ask(s->q, false, SLICE("0011command=fetch")));
	world_turn(&s->w);
	assert_int_equal(s->w.n_upstreams, 2);
	buf_put_byte(&s->w.upstream[1].got, 0);
	assert_string_equal(s->w.upstream[1].got.p,
	    "POST /Acme/App.git/git-upload-pack HTTP/1.1\r\n"
	    "Host: git.test\r\n"
	    "User-Agent: git/duenna\r\n"
	    "Accept-Encoding: identity\r\n"
	    "Git-Protocol: version=2\r\n"
	    "Content-Type: application/x-git-upload-pack-request\r\n"
	    "Accept: application/x-git-upload-pack-result\r\n"
	    "Content-Length: 17\r\n"
	    "Authorization: " VALUE "\r\n\r\n"
	    "0011command=fetch");
	answer(s,
	    "HTTP/1.1 200 OK\r\nContent-Type: " RESULT
	    "\r\nContent-Length: 4\r\n\r\n0000");
	want(s, PARSE_DONE, "0000");
	/* Each is announced, as a request with a credential is. */
	assert_true(has(&s->w.records, "question   0\nquestion   0\n"));
	finish(s);
}

static void
an_answer_may_end_with_its_connection(void **state)
{
	struct scene *s = begin_asking();

	(void)state;
	discover(s);
	answer(s, "HTTP/1.1 200 OK\r\nContent-Type: " ADVERT "\r\n\r\nabc");
	want(s, PARSE_MORE, "abc");
	s->w.upstream[1].ends = true;
	world_turn(&s->w);
	want(s, PARSE_DONE, "abc");
	discover(s);
	assert_int_equal(s->w.n_upstreams, 3);
	answer(s,
	    "HTTP/1.1 200 OK\r\nContent-Type: " ADVERT
	    "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
	want(s, PARSE_DONE, "");
	assert_true(s->w.upstream[2].closed);
	finish(s);
}

static void
nothing_is_sent_before_it_is_in_the_log(void **state)
{
	struct scene *s = begin_asking();

	(void)state;
	s->w.scribe_waits = true;
	discover(s);
	assert_int_equal(s->w.n_upstreams, 2);
	assert_true(has(&s->w.records, "question"));
	assert_int_equal(s->w.upstream[1].got.n, 0);
	want(s, PARSE_MORE, "");
	s->w.scribe_waits = false;
	world_turn(&s->w);
	assert_true(has(&s->w.upstream[1].got, "GET "));
	finish(s);

	s = begin_asking();
	s->w.scribe_waits = true;
	discover(s);
	s->w.scribe_fails = true;
	s->w.scribe_waits = false;
	world_turn(&s->w);
	want_bad(s, REASON_AUDIT_FULL, "the record could not be written");
	assert_int_equal(s->w.upstream[1].got.n, 0);
	/* Nor could it be sent. */
	discover(s);
	want_bad(s, REASON_AUDIT_FULL, "the record could not be written");
	assert_int_equal(s->w.upstream[2].got.n, 0);
	s->w.scribe_fails = false;
	discover(s);
	assert_true(has(&s->w.upstream[3].got, "GET "));
	finish(s);
}

static void
what_cannot_be_sent_is_an_end(void **state)
{
	struct scene *s = begin_asking();

	(void)state;
	s->w.dials = REASON_UP_RESOLVE;
	discover(s);
	want_bad(s, REASON_UP_RESOLVE, "scripted");
	s->w.dials = REASON_ALLOW;
	s->w.breaks = true;
	discover(s);
	want_bad(s, REASON_UP_CERT, "handshake failed");
	s->w.breaks = false;
	s->w.releases = REASON_CRED_UNAVAILABLE;
	discover(s);
	want_bad(s, REASON_CRED_UNAVAILABLE,
	    "the keeper did not release the credential");
	assert_int_equal(s->w.latest->got.n, 0);
	assert_true(s->w.latest->closed);
	finish(s);
}

static void
a_secret_goes_to_whom_was_verified_alone(void **state)
{
	struct scene *s = begin_asking();

	(void)state;
	s->w.dial_waits = true;
	discover(s);
	assert_true(inquire_is_pending(s->q));
	assert_true(world_answer(&s->w, ASKED_DIAL, true));
	/* What the dial came to is not for that name. */
	s->w.upstream[1].is_tls = false;
	world_turn(&s->w);
	want_bad(s, REASON_UP_CERT, "was not verified");
	assert_int_equal(s->w.upstream[1].got.n, 0);
	finish(s);
}

#define OK "HTTP/1.1 200 OK\r\n"
#define TYPE "Content-Type: " ADVERT "\r\n"

static void
what_is_no_answer_is_an_end(void **state)
{
	static const char cut[] = "the answer to duenna's own question is cut";
	static const struct {
		const char *answer, *detail;
		bool ends;
	} rows[] = {
		{ "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n",
		    "the origin refuses duenna's own question (401): may the "
		    "rule's credential read the repository?",
		    false },
		{ "HTTP/1.1 302 Found\r\nLocation: /x\r\n"
		  "Content-Length: 0\r\n\r\n",
		    "the origin answers 302 to duenna's own question", false },
		{ OK "Content-Type: text/plain\r\nContent-Length: 0\r\n\r\n",
		    "the origin's answer to duenna's own question is of "
		    "another type",
		    false },
		{ OK "Content-Type: " RESULT "\r\nContent-Length: 0\r\n\r\n",
		    "the origin's answer to duenna's own question is of "
		    "another type",
		    false },
		{ OK "Content-Length: 0\r\n\r\n",
		    "the origin's answer to duenna's own question is of "
		    "another type",
		    false },
		{ OK TYPE "Content-Encoding: gzip\r\n"
			  "Content-Length: 0\r\n\r\n",
		    "the origin's answer to duenna's own question is encoded",
		    false },
		{ OK TYPE "Content-Length: 4\r\n\r\n000", cut, true },
		{ OK TYPE "Transfer-Encoding: chunked\r\n\r\n2\r\n00", cut,
		    true },
		{ OK TYPE "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
		    "chunk size is not hex", false },
		{ OK TYPE "Content-Length: 1\r\nContent-Length: 1\r\n\r\n0",
		    "field that may stand once", false },
		{ "HTTP/1.1 101 Switching Protocols\r\n\r\n",
		    "an answer of 1xx that was not wanted", false },
		{ "SSH-2.0-x\r\n\r\n", "version not HTTP/1.1 or 1.0", false },
		{ "HTTP/1.1 2",
		    "the connection ended before an answer to duenna's own "
		    "question",
		    true },
	};
	struct scene *s;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		print_message("# %s\n", rows[i].detail);
		s = begin_asking();
		discover(s);
		s->w.upstream[1].ends = rows[i].ends;
		answer(s, rows[i].answer);
		assert_int_equal(inquire_peek(s->q, &s->in, &s->fail),
		    PARSE_BAD);
		assert_int_equal(s->fail.reason, REASON_UP_RESPONSE);
		assert_string_equal(s->fail.detail, rows[i].detail);
		assert_true(s->w.upstream[1].closed);
		finish(s);
	}
}

static void
too_many_1xx_are_an_end(void **state)
{
	struct scene *s = begin_asking();

	(void)state;
	discover(s);
	for (int i = 0; i < LIMIT_INFORMATIONAL; i++)
		answer(s, "HTTP/1.1 102 Processing\r\n\r\n");
	want(s, PARSE_MORE, "");
	answer(s, "HTTP/1.1 102 Processing\r\n\r\n");
	want_bad(s, REASON_UP_RESPONSE, "an answer of 1xx that was not wanted");
	finish(s);
}

/* All that comes is there, in its order, however little of it is taken. */
static void
a_long_answer_waits_until_it_is_taken(void **state)
{
	static uint8_t text[4 * LIMIT_QUESTION_HEAD_SIZE];
	struct scene *s = begin_asking();
	size_t n = 0;
	enum parse p;

	(void)state;
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (uint8_t)(i * 7 + i / 251);
	discover(s);
	buf_putf(&s->w.latest->sends, OK TYPE "Content-Length: %zu\r\n\r\n",
	    sizeof(text));
	buf_put(&s->w.latest->sends, slice_of(text, sizeof(text)));
	world_turn(&s->w);
	/* Two buffers' worth has come, and no more does. */
	assert_true(s->w.latest->sends.n >=
	    sizeof(text) - LIMIT_QUESTION_HEAD_SIZE - STREAM_IN_MAX);
	do {
		p = inquire_peek(s->q, &s->in, &s->fail);
		assert_int_not_equal(p, PARSE_BAD);
		assert_true(
		    s->in.n != 0 && s->in.n <= LIMIT_QUESTION_HEAD_SIZE);
		size_t some = s->in.n < 5000 ? s->in.n : 5000;
		assert_memory_equal(s->in.p, text + n, some);
		inquire_take(s->q, some);
		n += some;
		world_turn(&s->w);
	} while (n < sizeof(text));
	want(s, PARSE_DONE, "");
	finish(s);
}

static void
an_answer_has_a_ceiling(void **state)
{
	static uint8_t text[LIMIT_BACKLOG_SIZE];
	struct scene *s = begin_asking();
	size_t n = 0;

	(void)state;
	discover(s);
	answer(s, OK TYPE "\r\n");
	for (; n <= LIMIT_QUESTION_SIZE; n += sizeof(text)) {
		assert_int_equal(inquire_peek(s->q, &s->in, &s->fail),
		    PARSE_MORE);
		inquire_take(s->q, s->in.n);
		buf_put(&s->w.latest->sends, slice_of(text, sizeof(text)));
		world_turn(&s->w);
	}
	want_bad(s, REASON_LIMIT_BYTES,
	    "the answer to duenna's own question is too large");
	finish(s);
}

static void
a_question_has_a_time(void **state)
{
	struct scene *s = begin_asking();

	(void)state;
	discover(s);
	world_pass(&s->w, LIMIT_QUESTION_MS - 1);
	want(s, PARSE_MORE, "");
	answer(s, OK TYPE "Content-Length: 4\r\n\r\n00");
	want(s, PARSE_MORE, "00");
	world_pass(&s->w, 1);
	want_bad(s, REASON_LIMIT_TIME,
	    "no answer to duenna's own question in time");
	/* The next one has its own. */
	discover(s);
	world_pass(&s->w, LIMIT_QUESTION_MS - 1);
	answer(s, OK TYPE "Content-Length: 1\r\n\r\n0");
	want(s, PARSE_DONE, "0");
	world_pass(&s->w, LIMIT_QUESTION_MS);
	want(s, PARSE_DONE, "0");
	finish(s);
}

static void
a_used_connection_that_is_gone_is_made_anew_once(void **state)
{
	struct scene *s = begin_asking();

	(void)state;
	discover(s);
	answer(s, OK TYPE "Content-Length: 1\r\n\r\n0");
	want(s, PARSE_DONE, "0");
	discover(s);
	assert_int_equal(s->w.n_upstreams, 2);
	s->w.upstream[1].ends = true;
	world_turn(&s->w);
	assert_int_equal(s->w.n_upstreams, 3);
	assert_true(has(&s->w.upstream[2].got, "GET "));
	s->w.upstream[2].ends = true;
	world_turn(&s->w);
	assert_int_equal(s->w.n_upstreams, 3);
	want_bad(s, REASON_UP_RESPONSE,
	    "the connection ended before an answer to duenna's own question");

	/* One that ended meanwhile is not used at all. */
	discover(s);
	answer(s, OK TYPE "Content-Length: 1\r\n\r\n0");
	want(s, PARSE_DONE, "0");
	s->w.upstream[3].ends = true;
	world_turn(&s->w);
	discover(s);
	assert_int_equal(s->w.n_upstreams, 5);
	finish(s);
}

static void
it_may_end_whatever_it_waits_for(void **state)
{
	struct scene *s;

	(void)state;
	for (int i = 0; i < 6; i++) {
		print_message("# %d\n", i);
		s = begin_asking();
		s->w.dial_waits = i == 1;
		s->w.scribe_waits = i == 2;
		s->w.release_waits = i == 3;
		if (i != 0)
			discover(s);
		if (i == 5)
			answer(s, OK TYPE "Content-Length: 4\r\n\r\n00");
		inquire_free(s->q);
		s->q = NULL;
		assert_int_equal(s->w.sandbox->n_upstreams, 1);
		world_turn(&s->w);
		s->w.scribe_waits = false;
		world_turn(&s->w);
		finish(s);
	}
}

/* Another question, before there is an answer to the first. */
static void
a_question_takes_the_place_of_the_one_before(void **state)
{
	struct scene *s;

	(void)state;
	for (int i = 0; i < 4; i++) {
		print_message("# %d\n", i);
		s = begin_asking();
		s->w.dial_waits = i == 1;
		s->w.scribe_waits = i == 2;
		s->w.release_waits = i == 3;
		discover(s);
		s->w.dial_waits = s->w.scribe_waits = s->w.release_waits =
		    false;
		assert_true(inquire_ask(s->q, false, SLICE("0000")));
		world_turn(&s->w);
		assert_true(has(&s->w.latest->got, "POST "));
		answer(s,
		    OK "Content-Type: " RESULT
		       "\r\nContent-Length: 1\r\n\r\n0");
		want(s, PARSE_DONE, "0");
		finish(s);
	}
}

static void
only_a_request_for_a_repository_can_be_asked_about(void **state)
{
	struct scene *s = begin();
	struct slice path = s->r->facts.path;

	(void)state;
	s->r->facts.path = SLICE("/acme/app/x");
	assert_null(inquire_new(s->r));
	s->r->facts.path = SLICE("/acme/other/git-receive-pack");
	assert_null(inquire_new(s->r));
	s->r->facts.path = path;
	finish(s);
}

static void
a_question_may_be_too_long(void **state)
{
	static uint8_t text[65537];
	struct scene *s = begin_asking();

	(void)state;
	assert_false(inquire_ask(s->q, false, slice_of(text, sizeof(text))));
	assert_true(inquire_ask(s->q, false, slice_of(text, 65536)));
	world_turn(&s->w);
	assert_true(s->w.upstream[1].got.n > 65536);
	finish(s);
}

/* Each allocation fails once, and then all that follow. */
static unsigned
ask_without_memory(unsigned first, bool all)
{
	struct scene *s = begin();
	enum parse p = PARSE_BAD;

	s->w.fails = true;
	fails_from(first, all);
	s->q = inquire_new(s->r);
	if (s->q != NULL && inquire_ask(s->q, true, (struct slice){ 0 })) {
		world_turn(&s->w);
		if (s->w.n_upstreams > 1)
			answer(s, OK TYPE "Content-Length: 1\r\n\r\n0");
		p = inquire_peek(s->q, &s->in, &s->fail);
	}
	unsigned asked = fails_asked();
	fails_from(0, false);
	s->w.fails = false;
	assert_true(p == PARSE_DONE || p == PARSE_BAD);
	if (first == 0)
		assert_int_equal(p, PARSE_DONE);
	if (s->q != NULL) {
		discover(s);
		answer(s, OK TYPE "Content-Length: 1\r\n\r\n1");
		want(s, PARSE_DONE, "1");
	}
	finish(s);
	return asked;
}

static void
each_allocation_may_fail(void **state)
{
	unsigned n = ask_without_memory(0, false);

	(void)state;
	print_message("# %u allocations\n", n);
	assert_in_range(n, 5, 100);
	for (unsigned i = 1; i <= n; i++) {
		ask_without_memory(i, false);
		ask_without_memory(i, true);
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    questions_go_over_one_connection_with_the_rules_credential),
		cmocka_unit_test(an_answer_may_end_with_its_connection),
		cmocka_unit_test(nothing_is_sent_before_it_is_in_the_log),
		cmocka_unit_test(what_cannot_be_sent_is_an_end),
		cmocka_unit_test(a_secret_goes_to_whom_was_verified_alone),
		cmocka_unit_test(what_is_no_answer_is_an_end),
		cmocka_unit_test(too_many_1xx_are_an_end),
		cmocka_unit_test(a_long_answer_waits_until_it_is_taken),
		cmocka_unit_test(an_answer_has_a_ceiling),
		cmocka_unit_test(a_question_has_a_time),
		cmocka_unit_test(
		    a_used_connection_that_is_gone_is_made_anew_once),
		cmocka_unit_test(it_may_end_whatever_it_waits_for),
		cmocka_unit_test(a_question_takes_the_place_of_the_one_before),
		cmocka_unit_test(
		    only_a_request_for_a_repository_can_be_asked_about),
		cmocka_unit_test(a_question_may_be_too_long),
		cmocka_unit_test(each_allocation_may_fail),
	};

	return cmocka_run_group_tests_name("inquire", tests, NULL, NULL);
}
