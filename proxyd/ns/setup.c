/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/ip.h"
#include "base/limits.h"
#include "ns/fds.h"
#include "ns/pass.h"
#include "ns/rtnl.h"
#include "ns/setup.h"

#define BACKLOG 4096 /* connections that wait for the worker; self-made only */

struct made {
	int user_fd, net_fd;
	int socket[NETNS_SOCKET_COUNT];
	bool has_ipv6;
	uint16_t tcp_port, dns_port;
};

void
setup_alone(int channel)
{
	/* The monitor may have died before: the channel's end tells later. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fds_reset_signals();
	if (channel != 3)
		dup3(channel, 3, O_CLOEXEC);
	close_range(4, ~0U, 0);
}

int
setup_user(const struct netns_user *user, struct fail *fail)
{
	if (user->uid == geteuid() && user->gid == getegid())
		return 0;
	if (user->name != NULL && initgroups(user->name, user->gid) == -1)
		return fail_errno(fail, "cannot take on the groups of %s",
		    user->name);
	if (setresgid(user->gid, user->gid, user->gid) == -1 ||
	    setresuid(user->uid, user->uid, user->uid) == -1)
		return fail_errno(fail, "cannot become user %ld",
		    (long)user->uid);
	prctl(PR_SET_PDEATHSIG, SIGKILL); /* was lost with the change */
	return 0;
}

static int
write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd == -1)
		return -1;
	ssize_t n = write(fd, text, strlen(text));
	int number = errno;
	close(fd);
	errno = number;
	return n == (ssize_t)strlen(text) ? 0 : -1;
}

/* The sandbox's user is the only one there: everybody else is nobody. */
static int
make_user(struct fail *fail)
{
	long uid = geteuid(), gid = getegid();
	bool bare =
	    uid == 0 && prctl(PR_CAPBSET_READ, CAP_SETFCAP, 0, 0, 0) == 0;
	char map[64];

	/* Without this /proc/self belongs to root, and we cannot write there. */
	prctl(PR_SET_DUMPABLE, 1);
	if (unshare(CLONE_NEWUSER) == -1)
		return fail_refused(fail, FAIL_USER,
		    "cannot make a user namespace");
	snprintf(map, sizeof(map), "%ld %ld 1\n", uid, uid);
	if (write_file("/proc/self/uid_map", map) == -1)
		goto fail;
	if (write_file("/proc/self/setgroups", "deny") == -1)
		goto fail;
	snprintf(map, sizeof(map), "%ld %ld 1\n", gid, gid);
	if (write_file("/proc/self/gid_map", map) == -1)
		goto fail;
	prctl(PR_SET_DUMPABLE, 0);
	return 0;

fail:
	return fail_refused(fail, bare ? FAIL_ROOT : FAIL_USER,
	    "cannot write the map of a user namespace");
}

static int
make_loopback(struct made *made, struct fail *fail)
{
	struct ip v4, v6;
	int fd = rtnl_open(false);
	int probe = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	made->has_ipv6 = probe != -1;
	if (probe != -1)
		close(probe);
	if (fd == -1)
		return fail_refused(fail, FAIL_NET, "cannot open rtnetlink");
	if (!ip_parse(SLICE(NETNS_ADDR4), &v4) ||
	    !ip_parse(SLICE(NETNS_ADDR6), &v6))
		abort();
	if (rtnl_link_up(fd, RTNL_LO) == -1 ||
	    rtnl_address(fd, RTNL_LO, &v4) == -1 ||
	    rtnl_all_local(fd, RTNL_LO, &v4) == -1)
		goto fail;
	if (made->has_ipv6 &&
	    (rtnl_address(fd, RTNL_LO, &v6) == -1 ||
		rtnl_all_local(fd, RTNL_LO, &v6) == -1))
		goto fail;
	close(fd);
	return 0;

fail:
	fail_refused(fail, FAIL_NET, "cannot set up loopback");
	close(fd);
	return -1;
}

/*
 * One socket on 127.0.0.1 or ::1.  No SO_REUSEPORT: with it a process of the
 * same user inside takes our place (THREATS 6.6).  The buffers are fixed,
 * since the namespace's own limits are its root's to raise.
 */
