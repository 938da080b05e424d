/* SPDX-License-Identifier: Apache-2.0 */
#include <netinet/in.h>
#include <unistd.h>

#include "base/ip.h"
#include "peers/answer.h"

#define ORIGINAL_DST 80 /* SO_ORIGINAL_DST; its header clashes with libc */

static void
answer_tcp(int listener, bool v6)
{
	struct sockaddr_storage sa;
	socklen_t n = sizeof(sa);
	struct ip ip;
	uint16_t port = 0;
	char text[IP_TEXT_SIZE] = "?";
	int fd = accept(listener, NULL, NULL);

	if (fd == -1)
		return;
	if (getsockopt(fd, v6 ? SOL_IPV6 : SOL_IP, ORIGINAL_DST, &sa, &n) ==
		0 &&
	    ip_from_sockaddr((struct sockaddr *)&sa, &ip, &port))
		ip_text(&ip, text);
	dprintf(fd, "tcp %s %d\n", text, port);
	close(fd);
}

static void
answer_udp(int fd)
{
	char data[512];
	struct sockaddr_storage sa;
	socklen_t n = sizeof(sa);
	ssize_t size =
	    recvfrom(fd, data, sizeof(data), 0, (struct sockaddr *)&sa, &n);

	if (size >= 0)
		(void)!sendto(fd, data, (size_t)size, 0, (struct sockaddr *)&sa,
		    n);
}

void
answer_all(const struct pollfd *fds)
{
	for (int i = 0; i < NETNS_SOCKET_COUNT; i++) {
		if (fds[i].revents == 0)
			continue;
		switch ((enum netns_socket)i) {
		case NETNS_TCP4:
		case NETNS_DNS_TCP4:
			answer_tcp(fds[i].fd, false);
			break;
		case NETNS_TCP6:
		case NETNS_DNS_TCP6:
			answer_tcp(fds[i].fd, true);
			break;
		case NETNS_DNS_UDP4:
		case NETNS_DNS_UDP6:
			answer_udp(fds[i].fd);
			break;
		case NETNS_LINKS:
		case NETNS_SOCKET_COUNT:
			break;
		}
	}
}
