/* SPDX-License-Identifier: Apache-2.0 */
/*
 * monitor_reach.c: how far the command's hands reach.  monitor_view.c and
 * monitor_secret.c alone include this.
 */
#ifndef PROXYD_MONITOR_REACH_H
#define PROXYD_MONITOR_REACH_H

#include <limits.h>

#include "ns/view.h"
#include "proxyd/monitor_state.h"

/*
 * May the command change what stands at `path`, or put something there?  Then
 * the folder, else NULL.  Every link on the way counts, and what is not there
 * yet: it is looked at again while the command runs.
 */
const char *reach_writes(const struct view *v, const char *path);

/* Is the log that --audit names out of its reach?  Fails the run. */
MUST_USE bool reach_log_is_ours(struct monitor *m, const struct view *v);

/* Policy, configuration, roots, state: out of its reach?  Fails the run. */
MUST_USE bool reach_is_ours(struct monitor *m, const struct view *v);

#endif
