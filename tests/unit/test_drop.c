/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is left to a role behind each stage of priv/drop.c, tried in a child:
 * files by Landlock alone, then calls by the system-call list.
 */
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <linux/landlock.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/attr.h"
#include "base/limits.h"
#include "priv/role.h"

enum seen {
	SEEN_OK,
	SEEN_REFUSED,
	SEEN_KILLED, /* by SIGSYS */
	SEEN_BROKEN, /* a stage failed, or it ended in another way */
};

static int
read_file(void)
{
	return open("/etc/passwd", O_RDONLY | O_CLOEXEC);
}

static int
write_file(void)
{
	return open("/tmp/duenna-test-drop", O_WRONLY | O_CREAT | O_CLOEXEC,
	    0600);
}

static int
make_socket(void)
{
	return socket(AF_INET, SOCK_STREAM, 0);
}

static int
make_unix(void)
{
	return socket(AF_UNIX, SOCK_STREAM, 0);
}

static int
execute(void)
{
	char name[] = "true", *argv[] = { name, NULL }, *env[] = { NULL };

	return execve("/bin/true", argv, env);
}

static int
make_process(void)
{
	return (int)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static enum seen
tried(enum role role, bool last, int (*try)(void))
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		if (isolate_start(role) != 0 || isolate_role(role) != 0 ||
		    (last && isolate_last(role) != 0))
			_exit(SEEN_BROKEN);
		_exit(try() >= 0 ? SEEN_OK : SEEN_REFUSED);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (WIFSIGNALED(status))
		return WTERMSIG(status) == SIGSYS ? SEEN_KILLED : SEEN_BROKEN;
	return (enum seen)WEXITSTATUS(status);
}

static void
want(enum role role, bool last, int (*try)(void), enum seen seen)
{
	print_message("# %s %s\n", role_name(role), last ? "last" : "role");
	assert_int_equal(tried(role, last, try), seen);
}

static void
landlock_leaves_no_file(void **state)
{
	(void)state;
	if (syscall(SYS_landlock_create_ruleset, NULL, 0,
		LANDLOCK_CREATE_RULESET_VERSION) < 1)
		skip();
	want(ROLE_STEWARD, false, read_file, SEEN_REFUSED);
	want(ROLE_CLERK, false, read_file, SEEN_REFUSED);
	want(ROLE_DIALER, false, read_file, SEEN_OK);
	want(ROLE_WORKER, false, read_file, SEEN_REFUSED);
	want(ROLE_KEEPER, false, read_file, SEEN_REFUSED);
	want(ROLE_SCRIBE, false, read_file, SEEN_REFUSED);
	want(ROLE_PORTER, false, read_file, SEEN_REFUSED);
	for (int r = ROLE_STEWARD; r < ROLE_COUNT; r++) {
		want((enum role)r, false, write_file, SEEN_REFUSED);
		want((enum role)r, false, execute, SEEN_REFUSED);
	}
}

static void
the_list_of_calls_kills(void **state)
{
	(void)state;
	/* A sanitizer opens files of its own, so there it is no end. */
	assert_int_not_equal(tried(ROLE_STEWARD, true, read_file), SEEN_OK);
	assert_int_not_equal(tried(ROLE_CLERK, true, read_file), SEEN_OK);
	for (int r = ROLE_STEWARD; r < ROLE_COUNT; r++) {
		want((enum role)r, true, make_socket,
		    r == ROLE_DIALER ? SEEN_OK : SEEN_KILLED);
		want((enum role)r, true, make_unix, SEEN_KILLED);
		want((enum role)r, true, execute, SEEN_KILLED);
		want((enum role)r, true, make_process, SEEN_KILLED);
	}
}

/* On descriptor 3, which a role keeps: an empty file, as the monitor hands one
 * over.  0: all came as it should. */
static int
write_far(void)
{
	char back[2] = "";

	if (pwrite(3, "x", 1, (off_t)LIMIT_HOLD_SIZE - 1) != 1 ||
	    pread(3, back, 1, (off_t)LIMIT_HOLD_SIZE - 1) != 1 ||
	    back[0] != 'x')
		return -1;
	if (pwrite(3, "x", 1, (off_t)LIMIT_HOLD_SIZE) != -1 || errno != EFBIG)
		return -1;
	if (ftruncate(3, (off_t)LIMIT_HOLD_SIZE + 1) != -1 || errno != EFBIG)
		return -1;
	return ftruncate(3, 0);
}

static void
a_worker_fills_no_disk(void **state)
{
	char name[] = "/tmp/duenna-test-drop-XXXXXX";
	int fd = mkostemp(name, O_CLOEXEC), was = fcntl(3, F_DUPFD_CLOEXEC, 4);

	(void)state;
	assert_true(fd >= 0);
	unlink(name);
	if (fd != 3)
		assert_int_equal(dup2(fd, 3), 3);
	want(ROLE_WORKER, true, write_far, SEEN_OK);
	if (was >= 0) {
		assert_int_equal(dup2(was, 3), 3);
		close(was);
	}
	if (fd != 3)
		close(fd);
}

int
main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(landlock_leaves_no_file),
		cmocka_unit_test(the_list_of_calls_kills),
		cmocka_unit_test(a_worker_fills_no_disk),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
