/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/utf8.h"
#include "ns/fds.h"
#include "ns/inside.h"
#include "ns/pass.h"
#include "ns/pid1.h"

#define START_MS 30000 /* milliseconds are enough, but for a machine in need */
#define STOP_MS 10000  /* for its next word when it settles */

/*
 * Between the monitor and the first process stands this one, since who enters
 * a user namespace and makes a PID namespace is not in the latter itself.  The
 * first process is made a child of the monitor's, so that it dies with it.
 */
static NORETURN void
step_between(const struct inside_config *config)
{
	struct inside_packet p = { .kind = PID1_FAILED,
		.number = CHILD_EXIT_FAULT };
	int more = CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP;
	long pid = -1;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fds_reset_signals();
	if (netns_enter(config->pid1->netns, &p.fail) == -1)
		goto end;
	if (unshare(more) == -1) {
		fail_refused(&p.fail, FAIL_USER,
		    "cannot make mount, IPC, UTS and cgroup namespaces");
		goto end;
	}
	pid = syscall(SYS_clone, CLONE_NEWPID | CLONE_PARENT | SIGCHLD, 0, 0, 0,
	    0);
	if (pid == 0)
		inside_run(config);
	if (pid == -1)
		fail_refused(&p.fail, FAIL_USER, "cannot make a PID namespace");

end:
	if (pid != -1) {
		p.kind = PID1_STARTED;
		p.number = (int32_t)pid;
	}
	if (pass_send(config->channel, slice_of(&p, sizeof(p)), NULL, 0) == -1)
		_exit(1);
	_exit(0);
}

/* The first packet: the process's number, or why there is none.  What comes
 * behind it is news. */
static int
hear_number(struct pid1 *p, struct fail *fail)
{
	struct pollfd ready = { .fd = p->channel, .events = POLLIN };
	struct inside_packet packet;
	int rc;

	do {
		rc = poll(&ready, 1, START_MS);
	} while (rc == -1 && errno == EINTR);
	ssize_t n = recv(p->channel, &packet, sizeof(packet), MSG_DONTWAIT);
	if (n != (ssize_t)sizeof(packet))
		return fail_set(fail, ERR_CLOSED,
		    "the sandbox's first process did not start");
	if (packet.kind != PID1_STARTED) {
		*fail = packet.fail;
		return -1;
	}
	p->pid = packet.number;
	return 0;
}

static void
request(struct pid1 *p, enum inside_op op, int number)
{
	struct inside_request r = { .op = op, .number = number };

	/* If it is gone, its news say so. */
	(void)!pass_send(p->channel, slice_of(&r, sizeof(r)), NULL, 0);
}

int
pid1_start(const struct pid1_config *config, struct pid1 *p, struct fail *fail)
{
	struct inside_config inside = { .pid1 = config };
	char *host_path;
	int pair[2], result = -1;

	if (view_prepare(config->view, &inside.given, fail) == -1)
		return -1;
	child_host_path(config->child, &host_path);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == -1) {
		fail_errno(fail, "cannot make a socket pair");
		goto end;
	}
	inside.host_path = host_path;
	inside.channel = pair[1];
	*p = (struct pid1){ .pid = -1, .channel = pair[0] };
	pid_t between = fork();
	if (between == 0)
		step_between(&inside);
	close(pair[1]);
	if (between == -1)
		fail_errno(fail, "cannot start a process");
	else
		result = hear_number(p, fail);
	if (result == 0)
		request(p, INSIDE_GO, 0);
	else
		close(p->channel);
	while (between != -1 && waitpid(between, NULL, 0) == -1)
		if (errno != EINTR)
			break;

end:
	free(host_path);
	view_forget(&inside.given);
	return result;
}

/* Text for a terminal: what the command named must not steer it. */
static void
clean(char text[FAIL_TEXT_SIZE], bool one_line)
{
	text[FAIL_TEXT_SIZE - 1] = '\0';
	utf8_tame((uint8_t *)text, strlen(text), one_line ? 0 : '\n');
}

void
pid1_read(struct pid1 *p, struct pid1_news *news)
{
	struct inside_packet packet;
	ssize_t n = recv(p->channel, &packet, sizeof(packet), MSG_DONTWAIT);

	*news = (struct pid1_news){ .kind = PID1_NONE };
	if (n == -1 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n != (ssize_t)sizeof(packet) || packet.kind >= PID1_GONE ||
	    packet.kind <= PID1_NONE) {
		news->kind = PID1_GONE;
		return;
	}
	news->kind = packet.kind;
	news->number = packet.number;
	news->fail = packet.fail;
	clean(news->fail.text, packet.kind == PID1_OUTSIDE);
}

static bool
is_last(enum pid1_kind kind)
{
	return kind == PID1_FAILED || kind == PID1_EXITED ||
	    kind == PID1_KILLED || kind == PID1_GONE;
}

void
pid1_signal(struct pid1 *p, int number)
{
	request(p, INSIDE_SIGNAL, number);
}

void
pid1_foreground(struct pid1 *p)
{
	request(p, INSIDE_FOREGROUND, 0);
}

void
pid1_stop(struct pid1 *p, void (*on_outside)(const char *text))
{
	struct pollfd ready = { .fd = p->channel, .events = POLLIN };
	struct pid1_news news = { .kind = PID1_STARTED };
	int rc = 1;

	pid1_signal(p, SIGKILL);
	while (!is_last(news.kind) && (rc > 0 || errno == EINTR)) {
		rc = poll(&ready, 1, STOP_MS);
		pid1_read(p, &news);
		if (news.kind == PID1_OUTSIDE)
			on_outside(news.fail.text);
	}
}

void
pid1_release(struct pid1 *p)
{
	kill(p->pid, SIGKILL);
	while (waitpid(p->pid, NULL, 0) == -1)
		if (errno != EINTR)
			break;
	close(p->channel);
	*p = (struct pid1){ .pid = -1, .channel = -1 };
}

int
pid1_exit_status(const struct pid1_news *news)
{
	switch (news->kind) {
	case PID1_EXITED:
	case PID1_FAILED:
		return news->number & 0xff;
	case PID1_KILLED:
		return 128 + news->number;
	case PID1_GONE:
		return 128 + SIGKILL;
	case PID1_NONE:
	case PID1_STARTED:
	case PID1_STOPPED:
	case PID1_OUTSIDE:
		break;
	}
	return CHILD_EXIT_FAULT;
}
