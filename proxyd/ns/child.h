/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandboxed command: its environment, its descriptors, what it may ask of
 * the kernel (DESIGN 3).
 */
#ifndef NS_CHILD_H
#define NS_CHILD_H

#include <signal.h>
#include <stddef.h>

#include "base/attr.h"
#include "ns/fail.h"

#define CHILD_EXIT_FAULT 125	 /* duenna itself failed */
#define CHILD_EXIT_NOT_RUN 126	 /* found, cannot be executed */
#define CHILD_EXIT_NOT_FOUND 127 /* not found */

/* All borrowed, until the sandbox has started. */
struct child {
	char *const *argv;	  /* NULL at its end; argv[0] is looked for */
	char *const *environment; /* "NAME=value", NULL at its end: ns/env.h */
	const int *keep_fd;	  /* descriptors that stay open: --keep-fd */
	size_t n_keep_fd;
	const sigset_t *ignored; /* signals that the caller had ignored */
};

/*
 * Check what the command would inherit, in the monitor and first of all: 0 to
 * 2 are a terminal, a pipe, a regular file, an unnamed UNIX socket pair or a
 * null device, those of --keep-fd a pipe or a regular file.  A descriptor of 0
 * to 2 that is closed becomes /dev/null.
 */
MUST_USE int child_check(const struct child *child, struct fail *fail);

/*
 * Where the caller would find the command: a path for the hint of a 127.
 *
 * path	 set to an allocated string, or NULL where the caller has none either
 */
void child_host_path(const struct child *child, char **path);

/*
 * Become the command; returns only on failure, with the exit status.  For the
 * child of the sandbox's first process: drops capabilities, joins a new
 * keyring, closes descriptors, loads the system-call list, executes.
 *
 * host_path  from child_host_path(), or NULL
 */
MUST_USE int child_exec(const struct child *child, const char *host_path,
    struct fail *fail);

#endif
