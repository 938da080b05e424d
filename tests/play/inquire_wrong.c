/* SPDX-License-Identifier: Apache-2.0 */
/* Questions that cannot be put, answers that are none, no memory. */
#include "inquire_bed.h"

static void
what_cannot_be_sent_is_an_end(void **state)
{
	struct scene *s = scene_begin_asking();

	(void)state;
	s->w.dials = REASON_UP_RESOLVE;
	scene_discover(s);
	scene_want_bad(s, REASON_UP_RESOLVE, "scripted");
	s->w.dials = REASON_ALLOW;
	s->w.breaks = true;
	scene_discover(s);
	scene_want_bad(s, REASON_UP_CERT, "handshake failed");
	s->w.breaks = false;
	s->w.releases = REASON_CRED_UNAVAILABLE;
	scene_discover(s);
	scene_want_bad(s, REASON_CRED_UNAVAILABLE,
	    "the keeper did not release the credential");
	assert_int_equal(s->w.latest->got.n, 0);
	assert_true(s->w.latest->closed);
	scene_finish(s);
}

static void
a_secret_goes_to_whom_was_verified_alone(void **state)
{
	struct scene *s = scene_begin_asking();

	(void)state;
	s->w.dial_waits = true;
	scene_discover(s);
	assert_true(inquire_is_pending(s->q));
	assert_true(world_answer(&s->w, ASKED_DIAL, true));
	/* What the dial came to is not for that name. */
	s->w.upstream[1].is_tls = false;
	world_turn(&s->w);
	scene_want_bad(s, REASON_UP_CERT, "was not verified");
	assert_int_equal(s->w.upstream[1].got.n, 0);
	scene_finish(s);
}

#define CUT "the answer to duenna's own question is cut"
static const struct {
	const char *answer, *detail;
	bool ends;
} no_answers[] = {
	{ "HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n",
	    "the origin refuses duenna's own question (401): may the "
	    "rule's credential read the repository?",
	    false },
	{ "HTTP/1.1 302 Found\r\nLocation: /x\r\n"
	  "Content-Length: 0\r\n\r\n",
	    "the origin answers 302 to duenna's own question", false },
	{ INQUIRE_OK "Content-Type: text/plain\r\nContent-Length: 0\r\n\r\n",
	    "the origin's answer to duenna's own question is of "
	    "another type",
	    false },
	{ INQUIRE_OK INQUIRE_RESULT "Content-Length: 0\r\n\r\n",
	    "the origin's answer to duenna's own question is of "
	    "another type",
	    false },
	{ INQUIRE_OK "Content-Length: 0\r\n\r\n",
	    "the origin's answer to duenna's own question is of "
	    "another type",
	    false },
	{ INQUIRE_OK INQUIRE_ADVERT "Content-Encoding: gzip\r\n"
				    "Content-Length: 0\r\n\r\n",
	    "the origin's answer to duenna's own question is encoded", false },
	{ INQUIRE_OK INQUIRE_ADVERT "Content-Length: 4\r\n\r\n000", CUT, true },
	{ INQUIRE_OK INQUIRE_ADVERT "Transfer-Encoding: chunked\r\n\r\n2\r\n00",
	    CUT, true },
	{ INQUIRE_OK INQUIRE_ADVERT "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
	    "chunk size is not hex", false },
	{ INQUIRE_OK INQUIRE_ADVERT
	    "Content-Length: 1\r\nContent-Length: 1\r\n\r\n0",
	    "field that may stand once", false },
	{ "HTTP/1.1 101 Switching Protocols\r\n\r\n",
	    "an answer of 1xx that was not wanted", false },
	{ "SSH-2.0-x\r\n\r\n", "version not HTTP/1.1 or 1.0", false },
	{ "HTTP/1.1 2",
	    "the connection ended before an answer to duenna's own "
	    "question",
	    true },
};

static void
what_is_no_answer_is_an_end(void **state)
{
	struct scene *s;

	(void)state;
	for (size_t i = 0; i < COUNT_OF(no_answers); i++) {
		print_message("# %s\n", no_answers[i].detail);
		s = scene_begin_asking();
		scene_discover(s);
		s->w.upstream[1].ends = no_answers[i].ends;
		scene_answer(s, no_answers[i].answer);
		assert_int_equal(inquire_peek(s->q, &s->in, &s->fail),
		    PARSE_BAD);
		assert_int_equal(s->fail.reason, REASON_UP_RESPONSE);
		assert_string_equal(s->fail.detail, no_answers[i].detail);
		assert_true(s->w.upstream[1].closed);
		/* who was not taken for who he is, and nobody else */
		assert_int_equal(scene_has(&s->w.records, "alarm"), i == 0);
		scene_finish(s);
	}
}

