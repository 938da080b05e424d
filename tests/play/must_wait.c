/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The check of flow/must_wait.h fires: a flow whose deadline, reading or event
 * was taken away ends the program.  Each in a child.
 */
#include <sys/socket.h>
#include <sys/wait.h>

#include <signal.h>
#include <unistd.h>

#include <event2/event.h>

#include "policy_bed.h"
#include "row.h"
#include "world.h"

static const char policy[] = "version: 1\n"
			     "policies:\n"
			     "  p: {rules: [{allow: 'https://ok.test/**'}]}\n";

/* A connection of which no byte has come. */
static struct flow *
begin(struct world *w, struct bed *b)
{
	struct ip dst;
	int fd[2];

	bed_load_trusted(b, NULL, policy);
	assert_non_null(b->program);
	assert_true(program_address(b->program, SLICE("ok.test"), &dst));
	world_init(w, b->program);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0,
			     fd),
	    0);
	flow_accept(w->sandbox, fd[0], &dst, 443, REASON_ALLOW);
	world_turn(w);
	assert_false(LIST_EMPTY(&w->sandbox->flows));
	return LIST_FIRST(&w->sandbox->flows);
}

static void
take_nothing(struct flow *f)
{
	(void)f;
}

static void
take_deadline(struct flow *f)
{
	timer_stop(&f->limit);
}

/* On purpose, as if for another side's sake, of which there is none. */
static void
take_reading(struct flow *f)
{
	stream_hold(f->client, true);
	event_del(f->client->readable);
}

static void
take_event(struct flow *f)
{
	event_del(f->client->readable);
}

static void
run_without(void (*take)(struct flow *f))
{
	struct world w;
	struct bed b;
	struct flow *f = begin(&w, &b);

	take(f);
	flow_run(f);
	_exit(0);
}

/* How a child ends, and what it says. */
static int
end_of(void (*take)(struct flow *f), char *said, size_t max)
{
	int fd[2], status;

	assert_int_equal(pipe(fd), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		(void)dup2(fd[1], 2);
		(void)signal(SIGABRT, SIG_DFL); /* cmocka would catch it */
		run_without(take);
	}
	close(fd[1]);
	ssize_t n = read(fd[0], said, max - 1);
	said[n < 0 ? 0 : n] = '\0';
	close(fd[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

static void
a_flow_that_nothing_wakes_ends_the_program(void **state)
{
	static const struct {
		const char *name;
		void (*take)(struct flow *f);
		const char *says; /* NULL: it may wait */
	} cases[] = {
		{ "as it is", take_nothing, NULL },
		{ "no deadline", take_deadline, "waits without a deadline" },
		{ "nobody asked, nothing read", take_reading,
		    "waits for nothing but its deadline" },
		{ "reads without an event", take_event,
		    "a stream should go on, and no event will come" },
	};
	char said[256];

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++) {
		print_message("# %s\n", cases[i].name);
		int status = end_of(cases[i].take, said, sizeof(said));
		if (cases[i].says == NULL) {
			assert_true(WIFEXITED(status));
			assert_int_equal(WEXITSTATUS(status), 0);
			assert_string_equal(said, "");
			continue;
		}
		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), SIGABRT);
		assert_non_null(strstr(said, " in PEEK: "));
		assert_non_null(strstr(said, cases[i].says));
	}
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_flow_that_nothing_wakes_ends_the_program),
	};

	return cmocka_run_group_tests_name("must_wait", tests, NULL, NULL);
}
