/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>

#include "base/ip.h"

static const uint8_t mapped_prefix[12] = { [10] = 0xff, [11] = 0xff };

bool
ip_parse(struct slice text, struct ip *ip)
{
	char copy[IP_TEXT_SIZE];

	*ip = (struct ip){ 0 };
	if (text.n == 0 || text.n >= sizeof(copy) ||
	    memchr(text.p, '\0', text.n) != NULL)
		return false;
	memcpy(copy, text.p, text.n);
	copy[text.n] = '\0';
	if (inet_pton(AF_INET, copy, ip->bytes) == 1)
		ip->family = 4;
	else if (inet_pton(AF_INET6, copy, ip->bytes) == 1)
		ip->family = 6;
	return ip->family != 0;
}

/* As inet_ntop(3), which prints by a format: each record has one. */
static void
put_ip4(const uint8_t bytes[4], char *text)
{
	for (int i = 0; i < 4; i++) {
		if (i != 0)
			*text++ = '.';
		if (bytes[i] >= 100)
			*text++ = (char)('0' + bytes[i] / 100);
		if (bytes[i] >= 10)
			*text++ = (char)('0' + bytes[i] / 10 % 10);
		*text++ = (char)('0' + bytes[i] % 10);
	}
	*text = '\0';
}

void
ip_text(const struct ip *ip, char text[IP_TEXT_SIZE])
{
	if (ip->family == 4)
		put_ip4(ip->bytes, text);
	else if (ip->family == 0 ||
	    inet_ntop(AF_INET6, ip->bytes, text, IP_TEXT_SIZE) == NULL)
		snprintf(text, IP_TEXT_SIZE, "-");
}

bool
ip_eq(const struct ip *a, const struct ip *b)
{
	size_t n = a->family == 4 ? 4 : 16;

	return a->family == b->family && memcmp(a->bytes, b->bytes, n) == 0;
}

bool
ip_is_mapped(const struct ip *ip, struct ip *v4)
{
	if (ip->family != 6 ||
	    memcmp(ip->bytes, mapped_prefix, sizeof(mapped_prefix)) != 0)
		return false;
	*v4 = (struct ip){ .family = 4 };
	memcpy(v4->bytes, ip->bytes + 12, 4);
	return true;
}

struct ip
ip_v4(uint8_t a, uint8_t b, uint8_t c, uint8_t d)
{
	return (struct ip){ .family = 4, .bytes = { a, b, c, d } };
}

socklen_t
ip_sockaddr(const struct ip *ip, uint16_t port, struct sockaddr_storage *sa)
{
	memset(sa, 0, sizeof(*sa));
	if (ip->family == 4) {
		struct sockaddr_in in = { .sin_family = AF_INET,
			.sin_port = htons(port) };
		memcpy(&in.sin_addr, ip->bytes, 4);
		memcpy(sa, &in, sizeof(in));
		return sizeof(in);
	}
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6,
		.sin6_port = htons(port) };
	memcpy(&in6.sin6_addr, ip->bytes, 16);
	memcpy(sa, &in6, sizeof(in6));
	return sizeof(in6);
}

bool
ip_from_sockaddr(const struct sockaddr *sa, struct ip *ip, uint16_t *port)
{
	*ip = (struct ip){ 0 };
	if (sa->sa_family == AF_INET) {
		struct sockaddr_in in;
		memcpy(&in, sa, sizeof(in));
		ip->family = 4;
		memcpy(ip->bytes, &in.sin_addr, 4);
		*port = ntohs(in.sin_port);
		return true;
	}
	if (sa->sa_family == AF_INET6) {
		struct sockaddr_in6 in6;
		memcpy(&in6, sa, sizeof(in6));
		ip->family = 6;
		memcpy(ip->bytes, &in6.sin6_addr, 16);
		*port = ntohs(in6.sin6_port);
		return true;
	}
	return false;
}
