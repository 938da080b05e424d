/* SPDX-License-Identifier: Apache-2.0 */
/* Secrets that commands print: what comes out of a pipe, and when it counts. */
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>
#include <event2/event.h>

#include "base/clock.h"
#include "base/limits.h"
#include "keep/fresh.h"
#include "keep/store.h"
#include "net/timer.h"
#include "policy_bed.h"

#define CONFIG                                             \
	"version: 1\n"                                     \
	"credentials:\n"                                   \
	"  fixed:\n"                                       \
	"    kind: token\n"                                \
	"    secret: {file: /run/secrets/one}\n"           \
	"    only: [\"https://api.test/**\"]\n"            \
	"  asked:\n"                                       \
	"    kind: token\n"                                \
	"    secret: {command: [/bin/x], for: 5m}\n"       \
	"    only: [\"https://api.test/**\"]\n"            \
	"  rotated:\n"                                     \
	"    kind: token\n"                                \
	"    secret: {file: /run/secrets/two, for: 10s}\n" \
	"    only: [\"https://api.test/**\"]\n"

enum credential {
	FIXED,
	ASKED,
	ROTATED,
};

#define TOKEN "token-of-twenty-bytes"

struct fixture {
	struct bed policy;
	struct loop *loop;
	struct store *store;
	struct fresh *fresh;
	unsigned n_asked, n_settled;
	uint32_t asked, settled;
	bool refuses; /* the monitor cannot be asked */
	char why[128];
	int output; /* the command's end of the pipe; -1: none */
};

static bool
on_ask(uint32_t credential, void *arg)
{
	struct fixture *f = arg;

	f->n_asked++;
	f->asked = credential;
	return !f->refuses;
}

static void
on_settled(uint32_t credential, const char *why, void *arg)
{
	struct fixture *f = arg;

	f->n_settled++;
	f->settled = credential;
	snprintf(f->why, sizeof(f->why), "%s", why == NULL ? "" : why);
}

static const struct fresh_ops ops = { on_ask, on_settled };

static int
setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));
	enum err err;

	bed_load(&f->policy, CONFIG,
	    "version: 1\npolicies: {p: {rules: []}}\n");
	assert_non_null(f->policy.owner);
	clock_set(1000000, 0);
	f->loop = loop_new(&err);
	f->store = store_new(&err);
	f->fresh = fresh_new(f->loop, f->store, &ops, f, &err);
	assert_int_equal(store_set_owner(f->store, f->policy.owner, &err), 0);
	f->policy.owner = NULL;
	f->output = -1;
	*state = f;
	return 0;
}

static int
teardown(void **state)
{
	struct fixture *f = *state;

	if (f->output >= 0)
		close(f->output);
	fresh_free(f->fresh);
	store_free(f->store);
	loop_free(f->loop);
	bed_release(&f->policy);
	clock_set(0, 0);
	free(f);
	return 0;
}

static void
turn(struct fixture *f)
{
	for (int i = 0; i < 5; i++)
		event_base_loop(loop_base(f->loop), EVLOOP_NONBLOCK);
}

static void
begin(struct fixture *f)
{
	int pair[2];

	if (f->output >= 0)
		close(f->output);
	assert_int_equal(pipe(pair), 0);
	f->output = pair[1];
	f->n_settled = f->n_asked = 0;
	fresh_take_pipe(f->fresh, ASKED, pair[0]);
}

static void
print(struct fixture *f, const void *p, size_t n)
{
	assert_int_equal(write(f->output, p, n), (ssize_t)n);
	turn(f);
}

static void
done(struct fixture *f)
{
	close(f->output);
	f->output = -1;
	turn(f);
}

/* The value that the store has of `asked`; "" if none. */
static const char *
value(struct fixture *f)
{
	static char text[64];
	struct secret s = { 0 };
	enum err err;

	text[0] = '\0';
	if (store_is_current(f->store, ASKED) &&
	    store_value(f->store, ASKED, NULL, &s, &err) == 0)
		snprintf(text, sizeof(text), "%.*s",
		    SLICE_ARG(secret_slice(&s)));
	secret_release(&s);
	return text;
}

#define S(text) text, sizeof(text) - 1

