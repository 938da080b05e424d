/* SPDX-License-Identifier: Apache-2.0 */
/* Connections of HTTP/2 on both sides: who shares one, when they end, and how. */
#include "h2peer.h"
#include "policy_bed.h"
#include "row.h"
#include "seen.h"

static const char policy[] =
    "version: 1\n"
    "policies:\n"
    "  p:\n"
    "    rules:\n"
    "      - {allow: 'https://api.test/**', methods: any}\n"
    "      - {allow: 'http://ok.test/**', methods: any}\n";

#define UPSTREAMS (LIMIT_H2_WIDE_LINKS + 2)

struct scene {
	struct bed bed, next; /* its policies; the first and the last */
	struct world w;
	struct h2peer client, upstream[UPSTREAMS];
};

static void
turn(struct scene *s)
{
	for (int i = 0; i < 4; i++) {
		world_turn(&s->w);
		h2peer_turn(&s->client);
		for (size_t j = 0; j < s->w.n_upstreams && j < UPSTREAMS; j++) {
			if (s->upstream[j].session == NULL)
				h2peer_begin(&s->upstream[j], &s->w.upstream[j],
				    true);
			h2peer_turn(&s->upstream[j]);
		}
	}
	world_turn(&s->w);
}

static void
pass(struct scene *s, uint64_t ms)
{
	world_pass(&s->w, ms);
	turn(s);
}

static void
connect_to(struct scene *s, const char *name, bool tls)
{
	struct ip dst;

	assert_true(program_address(s->w.sandbox->generation->program,
	    slice_of_str(name), &dst));
	world_connect(&s->w, &dst, tls ? 443 : 80);
	if (tls)
		world_put_hello(&s->w.client->sends, slice_of_str(name),
		    ALPN_OFFER_H2_HTTP11);
	world_turn(&s->w);
	h2peer_begin(&s->client, s->w.client, false);
	turn(s);
}

static struct scene *
begin(const char *name, bool tls)
{
	static struct scene s;

	s = (struct scene){ 0 };
	bed_load_trusted(&s.bed, NULL, policy);
	assert_non_null(s.bed.program);
	world_init(&s.w, s.bed.program);
	s.bed.program = NULL; /* the sandbox's now */
	s.w.chooses = ALPN_H2;
	connect_to(&s, name, tls);
	return &s;
}

static void
finish(struct scene *s)
{
	world_release(&s->w);
	assert_int_equal(s->w.n_wrong, 0);
	assert_int_equal(world_n_accounted(&s->w), s->w.n_clients);
	h2peer_release(&s->client);
	for (size_t i = 0; i < COUNT_OF(s->upstream); i++)
		h2peer_release(&s->upstream[i]);
	bed_release(&s->bed);
	bed_release(&s->next);
}

static void
ask(struct scene *s, const char *path)
{
	assert_true(h2peer_ask(&s->client, "GET", "api.test", path, NULL) > 0);
	turn(s);
}

/* Another policy, from now on. */
static void
change(struct scene *s, const char *rules)
{
	static char text[512];
	snprintf(text, sizeof(text),
	    "version: 1\npolicies:\n  p:\n    rules:\n%s", rules);
	bed_release(&s->next);
	bed_load_trusted(&s->next, NULL, text);
	assert_non_null(s->next.program);
	world_set_program(&s->w, s->next.program);
	s->next.program = NULL;
	turn(s);
}

static void
requests_share_a_link_that_ends_when_idle(void **state)
{
	struct scene *s = begin("api.test", true);

	(void)state;
	for (int i = 0; i < 20; i++)
		ask(s, "/a");
	assert_int_equal(s->w.n_upstreams, 1);
	assert_int_equal(s->upstream[0].n_asked, 20);
	while (h2peer_answer(&s->upstream[0], "200", "hello", false))
		turn(s);
	assert_int_equal(s->client.n_ends, 20);
	pass(s, LIMIT_POOL_IDLE_MS - 1);
	assert_false(s->w.upstream[0].closed);
	pass(s, 1);
	assert_true(s->w.upstream[0].closed && s->upstream[0].is_over);
	ask(s, "/b");
	assert_int_equal(s->w.n_upstreams, 2);
	finish(s);
}

static void
another_link_is_made_where_one_takes_no_more(void **state)
{
	struct scene *s = begin("api.test", true);
	const nghttp2_settings_entry one = {
		NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 1
	};

	(void)state;
	assert_int_equal(s->w.n_upstreams, 1);
	assert_int_equal(nghttp2_submit_settings(s->upstream[0].session,
			     NGHTTP2_FLAG_NONE, &one, 1),
	    0);
	turn(s);
	ask(s, "/a");
	ask(s, "/b");
	assert_int_equal(s->w.n_upstreams, 2);
	assert_int_equal(s->upstream[0].n_asked, 1);
	assert_int_equal(s->upstream[1].n_asked, 1);
	finish(s);
}

