/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who has a home: one run at a time, told by a lock on STATE/locks/NAME.
 *
 * A run that is killed with SIGKILL cannot remove a home that was to go with
 * it.  Its lock's file says so, and is free: a later run removes both.
 */
#ifndef NS_HOMELOCK_H
#define NS_HOMELOCK_H

#include <limits.h>
#include <stdbool.h>

#include "base/attr.h"
#include "ns/fail.h"

#define HOMELOCK_LEFT_MAX 8 /* homes of others that one run removes */

struct homelock {
	int fd;		     /* owned; -1: not held */
	char path[PATH_MAX]; /* of the lock's file */
};

/*
 * Take STATE/homes/NAME for this process.
 *
 * once	 the home goes with the run
 *
 * -1: another has it, and `fail` names its process.
 */
MUST_USE int homelock_take(struct homelock *l, const char *state,
    const char *name, bool once, struct fail *fail);

/* Give it back; `left`: the home could not be removed, a later run may. */
void homelock_release(struct homelock *l, bool left);

/* Remove homes that runs which were killed have left.  Not while this process
 * holds a lock: it would lose that. */
void homelock_clean(const char *state);

#endif
