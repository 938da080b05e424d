/* SPDX-License-Identifier: Apache-2.0 */
/* Questions of our own to the origin of a request, which itself waits. */
#include "inquire_bed.h"

static void
questions_go_over_one_connection_with_the_rules_credential(void **state)
{
	struct scene *s = scene_begin_asking();

	(void)state;
	scene_want(s, PARSE_MORE, "");
	assert_false(inquire_is_pending(s->q));
	scene_discover(s);
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
	    "Authorization: " INQUIRE_VALUE "\r\n\r\n");
	buf_clear(&s->w.upstream[1].got);
	scene_answer(s,
	    "HTTP/1.1 100 Continue\r\n\r\n" INQUIRE_OK INQUIRE_ADVERT
	    "Transfer-Encoding: chunked\r\n\r\n6\r\nabc");
	scene_want(s, PARSE_MORE, "abc");
	inquire_take(s->q, 2);
	scene_answer(s, "def\r\n0\r\n");
	scene_want(s, PARSE_MORE, "cdef");
	scene_answer(s, "\r\n");
	scene_want(s, PARSE_DONE, "cdef");
	inquire_take(s->q, 4);
	scene_want(s, PARSE_DONE, "");

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
	    "Authorization: " INQUIRE_VALUE "\r\n\r\n"
	    "0011command=fetch");
	scene_answer(s,
	    INQUIRE_OK INQUIRE_RESULT "Content-Length: 4\r\n\r\n0000");
	scene_want(s, PARSE_DONE, "0000");
	/* Each is announced, as a request with a credential is. */
	assert_true(scene_has(&s->w.records, "question   0\nquestion   0\n"));
	scene_finish(s);
}

static void
an_answer_may_end_with_its_connection(void **state)
{
	struct scene *s = scene_begin_asking();

	(void)state;
	scene_discover(s);
	scene_answer(s, INQUIRE_OK INQUIRE_ADVERT "\r\nabc");
	scene_want(s, PARSE_MORE, "abc");
	s->w.upstream[1].ends = true;
	world_turn(&s->w);
	scene_want(s, PARSE_DONE, "abc");
	scene_discover(s);
	assert_int_equal(s->w.n_upstreams, 3);
	scene_answer(s,
	    INQUIRE_OK INQUIRE_ADVERT
	    "Content-Length: 0\r\nConnection: close\r\n\r\n");
	scene_want(s, PARSE_DONE, "");
	assert_true(s->w.upstream[2].closed);
	scene_finish(s);
}

static void
an_answer_is_the_same_at_every_split(void **state)
{
	static const char text[] =
	    "HTTP/1.1 100 Continue\r\n\r\n" INQUIRE_OK INQUIRE_ADVERT
	    "Transfer-Encoding: chunked\r\n\r\n"
	    "3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n";
	struct scene *s = scene_begin_asking();

	(void)state;
	for (size_t i = 1; i < sizeof(text) - 1; i++) {
		scene_discover(s);
		buf_put(&s->w.latest->sends, slice_of(text, i));
		world_turn(&s->w);
		assert_true(inquire_is_pending(s->q));
		scene_answer(s, text + i);
		scene_want(s, PARSE_DONE, "abcde");
	}
	assert_int_equal(s->w.n_upstreams, 2);
	scene_finish(s);
}

static void
nothing_is_sent_before_it_is_in_the_log(void **state)
{
	struct scene *s = scene_begin_asking();

	(void)state;
	s->w.scribe_waits = true;
	scene_discover(s);
	assert_int_equal(s->w.n_upstreams, 2);
	assert_true(scene_has(&s->w.records, "question"));
	assert_int_equal(s->w.upstream[1].got.n, 0);
	scene_want(s, PARSE_MORE, "");
	s->w.scribe_waits = false;
	world_turn(&s->w);
	assert_true(scene_has(&s->w.upstream[1].got, "GET "));
	scene_finish(s);

	s = scene_begin_asking();
	s->w.scribe_waits = true;
	scene_discover(s);
	s->w.scribe_fails = true;
	s->w.scribe_waits = false;
	world_turn(&s->w);
	scene_want_bad(s, REASON_AUDIT_FULL, "the record could not be written");
	assert_int_equal(s->w.upstream[1].got.n, 0);
	/* Nor could it be sent. */
	scene_discover(s);
	scene_want_bad(s, REASON_AUDIT_FULL, "the record could not be written");
	assert_int_equal(s->w.upstream[2].got.n, 0);
	s->w.scribe_fails = false;
	scene_discover(s);
	assert_true(scene_has(&s->w.upstream[3].got, "GET "));
	scene_finish(s);
}

