/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/socket.h>

#include <netinet/in.h>

#include "net/origdst.h"

/* <linux/netfilter_ipv4.h> and its IPv6 twin; the same number in both. */
#define SO_ORIGINAL_DST_OPTION 80

static bool
ask(int fd, int level, struct ip *ip, uint16_t *port)
{
	struct sockaddr_storage sa = { 0 };
	socklen_t n = sizeof(sa);

	return getsockopt(fd, level, SO_ORIGINAL_DST_OPTION, &sa, &n) == 0 &&
	    ip_from_sockaddr((const struct sockaddr *)&sa, ip, port);
}

enum reason
origdst_get(int fd, struct ip *ip, uint16_t *port)
{
	struct sockaddr_storage sa = { 0 };
	socklen_t n = sizeof(sa);
	struct ip own = { 0 }, v4;
	uint16_t own_port = 0;

	if (getsockname(fd, (struct sockaddr *)&sa, &n) == 0)
		(void)ip_from_sockaddr((const struct sockaddr *)&sa, &own,
		    &own_port);
	bool is_v4 = own.family == 4 || ip_is_mapped(&own, &v4);
	if (own.family != 0 && ask(fd, is_v4 ? SOL_IP : SOL_IPV6, ip, port) &&
	    !(ip_eq(ip, &own) && *port == own_port))
		return REASON_ALLOW;
	*ip = own;
	*port = own_port;
	return REASON_DST_SELF;
}
