/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who may do what over the control socket: by the groups that its peer had when
 * it connected, which the kernel tells.  Root, and whoever we are, may all.
 */
#ifndef PRIV_RIGHTS_H
#define PRIV_RIGHTS_H

#include "base/attr.h"
#include "base/err.h"
#include "base/slice.h"

#define RIGHTS_MAX 64 /* groups; a group of several rights counts for each */

/* A value; zero bytes: nobody but root. */
struct rights {
	size_t n;
	struct {
		uint32_t gid;
		uint8_t rights; /* set of control_right (priv/control.h) */
	} rows[RIGHTS_MAX];
};

/*
 * Give a group, by name or number, a right.  0; -1 with ERR_MISSING (no such
 * group), ERR_FULL.  May read files of the host.
 */
MUST_USE int rights_add(struct rights *r, struct slice group, uint8_t right,
    enum err *err);

/*
 * The peer of a UNIX socket: what it may, 0: nothing.
 *
 * uid	set to its user; also where that may nothing
 */
uint8_t rights_of_peer(const struct rights *r, int fd, uint32_t *uid);

#endif
