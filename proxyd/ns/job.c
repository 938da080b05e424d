/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ns/job.h"

const int job_signals[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGTSTP, SIGCONT,
	SIGUSR1, SIGUSR2, SIGWINCH, 0 };

/* tcsetpgrp and tcsetattr from the background stop who calls them, unless the
 * signal is ignored. */
static void
set_terminal(const struct job *job, pid_t group, const struct termios *modes)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;

	sigaction(SIGTTOU, &ignore, &before);
	(void)tcsetpgrp(job->tty, group);
	(void)tcsetattr(job->tty, TCSANOW, modes);
	sigaction(SIGTTOU, &before, NULL);
}

void
job_init(struct job *job)
{
	*job = (struct job){ .group = getpgrp() };
	job->tty = open("/dev/tty", O_RDWR | O_CLOEXEC | O_NOCTTY);
	if (job->tty == -1 || tcgetattr(job->tty, &job->modes) == 0)
		return;
	close(job->tty);
	job->tty = -1;
}

static bool
has_terminal(const struct job *job)
{
	return job->tty != -1 && tcgetpgrp(job->tty) == job->group;
}

bool
job_is_foreground(const struct job *job)
{
	struct stat st;

	if (!has_terminal(job))
		return false;
	/* At a pipe there may be a neighbour, a pager for one, that wants the
	 * keyboard at once. */
	for (int fd = 0; fd <= 2; fd++)
		if (fstat(fd, &st) == 0 &&
		    (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)))
			return false;
	return true;
}

void
job_start(struct job *job, struct pid1 *pid1)
{
	job->pid1 = pid1;
	job->lent = job_is_foreground(job);
}

void
job_signal(struct job *job, int number)
{
	bool kills = number == SIGTERM && job->terminated;

	if (job->pid1 == NULL)
		return;
	if (number == SIGTERM)
		job->terminated = true;
	job->passed |= 1u << number;
	pid1_signal(job->pid1, kills ? SIGKILL : number);
}

/* Stop as the keyboard stops a job: the whole group of the caller's, unless it
 * is an orphan, which nobody would wake. */
static void
stop_ourselves(void)
{
	struct sigaction standard = { .sa_handler = SIG_DFL }, before;
	sigset_t stop, mask;

	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	sigaction(SIGTSTP, &standard, &before);
	sigprocmask(SIG_UNBLOCK, &stop, &mask);
	kill(0, SIGTSTP);
	/* Here we are awake again. */
	sigprocmask(SIG_SETMASK, &mask, NULL);
	sigaction(SIGTSTP, &before, NULL);
}

static void
lend(struct job *job)
{
	if (job->has_stopped_modes)
		set_terminal(job, job->group, &job->stopped_modes);
	job->has_stopped_modes = false;
	job->lent = true;
	pid1_foreground(job->pid1);
}

void
job_stopped(struct job *job, int number)
{
	bool wants = number == SIGTTIN || number == SIGTTOU || job->lent;

	if (job->tty == -1)
		return; /* whoever stopped it will wake it */
	if (!job->lent && wants && has_terminal(job)) {
		lend(job);
		return;
	}
	if (job->lent) {
		job->has_stopped_modes =
		    tcgetattr(job->tty, &job->stopped_modes) == 0;
		job->lent = false;
		set_terminal(job, job->group, &job->modes);
	}
	stop_ourselves();
	if (wants && has_terminal(job))
		lend(job);
	else
		pid1_signal(job->pid1, SIGCONT);
}

int
job_end(struct job *job, const struct pid1_news *last)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	int number = last->number;
	bool typed = job->lent && last->kind == PID1_KILLED &&
	    (number == SIGINT || number == SIGQUIT) &&
	    (job->passed & 1u << number) == 0;

	job->pid1 = NULL;
	if (job->tty == -1)
		return 0;
	if (job->lent)
		set_terminal(job, job->group, &job->modes);
	close(job->tty);
	job->tty = -1;
	if (!typed)
		return 0;
	sigaction(number, &ignore, &before);
	kill(0, number);
	sigaction(number, &before, NULL);
	return number;
}

void
job_die(int number)
{
	struct sigaction standard = { .sa_handler = SIG_DFL };
	struct rlimit none = { 0, 0 };
	sigset_t set;

	setrlimit(RLIMIT_CORE, &none); /* for SIGQUIT */
	sigaction(number, &standard, NULL);
	sigemptyset(&set);
	sigaddset(&set, number);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
	raise(number);
}
