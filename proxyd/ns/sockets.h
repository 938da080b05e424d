/* SPDX-License-Identifier: Apache-2.0 */
/*
 * UNIX sockets of the host that have a path: a read-only mount does not stop
 * connect() to one (THREATS 6.9), so none may stand in what is shown.
 *
 * Source: /proc/net/unix, proc(5).  Of the network namespace of who reads it:
 * for the monitor, before it enters another.
 */
#ifndef NS_SOCKETS_H
#define NS_SOCKETS_H

#include <stddef.h>

#include "base/attr.h"
#include "base/slice.h"
#include "ns/fail.h"

struct sockets {
	char **path; /* owned, and each */
	size_t n;
};

/* Read them all; paths that lead elsewhere by a link are resolved. */
MUST_USE int sockets_read(struct sockets *s, struct fail *fail);

/* Those in `text`, which is in the form of /proc/net/unix; dies without
 * memory. */
void sockets_parse(struct sockets *s, struct slice text);

/* The first one at or below `folder`, from index `*at` on, which is moved
 * behind it; NULL when there is none.  Borrowed. */
const char *sockets_find_below(const struct sockets *s, const char *folder,
    size_t *at);

void sockets_release(struct sockets *s);

#endif
