/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regular files that the command is given open for reading: its standard
 * streams and those of --keep-fd.  By /proc/self/fd it could open one anew for
 * writing, wherever on the host the file is: how it was opened does not count
 * there, only whose it is.  So each is opened anew by us, at the same place, on
 * a read-only mount that exists nowhere else.  Its offset is no longer the
 * caller's.
 */
#ifndef NS_INFILE_H
#define NS_INFILE_H

#include "ns/child.h"

/*
 * In the sandbox's first process, while the host's tree is still there.
 *
 * host  the host's root
 * proc  where a /proc of this process is mounted
 */
MUST_USE int infile_protect(int host, const char *proc,
    const struct child *child, struct fail *fail);

#endif