/* What origins may send unread is bounded over all links of a sandbox. */
static void
links_have_a_budget_of_windows(void **state)
{
	struct scene *s = begin("api.test", true);
	const nghttp2_settings_entry one = {
		NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, 1
	};

	(void)state;
	for (size_t i = 0; i < UPSTREAMS; i++) {
		struct h2peer *h = &s->upstream[i];
		if (i != 0)
			ask(s, "/a");
		assert_int_equal(s->w.n_upstreams, i + 1);
		assert_int_equal(nghttp2_submit_settings(h->session,
				     NGHTTP2_FLAG_NONE, &one, 1),
		    0);
		if (i == 0)
			ask(s, "/a");
		turn(s);
		assert_int_equal(nghttp2_session_get_remote_window_size(
				     h->session),
		    i < LIMIT_H2_WIDE_LINKS ? LIMIT_H2_UPSTREAM_WINDOWS :
					      LIMIT_H2_NARROW_WINDOWS);
	}
	/* One that ends gives its share back. */
	assert_true(h2peer_answer(&s->upstream[0], "200", NULL, false));
	turn(s);
	pass(s, LIMIT_POOL_IDLE_MS);
	assert_true(s->w.upstream[0].closed);
	assert_int_equal(s->w.sandbox->n_wide_links, LIMIT_H2_WIDE_LINKS - 1);
	finish(s);
}

static void
a_dial_that_fails_is_told_to_all_who_wait(void **state)
{
	struct scene *s = begin("api.test", true);

	(void)state;
	pass(s, LIMIT_POOL_IDLE_MS);
	s->w.dial_waits = true;
	ask(s, "/a");
	ask(s, "/b");
	s->w.dials = REASON_UP_CONNECT;
	s->w.dial_waits = false;
	turn(s);
	assert_int_equal(s->w.n_upstreams, 1);
	assert_int_equal(s->client.n_ends, 2);
	assert_true(seen_has(&s->w,
	    "request.end deny up.connect 502\n"
	    "request.end deny up.connect 502\n"));
	finish(s);
}

static void
what_is_refused_is_tried_once_more_elsewhere(void **state)
{
	struct scene *s = begin("api.test", true);

	(void)state;
	ask(s, "/a");
	assert_true(h2peer_reset(&s->upstream[0], NGHTTP2_REFUSED_STREAM));
	turn(s);
	assert_int_equal(s->w.n_upstreams, 2);
	assert_int_equal(s->client.n_resets, 0);
	assert_true(h2peer_reset(&s->upstream[1], NGHTTP2_REFUSED_STREAM));
	turn(s);
	/* Now it is the client who may. */
	assert_int_equal(s->w.n_upstreams, 2);
	assert_int_equal(s->client.n_resets, 1);
	assert_true(seen_has(&s->w, "request.end deny up.response 0\n"));
	finish(s);
}

/* Java's client forgets its answer at a reset; yet not for ever. */
static void
an_upload_that_is_refused_early_is_read_on(void **state)
{
	static char body[LIMIT_DRAIN_SIZE * 2];

	(void)state; /* half of what is dropped, then more */
	for (size_t much = 0; much < 2; much++) {
		struct scene *s = begin("api.test", true);
		memset(body, 'a', much ? sizeof(body) - 1 : sizeof(body) / 4);
		s->w.upstream[0].window = 1000; /* it reads the head alone */
		(void)h2peer_ask(&s->client, "POST", "api.test", "/a", body);
		turn(s);
		s->upstream->asked[0] = s->upstream->asked[1] = 1;
		s->upstream->n_asked = 2;
		assert_true(h2peer_answer(s->upstream, "403", NULL, false));
		turn(s);
		assert_true(h2peer_reset(s->upstream, NGHTTP2_NO_ERROR));
		for (int i = 0; i < 200; i++)
			turn(s);
		assert_true(
		    s->client.n_ends == 1 && s->client.n_resets == much);
		finish(s);
	}
}

static void
an_idle_client_is_told_to_go_and_then_cut(void **state)
{
	struct scene *s = begin("api.test", true);

	(void)state;
	ask(s, "/a");
	assert_true(h2peer_answer(&s->upstream[0], "200", "hello", false));
	turn(s);
	pass(s, LIMIT_CLIENT_IDLE_MS - 1);
	assert_false(s->client.is_over);
	pass(s, 1);
	assert_true(s->client.is_over); /* GOAWAY */
	pass(s, LIMIT_REFUSE_MS);
	pass(s, LIMIT_REFUSE_MS);
	assert_true(s->w.client->closed);
	assert_true(seen_has(&s->w, "flow.end allow allow 0\n"));
	finish(s);
}

