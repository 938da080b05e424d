/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "ns/fds.h"
#include "ns/inside.h"
#include "ns/outside.h"
#include "ns/pass.h"

struct inside {
	const struct inside_config *config; /* borrowed */
	int channel;			    /* to the monitor */
	int tty;			    /* the caller's, or -1 */
	int children;			    /* signalfd for SIGCHLD */
	pid_t command;
	struct outside *outside; /* owned */
};

/* Nobody is left to tell when the monitor is gone: all of us end. */
static void
tell(const struct inside *in, enum pid1_kind kind, int number,
    const struct fail *fail)
{
	struct inside_packet p = { .kind = kind, .number = number };

	if (fail != NULL)
		p.fail = *fail;
	if (pass_send(in->channel, slice_of(&p, sizeof(p)), NULL, 0) == -1)
		_exit(1);
}

static NORETURN void
give_up(const struct inside *in, int status, const struct fail *fail)
{
	tell(in, PID1_FAILED, status, fail);
	_exit(1);
}

/* The monitor knows our number, and what we say is understood from now on. */
static bool
has_go(const struct inside *in)
{
	struct inside_request r;

	return recv(in->channel, &r, sizeof(r), 0) == (ssize_t)sizeof(r) &&
	    r.op == INSIDE_GO;
}

static int
prepare(struct inside *in, struct fail *fail)
{
	const struct child *child = in->config->pid1->child;
	size_t n = child->n_keep_fd;
	int *keep = mem_array(n + 3, sizeof(*keep));
	sigset_t set;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_DUMPABLE, 0);
	if (!has_go(in))
		_exit(1);
	in->tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	for (size_t i = 0; i < n; i++)
		keep[i] = child->keep_fd[i];
	keep[n] = in->channel;
	keep[n + 1] = in->tty;
	keep[n + 2] = in->config->given.home;
	int kept = fds_keep(keep, n + 3, false);
	free(keep);
	if (kept == -1)
		return fail_errno(fail, "cannot close descriptors");
	fds_reset_signals();
	/* Else a stop for who touches the terminal from the background. */
	signal(SIGTTOU, SIG_IGN);
	signal(SIGTTIN, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	sigprocmask(SIG_SETMASK, &set, NULL);
	in->children = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (in->children == -1)
		return fail_errno(fail, "cannot make a signalfd");
	return 0;
}

/* The command's process, until it executes. */
static NORETURN void
become_command(const struct inside *in, int report)
{
	const struct pid1_config *pid1 = in->config->pid1;
	struct inside_packet p = { .kind = PID1_FAILED };

	char go;

	/* Until our parent has dropped its rights and hidden its arguments:
	 * the command could read them. */
	if (recv(report, &go, sizeof(go), 0) != (ssize_t)sizeof(go))
		_exit(CHILD_EXIT_FAULT);
	setpgid(0, 0);
	if (pid1->foreground && in->tty != -1)
		(void)tcsetpgrp(in->tty, getpid());
	p.number = child_exec(pid1->child, in->config->host_path, &p.fail);
	if (pass_send(report, slice_of(&p, sizeof(p)), NULL, 0) == -1)
		_exit(CHILD_EXIT_FAULT);
	_exit(p.number);
}

/*
 * The monitor's arguments and environment are in our memory: the latter may
 * hold secrets, and everybody in there may read the former in /proc.  Where
 * they are is told by /proc/1/stat, fields 48 to 51 of proc(5).
 */
static void
hide_arguments(void)
{
	enum {
		ARG_START = 48,
		ENV_END = 51
	};
	char text[2048];
	uintptr_t at[ENV_END + 1] = { 0 };
	int fd = open("/proc/1/stat", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd == -1 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd != -1)
		close(fd);
	text[n < 0 ? 0 : n] = '\0';
	char *p = strrchr(text, ')'); /* the end of field 2, a name */
	for (int field = 3; p != NULL && field <= ENV_END; field++) {
		p = strchr(p + 1, ' ');
		if (p != NULL)
			at[field] = strtoul(p + 1, NULL, 10);
	}
	if (at[ARG_START] != 0 && at[ENV_END] > at[ARG_START])
		explicit_bzero((void *)at[ARG_START],
		    at[ENV_END] - at[ARG_START]);
	prctl(PR_SET_NAME, "duenna-init");
}

/* Nothing that follows needs a right, and the command must find none. */
static void
drop_rights(void)
{
	struct __user_cap_header_struct head = {
		.version = _LINUX_CAPABILITY_VERSION_3
	};
	struct __user_cap_data_struct none[2] = { 0 };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (syscall(SYS_capset, &head, none) == -1)
		_exit(1);
	hide_arguments();
}

