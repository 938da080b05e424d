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

/*
 * Could the command have what is found at `path`, an absolute one, be another
 * thing than `real`, which it is now?  Then the folder, else NULL.
 */
const char *reach_moves(const struct view *v, const char *path,
    const char *real);

/* What of plan_known it could: their bits, for view->hidden. */
uint32_t reach_known(const struct view *v, bool quiet);

/* Is the log that --audit names out of its reach?  Fails the run. */
MUST_USE bool reach_log_is_ours(struct monitor *m, const struct view *v);

/* Policy, configuration, roots, state: out of its reach?  Fails the run. */
MUST_USE bool reach_is_ours(struct monitor *m, const struct view *v);

/* monitor_secret.c: is none of the secrets' files in what the command sees, and no secret's
 * command in what it may write?  Fails the run. */
MUST_USE bool secrets_are_hidden(struct monitor *m, const struct view *v);

#endif
