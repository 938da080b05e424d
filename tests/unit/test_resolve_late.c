/* SPDX-License-Identifier: Apache-2.0 */
#include "resolve_bed.h"

/* RFC 8305 section 3: a family that is late is not waited for. */
static void
resolve_does_not_wait_for_a_family_that_is_late(void **state)
{
	enum err err;
	struct resolver *r = resolver_new(loop, &err);
	struct server sv;
	struct result result;
	(void)state;

	server_init(&sv);
	struct servers s = list_of(&sv);
	for (int i = 0; i < 2; i++) {
		const struct script silent = { SILENT, 0, 0, false };
		const struct script one = { ANSWER, 1, 0, false };
		sv.a = i == 0 ? one : silent;
		sv.aaaa = i == 0 ? silent : one;
		result = (struct result){ .at_first = true };
		assert_non_null(resolve_start(r, SLICE("ok.test"), &s, on_done,
		    &result, &err));
		loop_run(loop);
		assert_int_equal(result.answer.reason, REASON_ALLOW);
		assert_int_equal(result.answer.n, 1);
		assert_int_equal(result.answer.ips[0].family, i == 0 ? 4 : 6);
		assert_true(result.answer.more);
		/* It is asked for again after a second, and then told. */
		sv.a = sv.aaaa = one;
		loop_run(loop);
		assert_int_equal(result.n_done, 2);
		assert_int_equal(result.answer.n, 2);
		assert_int_equal(result.answer.ips[1].family, i == 0 ? 6 : 4);
		assert_false(result.answer.more);
	}
	resolver_free(r);
	server_release(&sv);
}

/* What comes of neither family, or of the second one after all that time. */
static void
resolve_ends_without_the_family_that_never_comes(void **state)
{
	enum err err;
	struct resolver *r = resolver_new(loop, &err);
	struct server sv;
	struct result result;
	(void)state;

	server_init(&sv);
	sv.a = (struct script){ ANSWER, 1, 0, false };
	sv.aaaa = (struct script){ SILENT, 0, 0, false };
	run(r, &sv, &result);
	assert_int_equal(result.n_done, 2);
	assert_int_equal(result.answer.n, 1);
	/* Forgotten between the two: never told again. */
	struct servers s = list_of(&sv);
	result = (struct result){ .at_first = true };
	struct resolution *q =
	    resolve_start(r, SLICE("ok.test"), &s, on_done, &result, &err);
	assert_non_null(q);
	loop_run(loop);
	assert_true(result.answer.more);
	resolve_cancel(q);
	resolver_free(r);
	assert_int_equal(result.n_done, 1);
	server_release(&sv);
}

/* Turn the loop until the server has had so many questions. */
static void
wait_for_questions(const struct server *sv, unsigned n)
{
	while (sv->n_questions < n)
		event_base_loop(loop_base(loop), EVLOOP_ONCE);
}

/* The network changes while a question is out: it is asked once more. */
static void
resolve_asks_once_more_when_the_network_changes(void **state)
{
	enum err err;
	struct resolver *r = resolver_new(loop, &err);
	struct server old, new;
	struct result result = { 0 };
	(void)state;

	server_init(&old);
	server_init(&new);
	old.a = old.aaaa = (struct script){ SILENT, 0, 0, false };
	new.a = new.aaaa = (struct script){ ANSWER, 1, 0, false };
	struct servers s = list_of(&old), t = list_of(&new);
	resolver_set_host(r, &s);
	assert_non_null(
	    resolve_start(r, SLICE("ok.test"), NULL, on_done, &result, &err));
	wait_for_questions(&old, 2);
	resolver_set_host(r, &s); /* the same: no change */
	event_base_loop(loop_base(loop), EVLOOP_NONBLOCK);
	assert_int_equal(old.n_questions, 2);
	resolver_set_host(r, &t);
	loop_run(loop);
	assert_int_equal(result.answer.reason, REASON_ALLOW);
	assert_int_equal(result.answer.n, 2);
	assert_int_equal(old.n_questions, 2);
	assert_int_equal(new.n_questions, 2);

	/* The host has another address, and then another list. */
	result = (struct result){ 0 };
	resolver_set_host(r, &s);
	assert_non_null(
	    resolve_start(r, SLICE("ok.test"), NULL, on_done, &result, &err));
	wait_for_questions(&old, 4);
	resolver_network_changed(r);
	resolver_set_host(r, &t);
	loop_run(loop);
	assert_int_equal(result.answer.reason, REASON_ALLOW);
	assert_int_equal(old.n_questions, 4);
	assert_int_equal(new.n_questions, 4);

	/* A list of the owner's own. */
	result = (struct result){ 0 };
	assert_non_null(
	    resolve_start(r, SLICE("ok.test"), &s, on_done, &result, &err));
	wait_for_questions(&old, 6);
	clock_set(1000, 0);
	resolver_network_changed(r);
	clock_set(1000 + RESOLVE_SETTLE_MS, 0);
	timer_fire_due();
	clock_set(0, 0);
	wait_for_questions(&old, 8);
	/* Once, not for ever. */
	resolver_network_changed(r);
	old.a = old.aaaa = (struct script){ NXDOMAIN, 0, 0, false };
	loop_run(loop);
	assert_int_equal(result.answer.reason, REASON_UP_RESOLVE);
	assert_string_equal(result.answer.detail, "no such name");
	resolver_free(r);
	server_release(&old);
	server_release(&new);
}

/* What one family has said already is not asked again. */
static void
resolve_keeps_what_it_has_when_the_network_changes(void **state)
{
	enum err err;
	struct resolver *r = resolver_new(loop, &err);
	struct server sv;
	struct result result = { .at_first = true };
	(void)state;

	server_init(&sv);
	sv.a = (struct script){ ANSWER, 1, 0, false };
	sv.aaaa = (struct script){ SILENT, 0, 0, false };
	struct servers s = list_of(&sv);
	assert_non_null(
	    resolve_start(r, SLICE("ok.test"), &s, on_done, &result, &err));
	loop_run(loop);
	assert_true(result.answer.more);
	resolver_network_changed(r);
	assert_int_equal(result.n_done, 2);
	assert_int_equal(result.answer.n, 1);
	assert_int_equal(sv.n_questions, 2);
	resolver_free(r);
	server_release(&sv);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
		    resolve_does_not_wait_for_a_family_that_is_late),
		cmocka_unit_test(
		    resolve_ends_without_the_family_that_never_comes),
		cmocka_unit_test(
		    resolve_asks_once_more_when_the_network_changes),
		cmocka_unit_test(
		    resolve_keeps_what_it_has_when_the_network_changes),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
