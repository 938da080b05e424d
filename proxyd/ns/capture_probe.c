/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/ip.h"
#include "ns/capture_make.h"
#include "ns/setup.h"

#define PROBE_ADDR4 "192.0.2.1"	  /* nobody's: RFC 5737 */
#define PROBE_ADDR6 "2001:db8::1" /* nobody's: RFC 3849 */
#define PROBE_PORT 9		  /* discard */
#define PROBE_MS 2000		  /* loopback answers within microseconds */
#define OTHERS_MAX 64 /* connections of somebody in there that come before */

/* A socket on its way to nobody; -1 with errno. */
static int
go(const struct ip *ip, int type)
{
	struct sockaddr_storage sa;
	socklen_t n = ip_sockaddr(ip, PROBE_PORT, &sa);
	int fd = socket(ip->family == 4 ? AF_INET : AF_INET6,
	    type | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd == -1)
		return -1;
	if (connect(fd, (struct sockaddr *)&sa, n) == 0 || errno == EINPROGRESS)
		return fd;
	int number = errno;
	close(fd);
	errno = number;
	return -1;
}

/* Is `fd` the other end of `probe`? */
static bool
is_ours(int fd, int probe)
{
	struct sockaddr_storage sa;
	socklen_t n = sizeof(sa);
	struct ip here, there;
	uint16_t here_port, there_port;

	if (getsockname(probe, (struct sockaddr *)&sa, &n) == -1 ||
	    !ip_from_sockaddr((struct sockaddr *)&sa, &here, &here_port))
		return false;
	n = sizeof(sa);
	if (getpeername(fd, (struct sockaddr *)&sa, &n) == -1 ||
	    !ip_from_sockaddr((struct sockaddr *)&sa, &there, &there_port))
		return false;
	return ip_eq(&here, &there) && here_port == there_port;
}

/* Does the connection arrive at the listener, and nobody else's before? */
static bool
arrives(int listener, int probe)
{
	struct pollfd p = { .fd = listener, .events = POLLIN };
	bool found = false;

	for (int i = 0; i < OTHERS_MAX && !found; i++) {
		if (poll(&p, 1, PROBE_MS) != 1)
			return false;
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd == -1)
			return false;
		found = is_ours(fd, probe);
		close(fd);
	}
	return found;
}

static int
probe_tcp(const struct ip *ip, int listener, struct fail *fail)
{
	char text[IP_TEXT_SIZE];
	int fd = go(ip, SOCK_STREAM);

	ip_text(ip, text);
	if (fd != -1 && arrives(listener, fd)) {
		close(fd);
		return 0;
	}
	fail_set(fail, ERR_DENIED,
	    "a connection from inside to %s did not arrive at duenna: some "
	    "other rules or routes stand in this namespace",
	    text);
	if (fd != -1)
		close(fd);
	return -1;
}

static int
send_udp(const struct ip *ip, struct fail *fail)
{
	int fd = go(ip, SOCK_DGRAM);

	if (fd == -1 || send(fd, "", 1, 0) == -1) {
		fail_errno(fail, "cannot send a datagram from inside");
		if (fd != -1)
			close(fd);
		return -1;
	}
	close(fd);
	return 0;
}

/* Were so many datagrams counted, since the rules were loaded? */
static int
check_counted(const char *nft_path, uint64_t n, struct fail *fail)
{
	char program[] = "duenna-nft", mode[] = "counters", out[256];
	char *argv[] = { program, mode, NULL };

	if (setup_nft(nft_path, argv, out, sizeof(out), fail) == -1)
		return -1;
	const char *at = strstr(out, "udp ");
	if (at != NULL && strtoull(at + strlen("udp "), NULL, 10) >= n)
		return 0;
	return fail_set(fail, ERR_DENIED,
	    "a datagram from inside was not seen by our rules: some other "
	    "rules or programs stand in this namespace");
}

int
capture_probe_inside(const struct inlet *in, const char *nft_path, bool busy,
    struct fail *fail)
{
	const struct {
		const char *text;
		enum netns_socket which;
	} rows[] = {
		{ PROBE_ADDR4, NETNS_TCP4 },
		{ PROBE_ADDR6, NETNS_TCP6 },
	};
	size_t n = in->has_ipv6 ? 2 : 1;
	struct ip ip;

	for (size_t i = 0; i < n; i++) {
		if (!ip_parse(slice_of_str(rows[i].text), &ip))
			abort();
		if (send_udp(&ip, fail) == -1)
			return -1;
		if (!busy &&
		    probe_tcp(&ip, in->socket[rows[i].which], fail) == -1)
			return -1;
	}
	return check_counted(nft_path, n, fail);
}