static void
too_many_1xx_are_an_end(void **state)
{
	struct scene *s = scene_begin_asking();

	(void)state;
	scene_discover(s);
	for (int i = 0; i < LIMIT_INFORMATIONAL; i++)
		scene_answer(s, "HTTP/1.1 102 Processing\r\n\r\n");
	scene_want(s, PARSE_MORE, "");
	scene_answer(s, "HTTP/1.1 102 Processing\r\n\r\n");
	scene_want_bad(s, REASON_UP_RESPONSE,
	    "an answer of 1xx that was not wanted");
	scene_finish(s);
}

static void
an_answer_has_a_ceiling(void **state)
{
	static uint8_t text[LIMIT_BACKLOG_SIZE];
	struct scene *s = scene_begin_asking();
	size_t n = 0;

	(void)state;
	scene_discover(s);
	scene_answer(s, INQUIRE_OK INQUIRE_ADVERT "\r\n");
	for (; n <= LIMIT_QUESTION_SIZE; n += sizeof(text)) {
		assert_int_equal(inquire_peek(s->q, &s->in, &s->fail),
		    PARSE_MORE);
		inquire_take(s->q, s->in.n);
		buf_put(&s->w.latest->sends, slice_of(text, sizeof(text)));
		world_turn(&s->w);
	}
	scene_want_bad(s, REASON_LIMIT_BYTES,
	    "the answer to duenna's own question is too large");
	scene_finish(s);
}

static void
a_question_has_a_time(void **state)
{
	struct scene *s = scene_begin_asking();

	(void)state;
	scene_discover(s);
	world_pass(&s->w, LIMIT_QUESTION_MS - 1);
	scene_want(s, PARSE_MORE, "");
	scene_answer(s,
	    INQUIRE_OK INQUIRE_ADVERT "Content-Length: 4\r\n\r\n00");
	scene_want(s, PARSE_MORE, "00");
	world_pass(&s->w, 1);
	scene_want_bad(s, REASON_LIMIT_TIME,
	    "no answer to duenna's own question in time");
	/* The next one has its own. */
	scene_discover(s);
	world_pass(&s->w, LIMIT_QUESTION_MS - 1);
	scene_answer(s, INQUIRE_OK INQUIRE_ADVERT "Content-Length: 1\r\n\r\n0");
	scene_want(s, PARSE_DONE, "0");
	world_pass(&s->w, LIMIT_QUESTION_MS);
	scene_want(s, PARSE_DONE, "0");
	scene_finish(s);
}

static void
a_question_may_be_too_long(void **state)
{
	static uint8_t text[65537];
	struct scene *s = scene_begin_asking();

	(void)state;
	assert_false(inquire_ask(s->q, false, slice_of(text, sizeof(text))));
	assert_true(inquire_ask(s->q, false, slice_of(text, 65536)));
	world_turn(&s->w);
	assert_true(s->w.upstream[1].got.n > 65536);
	scene_finish(s);
}

/* Each allocation fails once, and then all that follow. */
static unsigned
ask_without_memory(unsigned first, bool all)
{
	struct scene *s = scene_begin();
	enum parse p = PARSE_BAD;

	s->w.fails = true;
	fails_from(first, all);
	s->q = inquire_new(s->r);
	if (s->q != NULL && inquire_ask(s->q, true, (struct slice){ 0 })) {
		world_turn(&s->w);
		if (s->w.n_upstreams > 1)
			scene_answer(s,
			    INQUIRE_OK INQUIRE_ADVERT
			    "Content-Length: 1\r\n\r\n0");
		p = inquire_peek(s->q, &s->in, &s->fail);
	}
	unsigned asked = fails_asked();
	fails_from(0, false);
	s->w.fails = false;
	assert_true(p == PARSE_DONE || p == PARSE_BAD);
	if (first == 0)
		assert_int_equal(p, PARSE_DONE);
	if (s->q != NULL) {
		scene_discover(s);
		scene_answer(s,
		    INQUIRE_OK INQUIRE_ADVERT "Content-Length: 1\r\n\r\n1");
		scene_want(s, PARSE_DONE, "1");
	}
	scene_finish(s);
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
		cmocka_unit_test(what_cannot_be_sent_is_an_end),
		cmocka_unit_test(a_secret_goes_to_whom_was_verified_alone),
		cmocka_unit_test(what_is_no_answer_is_an_end),
		cmocka_unit_test(too_many_1xx_are_an_end),
		cmocka_unit_test(an_answer_has_a_ceiling),
		cmocka_unit_test(a_question_has_a_time),
		cmocka_unit_test(a_question_may_be_too_long),
		cmocka_unit_test(each_allocation_may_fail),
	};

	return cmocka_run_group_tests_name("inquire wrong", tests, NULL, NULL);
}