static void
a_broken_protocol_ends_the_flow_and_says_so(void **state)
{
	struct scene *s = begin("api.test", true);

	(void)state;
	ask(s, "/a");
	/* HEADERS on stream 0: RFC 9113 6.2. */
	buf_put(&s->w.client->sends, SLICE("\0\0\1\1\5\0\0\0\0\x82"));
	turn(s);
	assert_true(s->client.is_over);
	assert_true(seen_has(&s->w, "request.end deny h2.protocol 0\n"));
	pass(s, LIMIT_DRAIN_MS);
	assert_true(seen_has(&s->w, "flow.end deny h2.protocol 0\n"));
	/* The origin is told that nobody wants it. */
	assert_int_equal(s->upstream[0].n_resets, 1);
	finish(s);
}

/* Answers that nobody reads fill the window of a link; see flow/link.c. */
static void
fill(struct scene *s, size_t upstream)
{
	static char text[LIMIT_H2_UPSTREAM_WINDOW + 1];
	const size_t n = LIMIT_H2_UPSTREAM_WINDOWS / LIMIT_H2_UPSTREAM_WINDOW;

	memset(text, 'a', sizeof(text) - 1);
	for (size_t i = 0; i < n; i++)
		ask(s, "/a");
	assert_int_equal(s->w.n_upstreams, upstream + 1);
	assert_int_equal(s->upstream[upstream].n_asked, n);
	while (h2peer_answer(&s->upstream[upstream], "200", text, false))
		continue;
	for (int i = 0; i < 20; i++)
		turn(s);
}

static void
links_that_are_clogged_are_gone_round_up_to_a_limit(void **state)
{
	struct scene *s = begin("api.test", true);

	(void)state;
	s->w.client->window = 0;
	for (size_t i = 0; i < LIMIT_H2_CLOGGED; i++)
		fill(s, i);
	/* Now one of them is used, and no other made. */
	ask(s, "/b");
	assert_int_equal(s->w.n_upstreams, LIMIT_H2_CLOGGED);
	finish(s);
}

static void
a_silent_upstream_is_asked_now_and_then(void **state)
{
	struct scene *s = begin("api.test", true);
	const uint64_t look = LIMIT_H2_SILENT_MS;

	(void)state;
	ask(s, "/a");
	pass(s, look); /* the request itself went */
	pass(s, look - 1);
	assert_int_equal(s->upstream[0].n_pings, 0);
	pass(s, 1);
	assert_int_equal(s->upstream[0].n_pings, 1);
	pass(s, LIMIT_H2_PING_MS);
	for (uint64_t ms = LIMIT_H2_PING_MS; ms + look < LIMIT_H2_PING_AGAIN_MS;
	     ms += look)
		pass(s, look);
	assert_int_equal(s->upstream[0].n_pings, 1);
	pass(s, look);
	assert_int_equal(s->upstream[0].n_pings, 2);
	/* Alive all the time. */
	assert_true(h2peer_answer(&s->upstream[0], "200", "hello", false));
	turn(s);
	assert_int_equal(s->client.n_ends, 1);
	assert_int_equal(s->client.n_resets, 0);
	finish(s);
}

static void
an_upstream_that_is_gone_is_not_waited_for(void **state)
{
	struct scene *s = begin("api.test", true);

	(void)state;
	/* The first is answered: then a link is as one from the pool. */
	ask(s, "/a");
	assert_true(h2peer_answer(&s->upstream[0], "200", "hello", false));
	turn(s);
	s->upstream[0].is_gone = true;
	ask(s, "/b");
	pass(s, LIMIT_H2_SILENT_MS); /* the watch of the first request */
	pass(s, LIMIT_H2_SILENT_MS);
	pass(s, LIMIT_H2_PING_MS - 1);
	assert_int_equal(s->w.n_upstreams, 1);
	pass(s, 1);
	/* What does no harm twice is asked once more, elsewhere. */
	assert_int_equal(s->w.n_upstreams, 2);
	s->upstream[1].is_gone = true;
	for (int i = 0; i < 3; i++)
		pass(s, LIMIT_H2_SILENT_MS);
	assert_int_equal(s->w.n_upstreams, 2);
	assert_true(seen_has(&s->w, "request.end deny up.response 502\n"));
	finish(s);
}

