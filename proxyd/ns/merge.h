/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A folder of the host under one of ours, without an overlay.  An overlay
 * without root takes no folder below which something is mounted that the
 * sandbox could then uncover: the /etc of a container, with a mount for
 * resolv.conf, is one.
 */
#ifndef NS_MERGE_H
#define NS_MERGE_H

#include "base/attr.h"
#include "ns/fail.h"

/* Entries of the host in all folders that are merged, each one a mount of the
 * sandbox's or a link: /etc and its ssl/certs have some hundred. */
#define MERGE_ENTRIES_MAX 4096

/*
 * Add to `ours`, a folder in a file system of our own, what `host` has beside
 * it.  Files and folders are bound, read-only with all that is mounted in them;
 * links are copied; a folder that both have is merged in the same way.  Of all
 * else that both have, ours stays.  Left out is what cannot be opened, and what
 * is neither file, folder nor link.
 *
 * 0, or -1 with `fail` set.
 */
MUST_USE int merge_fill(int ours, int host, struct fail *fail);

#endif
