/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The roles.  What each may do stands in three tables, a row a role: files and
 * namespaces in priv/drop.c, system calls in priv/seccomp.c, messages in
 * priv/dispatch.c.  docs/architecture.md quotes them and a test compares.
 */
#ifndef PRIV_ROLE_H
#define PRIV_ROLE_H

#include "base/attr.h"
#include "base/err.h"
#include "base/slice.h"

enum role {
	ROLE_MONITOR,
	ROLE_STEWARD, /* reads the owner's files */
	ROLE_CLERK,   /* is handed the policy's */
	ROLE_WORKER,
	ROLE_DIALER,
	ROLE_KEEPER,
	ROLE_SCRIBE,
	ROLE_PORTER, /* reads the control socket, for one user */
	ROLE_COUNT
};

const char *role_name(enum role role);

/* The role of that name, or ROLE_COUNT. */
enum role role_find(const char *name);

#define ROLE_MONITOR_FD 3 /* where a role finds its channel to the monitor */

/*
 * Can a role get the user that isolate_role gives it?  Not in a user namespace
 * that has root alone, as `unshare -r` makes.
 */
bool isolate_has_user(void);

/*
 * Give up privileges, in three named stages; each returns 0, or -1 with the
 * cause logged.  The top of priv/drop.c tells what goes when.
 *
 * isolate_start  first thing in main: no core, not dumpable, dies with the
 *                monitor, no new privileges, descriptors above 3 closed
 * isolate_role   before anything of a peer is read: user, capabilities,
 *                namespaces, Landlock (no file but those already open)
 * isolate_last   when all libraries are set up: the system-call list
 */
MUST_USE int isolate_start(enum role role);
MUST_USE int isolate_role(enum role role);
MUST_USE int isolate_last(enum role role);

#endif
