/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keys of a git configuration that run programs, put back to what they
 * were before a sandbox could write to it; all other keys stay as they are.
 * Pure, but for memory.
 */
#ifndef NS_GITKEYS_H
#define NS_GITKEYS_H

#include <stdbool.h>

#include "base/attr.h"
#include "base/buf.h"

enum gitkeys {
	GITKEYS_SAME,	    /* those keys are as they were */
	GITKEYS_MENDED,	    /* they were not: `mended` is what to write */
	GITKEYS_UNREADABLE, /* git, or we, cannot read it: write `before` */
};

/*
 * Compare two states of one file.
 *
 * mended   set on GITKEYS_MENDED: `after` without its keys of that kind, and
 *	    with those of `before` at its end
 * changed  likewise: the name of the first that is another, for people
 */
MUST_USE enum gitkeys gitkeys_mend(struct slice before, struct slice after,
    struct buf *mended, struct buf *changed);

/* The value of core.hooksPath, the last one, into `path`; false: none. */
bool gitkeys_hooks_path(struct slice config, char *path, size_t size);

/* Has it any such key, or is it unreadable? */
bool gitkeys_has_any(struct slice config);

#endif
