/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The children of a monitor, of `run` and of `serve`: start, channels, heartbeat,
 * death.  What of it differs is a table of callbacks.
 */
#ifndef PROXYD_MONITOR_ROLES_H
#define PROXYD_MONITOR_ROLES_H

#include <sys/queue.h>
#include <sys/types.h>

#include "net/channel.h"
#include "priv/ops.h"
#include "priv/role.h"

#define MONITOR_CRASHES 3 /* within a minute: the sandbox is cut off */
#define MONITOR_CRASH_SPAN_MS 60000

struct monitor;
struct event;
struct role_process;

/* What `run` and `serve` do differently at the same moments. */
struct monitor_ops {
	/* Something is known that was not: look whether to go on. */
	void (*step)(struct monitor *m);
	/* It was said why, and m->status is set; no role is used any more. */
	void (*failed)(struct monitor *m, const char *text);
	/* Has ended, and is forgotten; may be started again. */
	void (
	    *ended)(struct monitor *m, struct role_process *c, const char *how);
	/* Of a role, and what monitor_roles.c does not know.  May be NULL. */
	void (
	    *heard)(struct monitor *m, struct role_process *c, struct msg *msg);
	void (*beat)(struct monitor *m); /* each second */
	/* Does a rule of a program name that credential? */
	bool (*uses)(const struct monitor *m, uint32_t credential);
	/* How many files (monitor_spool.c) the worker has for that sandbox;
	 * NULL: it has no such sandbox. */
	unsigned *(*spools)(struct monitor *m, struct role_process *c,
	    uint32_t sandbox);
};

/* A role that runs. */
struct role_process {
	TAILQ_ENTRY(role_process) entry; /* of m->running */
	struct monitor *monitor;	 /* borrowed */
	enum role role;
	uint32_t number;		   /* of a worker; others: 0 */
	pid_t pid;			   /* 0: not running */
	int pidfd;			   /* owned */
	struct channel *channel;	   /* owned; NULL: not running */
	struct event *ended;		   /* owned: the pidfd */
	bool ready;			   /* it said so */
	uint64_t heard_ms;		   /* when it last answered a PING */
	uint64_t crashes[MONITOR_CRASHES]; /* when, newest first; 0: never */
};

MUST_USE int roles_start(struct monitor *m); /* all but workers */
/* One whose role and number stand in it.  0, or -1: nothing is left of it. */
MUST_USE int role_start(struct monitor *m, struct role_process *c,
    enum err *err);
void role_end(struct role_process *c); /* now, whatever it does */
/* Remember a crash; true if it was one too many within the span. */
bool role_crashes_too_often(struct role_process *c);
void roles_look(struct monitor *m); /* has one ended that nobody noticed yet? */
bool roles_are_ready(const struct monitor *m);
void roles_end(struct monitor *m);
void roles_send(struct role_process *c, uint16_t op, struct slice body,
    const int *fds, size_t n_fds);

#endif
