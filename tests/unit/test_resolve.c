/* SPDX-License-Identifier: Apache-2.0 */
/* The resolver against a scripted server on loopback. */
#include "resolve_bed.h"

static void
on_nothing(const struct resolved *answer_, void *arg)
{
	(void)answer_;
	(void)arg;
	fail_msg("a cancelled resolution was told");
}

/* clang-format off */
static const struct {
	const char *name;
	struct script a, aaaa;
	enum reason reason;
	size_t n;
	const char *detail;
} cases[] = {
	{ "both families", { ANSWER, 2, 0, 0 }, { ANSWER, 1, 0, 0 }, REASON_ALLOW, 3, "" },
	{ "no AAAA", { ANSWER, 1, 0, 0 }, { NODATA, 0, 0, 0 }, REASON_ALLOW, 1, "" },
	{ "no A", { NODATA, 0, 0, 0 }, { ANSWER, 2, 0, 0 }, REASON_ALLOW, 2, "" },
	{ "AAAA fails", { ANSWER, 1, 0, 0 }, { SERVFAIL, 0, 0, 0 }, REASON_ALLOW, 1, "" },
	{ "too many are cut", { ANSWER, 100, 0, 0 }, { ANSWER, 100, 0, 0 }, REASON_ALLOW, 64, "" },
	{ "over TCP", { TRUNCATED, 40, 0, 0 }, { NODATA, 0, 0, 0 }, REASON_ALLOW, 32, "" },
	{ "aliases", { ANSWER, 1, 3, 0 }, { NODATA, 0, 0, 0 }, REASON_ALLOW, 1, "" },
	{ "thirty aliases", { ANSWER, 1, 30, 0 }, { NODATA, 0, 0, 0 }, REASON_UP_RESOLVE, 0, "malformed or unusable answer" },
	{ "aliases in a circle", { ANSWER, 0, 4, 1 }, { NODATA, 0, 0, 0 }, REASON_UP_RESOLVE, 0, "the name has no address" },
	{ "no such name", { NXDOMAIN, 0, 0, 0 }, { NXDOMAIN, 0, 0, 0 }, REASON_UP_RESOLVE, 0, "no such name" },
	{ "SERVFAIL", { SERVFAIL, 0, 0, 0 }, { SERVFAIL, 0, 0, 0 }, REASON_UP_RESOLVE, 0, "the resolver failed, refused or is away" },
	{ "refused", { REFUSED, 0, 0, 0 }, { REFUSED, 0, 0, 0 }, REASON_UP_RESOLVE, 0, "the resolver failed, refused or is away" },
	{ "nothing there", { NODATA, 0, 0, 0 }, { NODATA, 0, 0, 0 }, REASON_UP_RESOLVE, 0, "the name has no address" },
	{ "malformed", { GARBAGE, 0, 0, 0 }, { NODATA, 0, 0, 0 }, REASON_UP_RESOLVE, 0, "malformed or unusable answer" },
	{ "address of another name", { OTHER_OWNER, 1, 0, 0 }, { NODATA, 0, 0, 0 }, REASON_UP_RESOLVE, 0, "the name has no address" },
};
/* clang-format on */

static void
resolve_answers_each_case(void **state)
{
	enum err err;
	(void)state;

	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		struct resolver *r = resolver_new(loop, &err);
		struct server sv;
		struct result result;

		print_message("# %s\n", cases[i].name);
		server_init(&sv);
		sv.a = cases[i].a;
		sv.aaaa = cases[i].aaaa;
		run(r, &sv, &result);
		assert_int_equal(result.answer.reason, cases[i].reason);
		assert_int_equal(result.answer.n, cases[i].n);
		assert_string_equal(result.answer.detail, cases[i].detail);
		assert_string_equal(sv.last, "ok.test");
		assert_false(sv.mixed);
		resolver_free(r);
		server_release(&sv);
	}
}

/* DN-16, DN-18: who is silent or answers to something else ends in time. */
static void
resolve_ends_in_time_without_a_fitting_answer(void **state)
{
	static const enum how hows[] = { SILENT, WRONG_ID, WRONG_NAME };
	enum err err;
	(void)state;

	struct server sv[COUNT_OF(hows)];
	struct result result[COUNT_OF(hows)] = { 0 };
	struct resolver *r = resolver_new(loop, &err);
	uint64_t began = clock_ms();

	for (size_t i = 0; i < COUNT_OF(hows); i++) {
		server_init(&sv[i]);
		sv[i].a = sv[i].aaaa = (struct script){ hows[i], 1, 0, false };
		struct servers s = list_of(&sv[i]);
		assert_non_null(resolve_start(r, SLICE("ok.test"), &s, on_done,
		    &result[i], &err));
	}
	for (size_t i = 0; i < COUNT_OF(hows); i++)
		while (result[i].n_done == 0)
			event_base_loop(loop_base(loop), EVLOOP_ONCE);
	assert_true(clock_ms() - began <= LIMIT_RESOLVE_MS + 500);
	resolver_free(r);
	for (size_t i = 0; i < COUNT_OF(hows); i++) {
		assert_int_equal(result[i].answer.reason, REASON_UP_RESOLVE);
		assert_true(sv[i].n_questions >= 2);
		server_release(&sv[i]);
	}
}

