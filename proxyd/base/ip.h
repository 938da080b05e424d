/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An address, and an address with a port, as values.  IPv4 and IPv6 are two
 * families: an IPv4-mapped IPv6 address stays IPv6 until somebody asks.
 * Pure, except that ip_sockaddr needs <netinet/in.h> types.
 */
#ifndef BASE_IP_H
#define BASE_IP_H

#include <netinet/in.h>
#include <sys/socket.h>

#include "base/slice.h"

struct ip {
	uint8_t family;	   /* 4, 6, or 0: none */
	uint8_t bytes[16]; /* network order; the first 4 for IPv4, rest zero */
};

#define IP_TEXT_SIZE 48 /* longest IPv6 text and a NUL */

/* From text as inet_pton reads it, and nothing looser.  False: not an address. */
bool ip_parse(struct slice text, struct ip *ip);

/* RFC 5952 text, without brackets. */
void ip_text(const struct ip *ip, char text[IP_TEXT_SIZE]);

bool ip_eq(const struct ip *a, const struct ip *b);

/* True, and `v4` set, if `ip` is ::ffff:a.b.c.d. */
bool ip_is_mapped(const struct ip *ip, struct ip *v4);

struct ip ip_v4(uint8_t a, uint8_t b, uint8_t c, uint8_t d);

/* To and from the kernel's form.  ip_from_sockaddr: false for other families. */
socklen_t ip_sockaddr(const struct ip *ip, uint16_t port,
    struct sockaddr_storage *sa);
bool ip_from_sockaddr(const struct sockaddr *sa, struct ip *ip, uint16_t *port);

#endif
