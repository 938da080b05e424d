/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Role: the parent.  It holds the children, the listeners and the namespaces,
 * starts and restarts the rest, and parses nothing that a sandbox or a tenant
 * wrote.
 */
#ifndef PROXYD_MONITOR_H
#define PROXYD_MONITOR_H

#include "base/attr.h"
#include "base/slice.h"

#define MONITOR_LIST_MAX 64 /* entries of each list of the command line */

/* What `duenna run` was asked for; all strings borrowed from argv. */
struct monitor_config {
	const char *policy;		     /* path of the policy file */
	const char *allow[MONITOR_LIST_MAX]; /* --allow URL, instead of it */
	size_t n_allow;
	const char *policy_name;	   /* which policy of it, or NULL */
	const char *set[MONITOR_LIST_MAX]; /* --set KEY=VALUE */
	size_t n_set;
	const char *config; /* --config, or NULL: ~/.config/duenna/ */
	const char *name;   /* --name, or NULL: made from the policy's */
	const char *user;   /* --user, or NULL */
	const char *audit;  /* --audit, or NULL */
	const char *state;  /* of `serve`; NULL: the caller's own */
	const char *env[MONITOR_LIST_MAX]; /* --env NAME */
	size_t n_env;
	const char *write[MONITOR_LIST_MAX]; /* --write DIR */
	size_t n_write;
	int keep_fd[MONITOR_LIST_MAX]; /* --keep-fd N */
	size_t n_keep_fd;
	bool report; /* what no rule allows is recorded, not refused */
	bool quiet;
	bool json;	/* --json: the summary as the last line */
	char **command; /* NULL-terminated */
};

#define MONITOR_FAULT 125 /* exit status: duenna itself failed */

/* Run the command in its sandbox; returns the exit status for the caller. */
MUST_USE int monitor_run(const struct monitor_config *cfg);

#endif
