/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandbox's own home: a folder on disk, $XDG_STATE_HOME/duenna/homes/NAME,
 * kept when the sandbox was given a name, else removed at the end.  What is in
 * it was written by the sandbox: it is entered without following a link.
 */
#ifndef NS_HOME_H
#define NS_HOME_H

#include "base/attr.h"
#include "ns/fail.h"
#include "ns/netns.h"

/*
 * Make STATE/homes/NAME for the sandbox's user, or find it.
 *
 * path	 set on success; allocated, the caller frees it
 */
MUST_USE int home_make(const char *state, const char *name,
    const struct netns_user *user, char **path, struct fail *fail);

/* Remove it and all that is in it. */
MUST_USE int home_remove(const char *path, struct fail *fail);

#endif
