/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the programs of a sandbox find its proxy: a listening socket of the
 * host's, made by the monitor, which accepts nothing from it but hands it to
 * the sandbox's worker (ENTRY of priv/ops.h).
 *
 * Who can connect there is the sandbox: an address is for those who can reach
 * it; a socket in the file system (mode 0660) for those whom its directory
 * and its group let in.
 */
#ifndef NS_PROXY_H
#define NS_PROXY_H

#include "base/attr.h"
#include "base/slice.h"
#include "ns/fail.h"

/*
 * Listen at "ADDRESS:PORT", "[ADDRESS]:PORT" for IPv6 (literals; no port 0), or
 * "unix:PATH" (absolute).  A socket that nobody listens at any more is replaced,
 * anything else at that path stays.  -1 with a text in `fail`.
 */
MUST_USE int proxy_listen(struct slice where, struct fail *fail);

/* Remove the socket that proxy_listen() put into the file system, if it did. */
void proxy_remove(struct slice where);

#endif
