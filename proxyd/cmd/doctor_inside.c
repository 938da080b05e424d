/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ways out of a sandbox, each tried in brief: well is what fails.  They are
 * those of section 3 of the design; what a policy allows is not tried.
 */
#include <asm/ioctls.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <linux/vm_sockets.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stddef.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/ip.h"
#include "cmd/doctor.h"

#define WAIT_MS 1000 /* for an answer that must not come */

bool
doctor_is_inside(void)
{
	char name[32] = "";
	int fd = open("/proc/1/comm", O_RDONLY | O_CLOEXEC);

	if (fd == -1)
		return false;
	ssize_t n = read(fd, name, sizeof(name) - 1);
	close(fd);
	return n > 0 && strcmp(name, "duenna-init\n") == 0;
}

static void
try_links(struct doctor *d)
{
	struct if_nameindex *list = if_nameindex();
	const char *other = NULL;

	for (size_t i = 0; list != NULL && list[i].if_index != 0; i++)
		if (strcmp(list[i].if_name, "lo") != 0)
			other = list[i].if_name;
	doctor_say(d, list != NULL && other == NULL, "links",
	    other == NULL ? "loopback alone" : "there is %s", other);
	if_freenameindex(list);
}

/* Families and kinds of sockets that must not be had. */
static void
try_sockets(struct doctor *d)
{
	static const struct {
		const char *name;
		int family, type, protocol;
	} rows[] = {
		{ "raw", AF_INET, SOCK_RAW, IPPROTO_RAW },
		{ "raw6", AF_INET6, SOCK_RAW, IPPROTO_RAW },
		{ "packet", AF_PACKET, SOCK_RAW, 0 },
		{ "vsock", AF_VSOCK, SOCK_STREAM, 0 },
		{ "alg", AF_ALG, SOCK_SEQPACKET, 0 },
		{ "bluetooth", AF_BLUETOOTH, SOCK_RAW, 0 },
		{ "netfilter", AF_NETLINK, SOCK_RAW, 12 },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		int fd = socket(rows[i].family, rows[i].type | SOCK_CLOEXEC,
		    rows[i].protocol);
		doctor_say(d, fd == -1, rows[i].name, "%s",
		    fd == -1 ? strerror(errno) :
			       "a socket of this kind opened");
		if (fd != -1)
			close(fd);
	}
}

/* One datagram to an address outside; only a refusal may come back. */
static void
try_datagram(struct doctor *d, const char *name, struct slice address,
    int protocol)
{
	struct sockaddr_storage sa;
	struct ip ip;
	static const char echo[8] = { 8 }; /* type 8, as ICMP wants it */
	char back[64];

	if (!ip_parse(address, &ip))
		abort();
	socklen_t n = ip_sockaddr(&ip, 443, &sa);
	int fd = socket(sa.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, protocol);
	struct pollfd p = { .fd = fd, .events = POLLIN };
	bool refused = fd == -1 ||
	    connect(fd, (struct sockaddr *)&sa, n) == -1 ||
	    send(fd, echo, sizeof(echo), 0) == -1;
	if (!refused && poll(&p, 1, WAIT_MS) == 1)
		refused = recv(fd, back, sizeof(back), 0) == -1;
	else if (!refused)
		errno = ETIMEDOUT;
	bool ok = refused || errno == ETIMEDOUT;
	doctor_say(d, ok, name, "%s",
	    ok ? strerror(errno) : "somebody answered");
	if (fd != -1)
		close(fd);
}

/* A socket of the host's, by path, or abstract with @ in front. */
static void
try_unix(struct doctor *d, const char *path)
{
	struct sockaddr_un sa = { .sun_family = AF_UNIX };
	size_t n = strlen(path);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	if (n >= sizeof(sa.sun_path))
		n = sizeof(sa.sun_path) - 1;
	memcpy(sa.sun_path, path, n);
	if (path[0] == '@')
		sa.sun_path[0] = '\0';
	socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) +
	    n + (path[0] != '@'));
	int rc = connect(fd, (struct sockaddr *)&sa, size);
	doctor_say(d, rc == -1, "unix", "%s: %s", path,
	    rc == -1 ? strerror(errno) : "somebody listens");
	close(fd);
}

/* `rc` and errno of a call that the list has to refuse. */
static void
say_refused(struct doctor *d, const char *name, long rc)
{
	bool ok = rc == -1 && errno == EPERM;

	doctor_say(d, ok, name, "%s",
	    rc == -1 ? strerror(errno) : "it was allowed");
}

static void
try_calls(struct doctor *d)
{
	static const char parameters[128]; /* of an io_uring */
	char c = ' ';

	say_refused(d, "keyring",
	    syscall(SYS_keyctl, KEYCTL_GET_KEYRING_ID, KEY_SPEC_USER_KEYRING,
		0));
	say_refused(d, "key",
	    syscall(SYS_request_key, "user", "duenna", NULL,
		KEY_SPEC_SESSION_KEYRING));
	say_refused(d, "io_uring", syscall(SYS_io_uring_setup, 1, parameters));
	say_refused(d, "typing", ioctl(STDIN_FILENO, TIOCSTI, &c));
}

/* What must not be readable, or not be there at all. */
static void
try_files(struct doctor *d)
{
	static const char *const paths[] = { "/proc/1/environ", "/proc/1/mem",
		"/proc/1/root/etc/hostname", "/etc/shadow", "/dev/mem",
		"/proc/sys/kernel/core_pattern", "/sys/power/state" };

	for (size_t i = 0; i < COUNT_OF(paths); i++) {
		int fd = open(paths[i], O_RDWR | O_CLOEXEC);
		doctor_say(d, fd == -1, "file", "%s: %s", paths[i],
		    fd == -1 ? strerror(errno) : "it can be written");
		if (fd != -1)
			close(fd);
	}
}

void
doctor_inside(struct doctor *d)
{
	try_links(d);
	try_sockets(d);
	try_datagram(d, "udp", SLICE("203.0.113.1"), 0);
	try_datagram(d, "udp6", SLICE("2001:db8::1"), 0);
	try_datagram(d, "ping", SLICE("203.0.113.1"), IPPROTO_ICMP);
	try_unix(d, "/run/dbus/system_bus_socket");
	try_unix(d, "/run/docker.sock");
	try_unix(d, "/tmp/.X11-unix/X0");
	try_unix(d, "@/tmp/.X11-unix/X0");
	try_calls(d);
	try_files(d);
}