/* One that is cancelled is never told, and may outlive its asker in c-ares. */
static void
resolve_cancelled_is_not_told(void **state)
{
	enum err err;
	struct resolver *r = resolver_new(loop, &err);
	struct server sv;
	struct result result;
	(void)state;

	server_init(&sv);
	sv.a = sv.aaaa = (struct script){ ANSWER, 1, 0, false };
	struct servers s = list_of(&sv);
	for (int i = 0; i < 10; i++) {
		struct resolution *q = resolve_start(r, SLICE("ok.test"), &s,
		    on_nothing, NULL, &err);
		assert_non_null(q);
		resolve_cancel(q);
	}
	run(r, &sv, &result);
	assert_int_equal(result.answer.n, 2);
	/* And one that nobody ever answers is dropped with the resolver. */
	sv.a = sv.aaaa = (struct script){ SILENT, 0, 0, false };
	assert_non_null(
	    resolve_start(r, SLICE("ok.test"), &s, on_nothing, NULL, &err));
	event_base_loop(loop_base(loop), EVLOOP_NONBLOCK);
	resolver_free(r);
	server_release(&sv);
}

/* Each list of servers is asked for its own names, and by nobody else. */
static void
resolve_keeps_lists_of_servers_apart(void **state)
{
	enum err err;
	struct resolver *r = resolver_new(loop, &err);
	struct server sv[LINES_MAX + 2];
	struct result result;
	(void)state;

	for (size_t i = 0; i < COUNT_OF(sv); i++) {
		server_init(&sv[i]);
		sv[i].a = (struct script){ ANSWER, (unsigned)i + 1, 0, false };
		sv[i].aaaa = (struct script){ NODATA, 0, 0, false };
	}
	/* More lists than lines: idle ones are taken over. */
	for (size_t i = 0; i < COUNT_OF(sv); i++) {
		run(r, &sv[i], &result);
		assert_int_equal(result.answer.n, i + 1);
	}
	for (size_t i = 0; i < COUNT_OF(sv); i++)
		assert_int_equal(sv[i].n_questions, 2);

	/* All busy with other lists: refused, not sent to a wrong server. */
	for (size_t i = 0; i < LINES_MAX; i++) {
		struct servers s = list_of(&sv[i]);
		sv[i].a = sv[i].aaaa = (struct script){ SILENT, 0, 0, false };
		assert_non_null(resolve_start(r, SLICE("ok.test"), &s,
		    on_nothing, NULL, &err));
	}
	struct servers s = list_of(&sv[LINES_MAX]);
	assert_null(
	    resolve_start(r, SLICE("ok.test"), &s, on_nothing, NULL, &err));
	assert_int_equal(err, ERR_FULL);
	resolver_free(r);
	for (size_t i = 0; i < COUNT_OF(sv); i++)
		server_release(&sv[i]);
}

/* DN-19: the environment and files of the host are not consulted. */
static void
resolve_ignores_the_environment(void **state)
{
	enum err err;
	struct server sv;
	struct result result;
	(void)state;

	setenv("LOCALDOMAIN", "evil.test", 1);
	setenv("RES_OPTIONS", "ndots:5", 1);
	setenv("HOSTALIASES", "/dev/null", 1);
	struct resolver *r = resolver_new(loop, &err);
	unsetenv("LOCALDOMAIN");
	unsetenv("RES_OPTIONS");
	unsetenv("HOSTALIASES");
	server_init(&sv);
	sv.a = (struct script){ NXDOMAIN, 0, 0, false };
	sv.aaaa = sv.a;
	run(r, &sv, &result);
	assert_int_equal(result.answer.reason, REASON_UP_RESOLVE);
	assert_string_equal(sv.last, "ok.test");
	assert_int_equal(sv.n_questions, 2);

	/* No server at all, and one that refuses: at once, and no other. */
	struct servers none = { .n = 1,
		.ips = { ip_v4(127, 0, 0, 1) },
		.ports = { 1 } };
	result = (struct result){ 0 };
	assert_non_null(
	    resolve_start(r, SLICE("ok.test"), &none, on_done, &result, &err));
	loop_run(loop);
	assert_string_equal(result.answer.detail,
	    "the resolver failed, refused or is away");
	resolver_free(r);
	server_release(&sv);
}

/* The next server of the list is asked when the first does not answer. */
static void
resolve_asks_the_next_server(void **state)
{
	enum err err;
	struct resolver *r = resolver_new(loop, &err);
	struct server silent, good;
	struct result result = { 0 };
	(void)state;

	server_init(&silent);
	server_init(&good);
	silent.a = silent.aaaa = (struct script){ SERVFAIL, 0, 0, false };
	good.a = good.aaaa = (struct script){ ANSWER, 1, 0, false };
	struct servers s = { .n = 2,
		.ips = { ip_v4(127, 0, 0, 1), ip_v4(127, 0, 0, 1) },
		.ports = { silent.port, good.port } };
	resolver_set_host(r, &s);
	assert_non_null(
	    resolve_start(r, SLICE("ok.test"), NULL, on_done, &result, &err));
	loop_run(loop);
	assert_int_equal(result.answer.reason, REASON_ALLOW);
	assert_int_equal(silent.n_questions, 2);
	resolver_free(r);
	server_release(&silent);
	server_release(&good);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(resolve_answers_each_case),
		cmocka_unit_test(resolve_ends_in_time_without_a_fitting_answer),
		cmocka_unit_test(resolve_cancelled_is_not_told),
		cmocka_unit_test(resolve_keeps_lists_of_servers_apart),
		cmocka_unit_test(resolve_ignores_the_environment),
		cmocka_unit_test(resolve_asks_the_next_server),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
