/* SPDX-License-Identifier: Apache-2.0 */
/* What the monitors in small answer to who comes to their listeners. */
#ifndef PEERS_ANSWER_H
#define PEERS_ANSWER_H

#include <poll.h>

#include "ns/netns.h"

/*
 * Answer at each listener that is ready: a connection with one line, "tcp
 * ADDRESS PORT", the place where it wanted to go; a datagram with itself.
 *
 * fds  in the order of enum netns_socket; NETNS_LINKS is left alone
 */
void answer_all(const struct pollfd *fds);

#endif