static const struct {
	const char *name, *text;
	size_t n;
	const char *value, *why; /* one of them is "" */
} printed[] = {
	{ "one line", S(TOKEN "\n"), "Bearer " TOKEN, "" },
	{ "no line end", S(TOKEN), "Bearer " TOKEN, "" },
	{ "of another system", S(TOKEN "\r\n"), "Bearer " TOKEN, "" },
	{ "the first of several", S(TOKEN "\nexpires: never\n\x01"),
	    "Bearer " TOKEN, "" },
	{ "nothing", S(""), "",
	    "its command printed nothing, or an empty first line" },
	{ "an empty first line", S("\n" TOKEN "\n"), "",
	    "its command printed nothing, or an empty first line" },
	{ "NUL", S(TOKEN "\0\n"), "",
	    "what its command printed cannot stand in a request (a control "
	    "character, or a blank at an end)" },
	{ "CR inside", S("token\rof-twenty-bytes\n"), "",
	    "what its command printed cannot stand in a request (a control "
	    "character, or a blank at an end)" },
	{ "a blank behind", S(TOKEN " \n"), "",
	    "what its command printed cannot stand in a request (a control "
	    "character, or a blank at an end)" },
};

static void
fresh_takes_the_first_line(void **state)
{
	struct fixture *f = *state;

	for (size_t i = 0; i < COUNT_OF(printed); i++) {
		print_message("# %s\n", printed[i].name);
		begin(f);
		if (printed[i].n != 0)
			print(f, printed[i].text, printed[i].n);
		done(f);
		assert_int_equal(f->n_settled, 0);
		fresh_take_end(f->fresh, ASKED, true);
		assert_int_equal(f->n_settled, 1);
		assert_int_equal(f->settled, ASKED);
		assert_string_equal(f->why, printed[i].why);
		assert_string_equal(value(f), printed[i].value);
	}
}

static void
fresh_takes_it_byte_by_byte(void **state)
{
	struct fixture *f = *state;

	begin(f);
	for (const char *p = TOKEN "\nrest"; *p != '\0'; p++)
		print(f, p, 1);
	fresh_take_end(f->fresh, ASKED, true);
	assert_string_equal(value(f), "Bearer " TOKEN);
}

/* A child of the command that holds the pipe open does not hold us up, and what
 * it says later is not read. */
static void
fresh_does_not_wait_for_the_end_of_the_output(void **state)
{
	struct fixture *f = *state;

	begin(f);
	assert_int_equal(write(f->output, TOKEN, sizeof(TOKEN) - 1),
	    (ssize_t)sizeof(TOKEN) - 1);
	fresh_take_end(f->fresh, ASKED, true);
	assert_int_equal(f->n_settled, 1);
	assert_string_equal(value(f), "Bearer " TOKEN);
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(write(f->output, "x", 1), -1);
}

static void
fresh_takes_nothing_of_one_that_failed(void **state)
{
	struct fixture *f = *state;

	begin(f);
	print(f, TOKEN "\n", sizeof(TOKEN));
	fresh_take_end(f->fresh, ASKED, false);
	assert_int_equal(f->n_settled, 1);
	assert_string_equal(f->why, "");
	assert_string_equal(value(f), "");
	/* Not again at once, whoever wants it. */
	assert_false(fresh_want(f->fresh, ASKED));
	assert_int_equal(f->n_asked, 0);
	clock_set(1000000 + LIMIT_SECRET_RETRY_MS, 0);
	assert_true(fresh_want(f->fresh, ASKED));
	assert_int_equal(f->n_asked, 1);
}

static void
fresh_takes_no_more_than_its_limit(void **state)
{
	struct fixture *f = *state;
	uint8_t much[4096];

	memset(much, 'x', sizeof(much));
	begin(f);
	signal(SIGPIPE, SIG_IGN);
	for (int i = 0; i < 17 && f->n_settled == 0; i++)
		print(f, much, sizeof(much));
	assert_int_equal(f->n_settled, 1);
	assert_string_equal(f->why, "its command printed more than 64 KiB");
	/* It ends by the pipe that nobody reads; that is no second end. */
	fresh_take_end(f->fresh, ASKED, false);
	assert_int_equal(f->n_settled, 1);

	/* A line that is no secret any more. */
	clock_set(2000000, 0);
	begin(f);
	for (int i = 0; i < 5; i++)
		print(f, much, sizeof(much));
	fresh_take_end(f->fresh, ASKED, true);
	assert_string_equal(f->why,
	    "the first line that its command printed is longer than 16 KiB");
}

