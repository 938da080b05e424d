/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The command as a job of the caller's terminal.
 *
 * It is in a process group of its own: kill(0, ...) reaches the whole group of
 * the caller whatever the PID namespace, so the command must not be in that
 * one.  Nobody but us sees then what the terminal does to it, and we do what a
 * shell would: hand it the terminal at the start, or, where another program of
 * a pipeline may want to read the keyboard, when it asks for it; stop when it
 * stops, so that the caller's shell takes over; wake it when we are woken;
 * take terminal and modes back at the end.
 */
#ifndef NS_JOB_H
#define NS_JOB_H

#include <stdbool.h>
#include <sys/types.h>
#include <termios.h>

#include "ns/pid1.h"

struct job {
	struct pid1 *pid1;    /* borrowed, until job_end() */
	int tty;	      /* owned; /dev/tty, or -1: there is no terminal */
	pid_t group;	      /* our own process group */
	struct termios modes; /* as they were at the start */
	struct termios stopped_modes; /* the command's, while it is stopped */
	bool has_stopped_modes;
	bool lent;	 /* the terminal was given to the command */
	bool terminated; /* one SIGTERM has come */
	unsigned passed; /* bit set of signals 1-31 that we passed on */
};

/* Signals that the monitor hands to job_signal(); 0 at the end. */
extern const int job_signals[];

/* Look at the terminal; before pid1_start(). */
void job_init(struct job *job);

/* For pid1_config: does the command get the terminal from the start? */
bool job_is_foreground(const struct job *job);

/* It was started. */
void job_start(struct job *job, struct pid1 *pid1);

/* One of job_signals came to the monitor; the second SIGTERM kills. */
void job_signal(struct job *job, int number);

/*
 * The command was stopped (PID1_STOPPED): hand it the terminal if that is what
 * it wants and may have, else stop ourselves.  Returns after SIGCONT.
 */
void job_stopped(struct job *job, int number);

/*
 * The end: terminal and modes as they were.  If the keyboard ended the command
 * (SIGINT, SIGQUIT), the rest of the caller's group hears of it as well, as it
 * would have without us.
 *
 * The signal by which we should end ourselves then, 0 otherwise: a shell goes
 * on with its script when a program only exits with 130.
 */
int job_end(struct job *job, const struct pid1_news *last);

/* End ourselves by that signal, as the very last thing. */
void job_die(int number);

#endif
