/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandbox of a run, as the monitor holds it: monitor_sandbox.c (namespaces,
 * placeholders, the command) and monitor_view.c (what it is shown) alone
 * include this.
 */
#ifndef PROXYD_MONITOR_SANDBOX_H
#define PROXYD_MONITOR_SANDBOX_H

#include <limits.h>
#include <signal.h>

#include "certs/trust.h"
#include "cred/placeholder.h"
#include "ns/env.h"
#include "ns/homelock.h"
#include "ns/job.h"
#include "proxyd/monitor_state.h"

#define PLACES_MAX 64 /* variables with a placeholder, of a run */
#define BINDS_MAX 128 /* entries of files: and --write */
#define SIGNALS_MAX 16

struct sandbox {
	struct monitor *monitor; /* borrowed */
	struct netns netns;
	bool has_netns;
	struct netns_user user;
	struct env env;
	struct trust trust; /* what makes programs trust our CA */
	struct view_file files[TRUST_FILES_MAX];
	struct homelock lock;  /* of home_dir and its name */
	char *home_dir;	       /* owned */
	char *work;	       /* owned */
	char **pins, **starts; /* owned, and each: of the view */
	size_t n_pins, n_starts;
	struct placeholder places[PLACES_MAX];
	size_t n_places;
	struct view view;
	struct view_bind binds[BINDS_MAX];
	char *bind_paths[BINDS_MAX]; /* owned */
	char *bind_given[BINDS_MAX]; /* owned; the same as they were named */
	struct child child;
	sigset_t ignored; /* by our caller: nohup(1), a shell's background */
	struct job job;
	struct pid1 pid1;
	bool runs;			    /* pid1 exists */
	struct event *news, *links;	    /* owned */
	struct event *signals[SIGNALS_MAX]; /* owned */
	size_t n_signals;
};

/*
 * monitor_view.c: home, working directory, bound folders, our files in /etc,
 * into s->view, and checked.  -1: `fail` says why, or monitor_fail() did.
 */
MUST_USE int sandbox_view(struct monitor *m, struct sandbox *s,
    struct fail *fail);

/* monitor_start.c: pins and start files, into s->view. */
void start_find(struct monitor *m, struct sandbox *s);
void start_release(struct sandbox *s);

#endif
