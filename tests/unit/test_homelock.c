/* SPDX-License-Identifier: Apache-2.0 */
/* A home is one process's at a time, and what was left goes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ns/home.h"
#include "ns/homelock.h"

static char top[] = "/tmp/test-homelock-XXXXXX";

static int
make(void **state)
{
	(void)state;
	assert_non_null(mkdtemp(top));
	assert_int_equal(chdir(top), 0);
	assert_int_equal(mkdir("homes", 0700), 0);
	return 0;
}

static int
clean(void **state)
{
	struct fail fail = { 0 };

	(void)state;
	assert_int_equal(chdir("/"), 0);
	assert_int_equal(home_remove(top, &fail), 0);
	return 0;
}

/* A run that has the home, until it is killed.  Returns once it has it. */
static pid_t
other_run(const char *name, bool once)
{
	struct homelock l;
	struct fail fail = { 0 };
	int ready[2];
	char byte = 0;

	assert_int_equal(pipe(ready), 0);
	pid_t pid = fork();
	if (pid == 0) {
		if (homelock_take(&l, top, name, once, &fail) == 0)
			(void)!write(ready[1], &byte, 1);
		close(ready[1]);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 1);
	close(ready[0]);
	return pid;
}

static void
kill_run(pid_t pid)
{
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static bool
is_there(const char *path)
{
	return access(path, F_OK) == 0;
}

static void
homelock_names_who_has_it(void **state)
{
	struct homelock l;
	struct fail fail = { 0 };
	char want[64];
	pid_t pid = other_run("mine", false);

	(void)state;
	assert_int_equal(homelock_take(&l, top, "mine", false, &fail), -1);
	snprintf(want, sizeof(want), "process %ld:", (long)pid);
	assert_non_null(strstr(fail.text, want));
	assert_int_equal(homelock_take(&l, top, "other", false, &fail), 0);
	homelock_release(&l, false);
	kill_run(pid);
	/* A file without a holder is nobody's. */
	assert_true(is_there("locks/mine"));
	assert_int_equal(homelock_take(&l, top, "mine", false, &fail), 0);
	homelock_release(&l, false);
	assert_false(is_there("locks/mine"));
}

static void
homelock_cleans_what_was_left_and_nothing_else(void **state)
{
	static const char *const homes[] = { "homes/once", "homes/kept",
		"homes/runs", "homes/unlocked" };
	pid_t once = other_run("once", true);
	pid_t kept = other_run("kept", false);
	pid_t runs = other_run("runs", true);

	(void)state;
	for (size_t i = 0; i < COUNT_OF(homes); i++)
		assert_int_equal(mkdir(homes[i], 0700), 0);
	kill_run(once);
	kill_run(kept);
	homelock_clean(top);
	assert_false(is_there("homes/once"));
	assert_false(is_there("locks/once"));
	assert_true(is_there("homes/kept"));
	assert_true(is_there("locks/kept")); /* perhaps of one that begins */
	assert_true(is_there("homes/runs"));
	assert_true(is_there("locks/runs"));
	assert_true(is_there("homes/unlocked"));
	kill_run(runs);
	homelock_clean(top);
	assert_false(is_there("homes/runs"));
}

/* Whoever takes the name of a home that was left begins with none. */
static void
homelock_gives_no_left_home(void **state)
{
	struct homelock l;
	struct fail fail = { 0 };
	pid_t pid = other_run("again", true);

	(void)state;
	assert_int_equal(mkdir("homes/again", 0700), 0);
	kill_run(pid);
	assert_int_equal(homelock_take(&l, top, "again", false, &fail), 0);
	assert_false(is_there("homes/again"));
	assert_int_equal(mkdir("homes/again", 0700), 0);
	homelock_release(&l, true);
	homelock_clean(top);
	assert_true(is_there("homes/again")); /* it was given a name */
}

static void
homelock_removes_a_bounded_number(void **state)
{
	char path[64];
	unsigned n = 0;

	(void)state;
	for (unsigned i = 0; i < HOMELOCK_LEFT_MAX + 3; i++) {
		snprintf(path, sizeof(path), "many-%u", i);
		kill_run(other_run(path, true));
		snprintf(path, sizeof(path), "homes/many-%u", i);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	homelock_clean(top);
	for (unsigned i = 0; i < HOMELOCK_LEFT_MAX + 3; i++) {
		snprintf(path, sizeof(path), "homes/many-%u", i);
		n += is_there(path);
	}
	assert_int_equal(n, 3);
}

/* A link in place of the file would make us write elsewhere. */
static void
homelock_follows_no_link(void **state)
{
	struct homelock l;
	struct fail fail = { 0 };

	(void)state;
	assert_int_equal(symlink("../elsewhere", "locks/linked"), 0);
	assert_int_equal(homelock_take(&l, top, "linked", true, &fail), -1);
	assert_false(is_there("elsewhere"));
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(homelock_names_who_has_it),
		cmocka_unit_test(
		    homelock_cleans_what_was_left_and_nothing_else),
		cmocka_unit_test(homelock_gives_no_left_home),
		cmocka_unit_test(homelock_removes_a_bounded_number),
		cmocka_unit_test(homelock_follows_no_link),
	};

	cmocka_set_message_output(CM_OUTPUT_TAP);
	return cmocka_run_group_tests(tests, make, clean);
}
