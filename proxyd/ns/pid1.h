/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandbox's first process: a child of the monitor in PID, mount, IPC, UTS
 * and cgroup namespaces of its own, which builds the view, starts the command,
 * reaps, and reports.  When it ends the kernel kills all that runs in there;
 * when the monitor dies it is killed (PR_SET_PDEATHSIG).
 *
 * It talks with the monitor over a socket pair of whole packets.  It never
 * executes anything, is not dumpable, and has no capability left once the
 * command runs.
 */
#ifndef NS_PID1_H
#define NS_PID1_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/attr.h"
#include "ns/child.h"
#include "ns/fail.h"
#include "ns/netns.h"
#include "ns/view.h"

struct pid1_config {
	const struct netns *netns;
	const struct view *view;
	const struct child *child;
	bool foreground; /* the command gets the terminal at once: ns/job.h */
};

struct pid1 {
	pid_t pid;   /* to be waited for by pid1_release() */
	int channel; /* owned; readable when there is news, non-blocking */
};

enum pid1_kind {
	PID1_NONE,    /* nothing to read now */
	PID1_STARTED, /* the command runs */
	PID1_FAILED,  /* it does not: status and fail tell */
	PID1_STOPPED, /* the command was stopped by signal `number` */
	PID1_OUTSIDE, /* `text` is a path that will run outside, ns/outside.h */
	PID1_EXITED,  /* the command exited with status `number` */
	PID1_KILLED,  /* signal `number` ended the command */
	PID1_GONE,    /* the first process ended without a last word */
};

struct pid1_news {
	enum pid1_kind kind;
	int number;	  /* signal, exit status */
	struct fail fail; /* for FAILED, and `text` for OUTSIDE */
};

/*
 * Start it.  view_check() and child_check() have passed.  Returns when the
 * process exists, before the view is built; what comes then is news.
 */
MUST_USE int pid1_start(const struct pid1_config *config, struct pid1 *p,
    struct fail *fail);

/* Read one piece of news; call until PID1_NONE.  FAILED, EXITED, KILLED and
 * GONE are the last ones: PID1_OUTSIDE comes before them. */
void pid1_read(struct pid1 *p, struct pid1_news *news);

/* Send a signal to the command's process group; SIGKILL: to all in there. */
void pid1_signal(struct pid1 *p, int number);

/* Give the terminal to the command's process group, and let it go on. */
void pid1_foreground(struct pid1 *p);

/*
 * End all in there before the command has ended by itself: what will run
 * outside is settled all the same, and told.  It takes what that takes, at most
 * some seconds; when the last news was read already, nothing.
 */
void pid1_stop(struct pid1 *p, void (*on_outside)(const char *text));

/* Kill what is left, wait for it, close. */
void pid1_release(struct pid1 *p);

/* 0-255 for our own exit(): status, 128+n, 125 to 127.  For the last news. */
int pid1_exit_status(const struct pid1_news *news);

#endif
