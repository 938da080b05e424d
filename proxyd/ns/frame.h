/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ethernet frames as a sandbox would send them, to try what becomes of them.
 *
 * Source: RFC 894, RFC 791, RFC 8200, RFC 768, RFC 9293; RFC 1071 for sums.
 * Pure.
 */
#ifndef NS_FRAME_H
#define NS_FRAME_H

#include "base/ip.h"

#define FRAME_SIZE 128 /* enough for any of these */

struct frame {
	uint8_t from_mac[6], to_mac[6];
	struct ip from, to; /* of one family */
	uint16_t from_port, to_port;
};

enum frame_tcp {
	FRAME_SYN = 0x02,
	FRAME_RST = 0x04,
};

/* A datagram of one byte into `out`, FRAME_SIZE long; how many bytes. */
size_t frame_udp(const struct frame *f, uint8_t *out);

/* A segment without data. */
size_t frame_tcp(const struct frame *f, enum frame_tcp flag, uint32_t seq,
    uint8_t *out);

#endif
