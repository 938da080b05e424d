/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "priv/spawn.h"

int
spawn_pair(int pair[2], enum err *err)
{
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK,
		0, pair) == 0)
		return 0;
	*err = err_from_errno(errno);
	return -1;
}

/* In the child, between fork and exec: async-signal-safe calls only. */
static NORETURN void
become(enum role role, const char *title, int channel)
{
	static char *const no_environment[] = { NULL };
	char *argv[2] = { NULL, NULL };
	sigset_t none;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	(void)role;
	memcpy(&argv[0], &title, sizeof(title));
	setpgid(0, 0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (null < 0 || dup2(null, STDIN_FILENO) < 0 ||
	    dup2(null, STDOUT_FILENO) < 0)
		_exit(125);
	if (channel == ROLE_MONITOR_FD)
		fcntl(channel, F_SETFD, 0);
	else if (dup2(channel, ROLE_MONITOR_FD) < 0)
		_exit(125);
	execve("/proc/self/exe", argv, no_environment);
	_exit(125);
}

int
spawn_role(enum role role, struct spawned *s, enum err *err)
{
	char title[32];
	int pair[2];

	*s = (struct spawned){ .pid = -1, .pidfd = -1, .channel = -1 };
	if (spawn_pair(pair, err) != 0)
		return -1;
	snprintf(title, sizeof(title), "duenna: %s", role_name(role));
	pid_t pid = fork();
	if (pid == 0)
		become(role, title, pair[1]);
	if (pid < 0)
		*err = err_from_errno(errno);
	close(pair[1]);
	if (pid < 0) {
		close(pair[0]);
		return -1;
	}
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (pidfd < 0) {
		*err = err_from_errno(errno);
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		close(pair[0]);
		return -1;
	}
	*s = (struct spawned){ pid, pidfd, pair[0] };
	return 0;
}