static void
it_is_not_spoken_in_the_clear(void **state)
{
	struct scene *s = begin("ok.test", false);

	(void)state;
	assert_int_equal(s->w.n_upstreams, 0);
	assert_true(seen_has(&s->w, "request.end deny http.malformed 400\n"));
	finish(s);
}

/* LC-06: streams end one by one, the connection and the others go on. */
static void
a_policy_that_changes_ends_what_it_refuses(void **state)
{
	struct scene *s = begin("api.test", true);

	(void)state;
	ask(s, "/stays");
	ask(s, "/goes/1");
	assert_int_equal(s->upstream[0].n_asked, 2);
	change(s,
	    "      - deny: https://api.test/goes/**\n"
	    "      - allow: https://api.test/**\n");
	assert_int_equal(s->client.n_ends, 1); /* told why */
	assert_int_equal(s->upstream[0].n_resets, 1);
	assert_true(seen_has(&s->w, "request.end deny policy.changed 403\n"));
	assert_true(h2peer_answer(&s->upstream[0], "200", "hello", false));
	turn(s);
	assert_int_equal(s->client.n_ends, 2);
	assert_true(seen_has(&s->w, "request.end allow allow 200\n"));
	assert_false(s->client.is_over);
	/* What comes next is of a dial by the present policy. */
	assert_true(s->w.upstream[0].closed);
	ask(s, "/next");
	assert_int_equal(s->w.n_upstreams, 2);
	assert_int_equal(s->upstream[1].n_asked, 1);
	finish(s);
}

static void
a_connection_that_no_rule_allows_any_more_is_told_to_go(void **state)
{
	struct scene *s = begin("api.test", true);

	(void)state;
	ask(s, "/streams");
	change(s, "      - allow: https://other.test/**\n");
	assert_true(seen_has(&s->w, "request.end deny policy.changed 403\n"));
	assert_true(s->client.is_over);
	pass(s, LIMIT_REFUSE_MS);
	pass(s, LIMIT_REFUSE_MS);
	assert_true(s->w.client->closed);
	finish(s);
}

/* Those who wait for one link are all asked for again, by the present policy. */
static void
a_dial_of_a_policy_that_is_over_is_made_again(void **state)
{
	struct scene *s = begin("api.test", true);

	(void)state;
	pass(s, LIMIT_POOL_IDLE_MS);
	s->w.dial_waits = true;
	ask(s, "/a");
	ask(s, "/b");
	change(s,
	    "      - allow: https://first.test/**\n"
	    "      - allow: https://api.test/**\n");
	s->w.dial_waits = false;
	turn(s);
	assert_int_equal(s->w.n_upstreams, 2);
	assert_int_equal(s->upstream[1].n_asked, 2);
	/* The dialer is behind: a little later. */
	while (h2peer_answer(&s->upstream[1], "200", NULL, false))
		turn(s);
	pass(s, LIMIT_POOL_IDLE_MS);
	s->w.roles_at = 1;
	ask(s, "/c");
	ask(s, "/d");
	assert_int_equal(s->w.n_upstreams, 2);
	s->w.roles_at = 0;
	pass(s, 100);
	assert_int_equal(s->w.n_upstreams, 3);
	assert_int_equal(s->upstream[2].n_asked, 2);
	assert_int_equal(s->client.n_resets, 0);
	finish(s);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(requests_share_a_link_that_ends_when_idle),
		cmocka_unit_test(another_link_is_made_where_one_takes_no_more),
		cmocka_unit_test(links_have_a_budget_of_windows),
		cmocka_unit_test(a_dial_that_fails_is_told_to_all_who_wait),
		cmocka_unit_test(what_is_refused_is_tried_once_more_elsewhere),
		cmocka_unit_test(an_upload_that_is_refused_early_is_read_on),
		cmocka_unit_test(an_idle_client_is_told_to_go_and_then_cut),
		cmocka_unit_test(a_broken_protocol_ends_the_flow_and_says_so),
		cmocka_unit_test(
		    links_that_are_clogged_are_gone_round_up_to_a_limit),
		cmocka_unit_test(a_silent_upstream_is_asked_now_and_then),
		cmocka_unit_test(an_upstream_that_is_gone_is_not_waited_for),
		cmocka_unit_test(it_is_not_spoken_in_the_clear),
		cmocka_unit_test(a_policy_that_changes_ends_what_it_refuses),
		cmocka_unit_test(
		    a_connection_that_no_rule_allows_any_more_is_told_to_go),
		cmocka_unit_test(a_dial_of_a_policy_that_is_over_is_made_again),
	};

	return cmocka_run_group_tests_name("serve h2", tests, NULL, NULL);
}
