/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner half of netns_start(): the helper process that makes a user and a
 * network namespace and all that stands in them; for ns/netns.c alone.
 */
#ifndef NS_SETUP_H
#define NS_SETUP_H

#include "ns/netns.h"

/*
 * The packet from the helper: state, fail.err or the two ports, then the text
 * of a failure.  Descriptors beside it on success: SETUP_FD_COUNT, in the
 * order user namespace, network namespace, sockets as in enum netns_socket.
 * Sockets of a family that this kernel does not have are left out, as the bit
 * set `families` tells.
 */
struct setup_done {
	bool ok;
	bool has_ipv6;
	uint16_t tcp_port, dns_port;
	struct fail fail; /* when not ok */
};

/* The whole life of the helper; the caller has forked. */
NORETURN void setup_run(const struct netns_config *config, int channel);

/* The start of each process that we fork: die with the monitor, keep no
 * descriptor but 0 to 2 and `channel`, which comes to stand at 3. */
void setup_alone(int channel);

/* Become the sandbox's user, where we are root and it is somebody else. */
MUST_USE int setup_user(const struct netns_user *user, struct fail *fail);

/* Run duenna-nft in the present network namespace, with CAP_NET_ADMIN.
 *
 * out  what it said on standard output, NUL-terminated */
MUST_USE int setup_nft(const char *path, char *const *argv, char *out,
    size_t size, struct fail *fail);

#endif