/* Start it; its end of the pair closes when it executes. */
static int
start_command(struct inside *in, struct inside_packet *p)
{
	uint8_t bytes[PASS_SIZE_MAX];
	int pair[2], fd[PASS_FD_MAX];

	p->number = CHILD_EXIT_FAULT;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == -1)
		return fail_errno(&p->fail, "cannot make a socket pair");
	in->command = fork();
	if (in->command == 0)
		become_command(in, pair[1]);
	close(pair[1]);
	if (in->command == -1) {
		close(pair[0]);
		return fail_errno(&p->fail, "cannot start a process");
	}
	drop_rights();
	if (pass_send(pair[0], SLICE("g"), NULL, 0) == -1)
		_exit(1);
	setpgid(in->command, in->command); /* whoever comes first */
	ssize_t n = pass_receive(pair[0], bytes, fd);
	close(pair[0]);
	if (n == 0)
		return 0;
	if (n != (ssize_t)sizeof(*p))
		return fail_set(&p->fail, ERR_MESSAGE,
		    "the command's process was lost");
	memcpy(p, bytes, sizeof(*p));
	return -1;
}

static void
to_foreground(const struct inside *in)
{
	if (in->tty != -1)
		(void)tcsetpgrp(in->tty, in->command);
	kill(-in->command, SIGCONT);
}

/* One request of the monitor's; its end is the end of all of us. */
static void
obey(const struct inside *in)
{
	struct inside_request r;
	ssize_t n = recv(in->channel, &r, sizeof(r), MSG_DONTWAIT);

	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != (ssize_t)sizeof(r))
		_exit(1);
	switch (r.op) {
	case INSIDE_SIGNAL:
		kill(r.number == SIGKILL ? -1 : -in->command, r.number);
		break;
	case INSIDE_FOREGROUND:
		to_foreground(in);
		break;
	case INSIDE_GO:
		break;
	}
}

/* Reap whoever has ended; true, and `status`, when the command has. */
static bool
reap(const struct inside *in, int *status)
{
	bool ended = false;
	pid_t pid;
	int s;

	while ((pid = waitpid(-1, &s, WNOHANG | WUNTRACED)) > 0) {
		if (pid != in->command)
			continue;
		if (WIFSTOPPED(s)) {
			tell(in, PID1_STOPPED, WSTOPSIG(s), NULL);
			continue;
		}
		*status = s;
		ended = true;
	}
	return ended;
}

static int
wait_for_command(const struct inside *in)
{
	struct pollfd p[] = { { .fd = in->channel, .events = POLLIN },
		{ .fd = in->children, .events = POLLIN } };
	struct signalfd_siginfo info;
	int status;

	/* It may have ended, or stopped, before we came here. */
	while (!reap(in, &status)) {
		if (poll(p, COUNT_OF(p), -1) == -1)
			continue;
		while (read(in->children, &info, sizeof(info)) > 0)
			continue;
		if (p[0].revents != 0)
			obey(in);
	}
	return status;
}

static void
on_outside(const char *text, void *arg)
{
	struct fail line = { 0 };

	snprintf(line.text, sizeof(line.text), "%s", text);
	tell(arg, PID1_OUTSIDE, 0, &line);
}

static NORETURN void
finish(struct inside *in, int status)
{
	kill(-1, SIGKILL);
	while (waitpid(-1, NULL, 0) > 0 || errno == EINTR)
		continue;
	outside_settle(in->outside, on_outside, in);
	if (WIFSIGNALED(status))
		tell(in, PID1_KILLED, WTERMSIG(status), NULL);
	else
		tell(in, PID1_EXITED, WEXITSTATUS(status), NULL);
	_exit(0);
}

void
inside_run(const struct inside_config *config)
{
	struct inside in = { .config = config, .channel = config->channel };
	struct inside_packet p = { .kind = PID1_FAILED };
	const struct view *view = config->pid1->view;
	struct repos repos;

	if (prepare(&in, &p.fail) == -1 ||
	    view_build(view, &config->given, config->pid1->child, &repos,
		&p.fail) == -1)
		give_up(&in, CHILD_EXIT_FAULT, &p.fail);
	in.outside = outside_new(view, &repos);
	if (start_command(&in, &p) == -1)
		give_up(&in, p.number, &p.fail);
	tell(&in, PID1_STARTED, 0, NULL);
	finish(&in, wait_for_command(&in));
}