static int
make_socket(bool v6, int type, uint16_t *port)
{
	struct sockaddr_storage sa;
	struct ip ip = ip_v4(127, 0, 0, 1);
	int size = LIMIT_SOCKET_BUFFER, on = 1;
	int flags = SOCK_CLOEXEC | SOCK_NONBLOCK;

	if (v6)
		ip = (struct ip){ .family = 6, .bytes = { [15] = 1 } };
	socklen_t n = ip_sockaddr(&ip, *port, &sa);
	int fd = socket(v6 ? AF_INET6 : AF_INET, type | flags, 0);
	if (fd == -1)
		return -1;
	if (v6 &&
	    setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) == -1)
		goto fail;
	if (setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)) == -1 ||
	    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size)) == -1)
		goto fail;
	if (bind(fd, (struct sockaddr *)&sa, n) == -1)
		goto fail;
	if (type == SOCK_STREAM && listen(fd, BACKLOG) == -1)
		goto fail;
	if (getsockname(fd, (struct sockaddr *)&sa, &n) == -1 ||
	    !ip_from_sockaddr((struct sockaddr *)&sa, &ip, port))
		goto fail;
	return fd;

fail:;
	int number = errno;
	close(fd);
	errno = number;
	return -1;
}

static int
make_sockets(struct made *made, struct fail *fail)
{
	/* The first of a port chooses it, the others take the same one. */
	const struct {
		enum netns_socket which;
		bool v6;
		int type;
		uint16_t *port;
	} rows[] = {
		{ NETNS_TCP4, false, SOCK_STREAM, &made->tcp_port },
		{ NETNS_TCP6, true, SOCK_STREAM, &made->tcp_port },
		{ NETNS_DNS_UDP4, false, SOCK_DGRAM, &made->dns_port },
		{ NETNS_DNS_UDP6, true, SOCK_DGRAM, &made->dns_port },
		{ NETNS_DNS_TCP4, false, SOCK_STREAM, &made->dns_port },
		{ NETNS_DNS_TCP6, true, SOCK_STREAM, &made->dns_port },
	};

	for (size_t i = 0; i < COUNT_OF(rows); i++) {
		if (rows[i].v6 && !made->has_ipv6)
			continue;
		int fd = make_socket(rows[i].v6, rows[i].type, rows[i].port);
		if (fd == -1)
			return fail_errno(fail,
			    "cannot listen on loopback, port %d",
			    *rows[i].port);
		made->socket[rows[i].which] = fd;
	}
	made->socket[NETNS_LINKS] = rtnl_open(true);
	if (made->socket[NETNS_LINKS] == -1)
		return fail_errno(fail, "cannot watch the links");
	return 0;
}

static int
load_rules(const char *nft_path, const struct made *made, struct fail *fail)
{
	char tcp[8], dns[8], out[64];
	char program[] = "duenna-nft", mode[] = "netns-empty";
	char *argv[] = { program, mode, tcp, dns, NULL };

	snprintf(tcp, sizeof(tcp), "%d", made->tcp_port);
	snprintf(dns, sizeof(dns), "%d", made->dns_port);
	return setup_nft(nft_path, argv, out, sizeof(out), fail);
}

static int
make(const struct netns_config *config, struct made *made, struct fail *fail)
{
	if (setup_user(&config->user, fail) == -1 || make_user(fail) == -1)
		return -1;
	if (unshare(CLONE_NEWNET) == -1)
		return fail_refused(fail, FAIL_NET,
		    "cannot make a network namespace");
	made->user_fd = open("/proc/self/ns/user", O_RDONLY | O_CLOEXEC);
	made->net_fd = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (made->user_fd == -1 || made->net_fd == -1)
		return fail_errno(fail, "cannot open /proc/self/ns");
	if (make_loopback(made, fail) == -1 || make_sockets(made, fail) == -1)
		return -1;
	return load_rules(config->nft_path, made, fail);
}

void
setup_run(const struct netns_config *config, int channel)
{
	struct made made = { .tcp_port = config->tcp_port,
		.dns_port = config->dns_port };
	struct setup_done done = { 0 };
	int fd[PASS_FD_MAX];
	size_t n = 0;

	setup_alone(channel);
	for (size_t i = 0; i < NETNS_SOCKET_COUNT; i++)
		made.socket[i] = -1;
	done.ok = make(config, &made, &done.fail) == 0;
	if (done.ok) {
		done.has_ipv6 = made.has_ipv6;
		done.tcp_port = made.tcp_port;
		done.dns_port = made.dns_port;
		fd[n++] = made.user_fd;
		fd[n++] = made.net_fd;
		for (size_t i = 0; i < NETNS_SOCKET_COUNT; i++)
			if (made.socket[i] != -1)
				fd[n++] = made.socket[i];
	}
	if (pass_send(3, slice_of(&done, sizeof(done)), fd, n) == -1)
		_exit(1);
	_exit(0);
}