/* All that comes is there, in its order, however little of it is taken. */
static void
a_long_answer_waits_until_it_is_taken(void **state)
{
	static uint8_t text[4 * LIMIT_QUESTION_HEAD_SIZE];
	struct scene *s = scene_begin_asking();
	size_t n = 0;
	enum parse p;

	(void)state;
	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (uint8_t)(i * 7 + i / 251);
	scene_discover(s);
	buf_putf(&s->w.latest->sends,
	    INQUIRE_OK INQUIRE_ADVERT "Content-Length: %zu\r\n\r\n",
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
	scene_want(s, PARSE_DONE, "");
	scene_finish(s);
}

static void
a_used_connection_that_is_gone_is_made_anew_once(void **state)
{
	struct scene *s = scene_begin_asking();

	(void)state;
	scene_discover(s);
	scene_answer(s, INQUIRE_OK INQUIRE_ADVERT "Content-Length: 1\r\n\r\n0");
	scene_want(s, PARSE_DONE, "0");
	scene_discover(s);
	assert_int_equal(s->w.n_upstreams, 2);
	s->w.upstream[1].ends = true;
	world_turn(&s->w);
	assert_int_equal(s->w.n_upstreams, 3);
	assert_true(scene_has(&s->w.upstream[2].got, "GET "));
	s->w.upstream[2].ends = true;
	world_turn(&s->w);
	assert_int_equal(s->w.n_upstreams, 3);
	scene_want_bad(s, REASON_UP_RESPONSE,
	    "the connection ended before an answer to duenna's own question");

	/* One that ended meanwhile is not used at all. */
	scene_discover(s);
	scene_answer(s, INQUIRE_OK INQUIRE_ADVERT "Content-Length: 1\r\n\r\n0");
	scene_want(s, PARSE_DONE, "0");
	s->w.upstream[3].ends = true;
	world_turn(&s->w);
	scene_discover(s);
	assert_int_equal(s->w.n_upstreams, 5);
	scene_finish(s);
}

static void
it_may_end_whatever_it_waits_for(void **state)
{
	struct scene *s;

	(void)state;
	for (int i = 0; i < 6; i++) {
		print_message("# %d\n", i);
		s = scene_begin_asking();
		s->w.dial_waits = i == 1;
		s->w.scribe_waits = i == 2;
		s->w.release_waits = i == 3;
		if (i != 0)
			scene_discover(s);
		if (i == 5)
			scene_answer(s,
			    INQUIRE_OK INQUIRE_ADVERT
			    "Content-Length: 4\r\n\r\n00");
		inquire_free(s->q);
		s->q = NULL;
		assert_int_equal(s->w.sandbox->n_upstreams, 1);
		world_turn(&s->w);
		s->w.scribe_waits = false;
		world_turn(&s->w);
		scene_finish(s);
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
		s = scene_begin_asking();
		s->w.dial_waits = i == 1;
		s->w.scribe_waits = i == 2;
		s->w.release_waits = i == 3;
		scene_discover(s);
		s->w.dial_waits = s->w.scribe_waits = s->w.release_waits =
		    false;
		assert_true(inquire_ask(s->q, false, SLICE("0000")));
		world_turn(&s->w);
		assert_true(scene_has(&s->w.latest->got, "POST "));
		scene_answer(s,
		    INQUIRE_OK INQUIRE_RESULT "Content-Length: 1\r\n\r\n0");
		scene_want(s, PARSE_DONE, "0");
		scene_finish(s);
	}
}

static void
only_a_request_for_a_repository_can_be_asked_about(void **state)
{
	struct scene *s = scene_begin();
	struct slice path = s->r->facts.path;

	(void)state;
	s->r->facts.path = SLICE("/acme/app/x");
	assert_null(inquire_new(s->r));
	s->r->facts.path = SLICE("/acme/other/git-receive-pack");
	assert_null(inquire_new(s->r));
	s->r->facts.path = path;
	scene_finish(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    questions_go_over_one_connection_with_the_rules_credential),
		cmocka_unit_test(an_answer_may_end_with_its_connection),
		cmocka_unit_test(an_answer_is_the_same_at_every_split),
		cmocka_unit_test(nothing_is_sent_before_it_is_in_the_log),
		cmocka_unit_test(a_long_answer_waits_until_it_is_taken),
		cmocka_unit_test(
		    a_used_connection_that_is_gone_is_made_anew_once),
		cmocka_unit_test(it_may_end_whatever_it_waits_for),
		cmocka_unit_test(a_question_takes_the_place_of_the_one_before),
		cmocka_unit_test(
		    only_a_request_for_a_repository_can_be_asked_about),
	};

	return cmocka_run_group_tests_name("inquire", tests, NULL, NULL);
}
