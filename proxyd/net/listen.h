/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Accepting from listeners that were made elsewhere and handed to us.
 *
 * An accepted socket is non-blocking, close-on-exec, has TCP_NODELAY, fixed
 * send and receive buffers (the sandbox's root may raise what its namespace
 * would give), a limit on unacknowledged data and keep-alive probes.  When
 * descriptors run out a reserved one is spent to take the next client off the
 * queue and reset it, and accepting rests for a moment: no busy loop.  Neither
 * is one where the sandbox's root ends the listening socket itself.
 */
#ifndef NET_LISTEN_H
#define NET_LISTEN_H

#include "base/ip.h"
#include "net/loop.h"

struct listener;

/* `fd` is the callee's own. */
typedef void listener_on_accept(int fd, void *arg);

/* `fd`, a listening socket, becomes the listener's own; closed on failure. */
MUST_USE struct listener *listener_new(struct loop *l, int fd,
    listener_on_accept *on_accept, void *arg, enum err *err);
void listener_free(struct listener *n);

#endif
