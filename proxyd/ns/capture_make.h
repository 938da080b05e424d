/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner half of ns/capture.h: the life of the helper process, in the
 * namespace; for ns/capture*.c alone.
 */
#ifndef NS_CAPTURE_MAKE_H
#define NS_CAPTURE_MAKE_H

#include "ns/capture.h"
#include "ns/inlet.h"

/* The helper's one packet; beside it on success the sockets, as inlet_list()
 * orders them. */
struct capture_done {
	bool ok;
	bool has_ipv6;
	uint16_t tcp_port, dns_port;
	struct fail fail; /* when not ok */
};

/* The whole life of a helper; the caller has forked. */
NORETURN void capture_make(const struct capture_config *config, int channel);

/* ... of one that takes the rules away. */
NORETURN void capture_unmake(int net_fd, const char *nft_path, int channel);

/*
 * Seen from inside, with the rules just loaded and their counters at 0: a
 * datagram to another port than 53 is counted, and goes nowhere; a connection
 * to an address of nobody arrives at our listener.
 *
 * busy	 a sandbox may be at work: its connections are not to be taken, so the
 *	 datagram alone is tried
 */
MUST_USE int capture_probe_inside(const struct inlet *in, const char *nft_path,
    bool busy, struct fail *fail);

#endif
