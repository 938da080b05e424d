/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The inner half of ns/capture.h: the life of the helper process, in the
 * namespace; for ns/capture*.c alone.
 */
#ifndef NS_CAPTURE_MAKE_H
#define NS_CAPTURE_MAKE_H

#include "ns/capture.h"
#include "ns/inlet.h"
#include "ns/links.h"

/* The helper's one packet; beside it on success the sockets, as inlet_list()
 * orders them. */
struct capture_done {
	bool ok;
	bool has_ipv6, probed;
	int link;
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

/* The link of a gate, as it was found and is to be. */
struct capture_gate {
	struct link link;
	struct control_address addresses[CONTROL_ADDRESSES_MAX];
	size_t n_addresses;
	int net_fd;  /* borrowed; the gate's namespace */
	bool probed; /* set, as in struct capture */
};

/* Make a gate ready; the helper has entered it. */
MUST_USE int capture_make_gate(const struct capture_config *config,
    struct inlet *in, struct capture_gate *gate, struct fail *fail);

/* No way of the kernel's own past our rules: forwarding, redirects, source
 * routes, answers for others; IPv6 only if it is wanted. */
MUST_USE int capture_still(const char *link, bool ipv6, struct fail *fail);

/*
 * Become the sandbox for a moment: a descriptor to which frames are written
 * that come in over the link.
 *
 * -1: fail is set; ERR_EXISTS: somebody else holds the tap
 */
MUST_USE int capture_peer_open(const struct capture_gate *gate,
    uint8_t from_mac[6], struct fail *fail);

/*
 * As capture_probe_inside(), from the other end of the link.  What goes by our
 * rules, by whatever program, fails it.
 */
MUST_USE int capture_probe_link(struct capture_gate *gate, const char *nft_path,
    struct fail *fail);

#endif