static void
fresh_gives_up_in_time(void **state)
{
	struct fixture *f = *state;

	/* The monitor is about to say something of it: nobody asks. */
	assert_true(fresh_want(f->fresh, ASKED));
	assert_true(fresh_want(f->fresh, ASKED));
	assert_int_equal(f->n_asked, 0);
	for (unsigned i = 0; i < 2; i++) {
		uint64_t began = clock_ms();
		clock_set(began + LIMIT_SECRET_COMMAND_MS, 0);
		timer_fire_due();
		assert_int_equal(f->n_settled, i);
		clock_set(began + LIMIT_SECRET_COMMAND_MS + 2000, 0);
		timer_fire_due();
		assert_int_equal(f->n_settled, i + 1);
		assert_string_equal(f->why, "no word of it in time");
		assert_false(fresh_want(f->fresh, ASKED));
		clock_set(clock_ms() + LIMIT_SECRET_RETRY_MS, 0);
		assert_true(fresh_want(f->fresh, ASKED));
		assert_int_equal(f->n_asked, i + 1);
	}
	assert_int_equal(f->asked, ASKED);
}

/* CR-28: used until its time is over, and until the next one is there. */
static void
fresh_is_asked_for_when_its_time_is_over(void **state)
{
	struct fixture *f = *state;

	begin(f);
	print(f, TOKEN "-1\n", sizeof(TOKEN) + 2);
	fresh_take_end(f->fresh, ASKED, true);
	clock_set(1000000 + 299999, 0);
	assert_string_equal(value(f), "Bearer " TOKEN "-1");
	clock_set(1000000 + 300000, 0);
	assert_string_equal(value(f), "");
	assert_true(fresh_want(f->fresh, ASKED));
	assert_int_equal(f->n_asked, 1);
	/* What was granted before is still given. */
	struct secret s;
	enum err err;
	assert_int_equal(store_value(f->store, ASKED, NULL, &s, &err), 0);
	secret_release(&s);
	begin(f);
	print(f, TOKEN "-2\n", sizeof(TOKEN) + 2);
	fresh_take_end(f->fresh, ASKED, true);
	assert_string_equal(value(f), "Bearer " TOKEN "-2");
}

static void
fresh_takes_what_it_is_given(void **state)
{
	struct fixture *f = *state;
	enum err err;

	/* One for ever is waited for, and never asked for. */
	assert_true(fresh_want(f->fresh, FIXED));
	fresh_take_given(f->fresh, FIXED, false);
	assert_int_equal(f->n_settled, 1);
	assert_false(fresh_want(f->fresh, FIXED));
	clock_set(1000000 + LIMIT_SECRET_RETRY_MS, 0);
	assert_false(fresh_want(f->fresh, FIXED));
	assert_false(fresh_want(f->fresh, 99));
	assert_int_equal(f->n_asked, 0);
	f->n_settled = 0;
	clock_set(1000000, 0);
	assert_true(fresh_want(f->fresh, ROTATED));
	assert_int_equal(store_set_secret(f->store, ROTATED, true, SLICE(TOKEN),
			     &err),
	    0);
	fresh_take_given(f->fresh, ROTATED, true);
	assert_int_equal(f->n_settled, 1);
	assert_true(store_is_current(f->store, ROTATED));
	clock_set(1000000 + 10000, 0);
	assert_false(store_is_current(f->store, ROTATED));
	/* The file is gone by now. */
	assert_true(fresh_want(f->fresh, ROTATED));
	fresh_take_given(f->fresh, ROTATED, false);
	assert_int_equal(f->n_settled, 2);
	assert_false(fresh_want(f->fresh, ROTATED));
	/* The monitor does not hear us. */
	f->refuses = true;
	clock_set(2000000, 0);
	fresh_take_given(f->fresh, ASKED, true);
	assert_false(fresh_want(f->fresh, ASKED));
	/* A pipe for what is not there is closed. */
	int pair[2];
	assert_int_equal(pipe(pair), 0);
	fresh_take_pipe(f->fresh, 99, pair[0]);
	assert_int_equal(fcntl(pair[0], F_GETFD), -1);
	close(pair[1]);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(fresh_takes_the_first_line,
		    setup, teardown),
		cmocka_unit_test_setup_teardown(fresh_takes_it_byte_by_byte,
		    setup, teardown),
		cmocka_unit_test_setup_teardown(
		    fresh_does_not_wait_for_the_end_of_the_output, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(
		    fresh_takes_nothing_of_one_that_failed, setup, teardown),
		cmocka_unit_test_setup_teardown(
		    fresh_takes_no_more_than_its_limit, setup, teardown),
		cmocka_unit_test_setup_teardown(fresh_gives_up_in_time, setup,
		    teardown),
		cmocka_unit_test_setup_teardown(
		    fresh_is_asked_for_when_its_time_is_over, setup, teardown),
		cmocka_unit_test_setup_teardown(fresh_takes_what_it_is_given,
		    setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
