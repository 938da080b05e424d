/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sandbox's end of a link: a tap's file, or a socket on the other veth,
 * whose namespace the kernel tells by a number of ours for it.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "ns/capture_make.h"
#include "ns/rtnl.h"

#define SEEN_MAX 1024 /* namespaces that are looked at once; beyond, again */

struct search {
	int rtnl, nsid;
	ino_t seen[SEEN_MAX];
	size_t n_seen;
};

static bool
is_new(struct search *s, ino_t inode)
{
	for (size_t i = 0; i < s->n_seen; i++)
		if (s->seen[i] == inode)
			return false;
	if (s->n_seen < SEEN_MAX)
		s->seen[s->n_seen++] = inode;
	return true;
}

/* The namespace of this file if it is the one; else -1. */
static int
try_file(struct search *s, int folder, const char *path)
{
	struct stat st;

	if (fstatat(folder, path, &st, 0) == -1 || !S_ISREG(st.st_mode) ||
	    !is_new(s, st.st_ino))
		return -1;
	int fd = openat(folder, path, O_RDONLY | O_CLOEXEC);
	if (fd == -1 || rtnl_nsid(s->rtnl, fd) == s->nsid)
		return fd;
	close(fd);
	return -1;
}

/* All of a folder; `below` is where in each entry its file is. */
static int
try_folder(struct search *s, const char *path, const char *below)
{
	char name[300];
	const struct dirent *e;
	int found = -1;
	DIR *dir = opendir(path);

	if (dir == NULL)
		return -1;
	while (found == -1 && (e = readdir(dir)) != NULL) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(name, sizeof(name), "%s%s", e->d_name, below);
		found = try_file(s, dirfd(dir), name);
	}
	closedir(dir);
	return found;
}

static int
find_namespace(const struct link *link, struct fail *fail)
{
	static struct search s;

	s = (struct search){ .rtnl = rtnl_open(false),
		.nsid = link->peer_nsid };
	if (s.rtnl == -1)
		return fail_errno(fail, "cannot open rtnetlink");
	int fd = try_folder(&s, "/proc", "/ns/net");
	if (fd == -1)
		fd = try_folder(&s, "/run/netns", "");
	close(s.rtnl);
	if (fd != -1)
		return fd;
	return fail_set(fail, ERR_MISSING,
	    "the namespace of the other end of %s was not found, so that what "
	    "the sandbox sends cannot be tried: expected that of a process, or "
	    "one in /run/netns",
	    link->name);
}

/*
 * A socket on the other veth, in whose namespace we are.  It is raised if need
 * be, and stays so: the sandbox wants it, and lowering it again would lower
 * ours.
 */
static int
open_veth(const struct link *link, uint8_t from_mac[6])
{
	struct sockaddr_ll sa = { .sll_family = AF_PACKET,
		.sll_ifindex = link->peer };
	struct links links;
	int on = 1, rtnl = rtnl_open(false);
	int fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);

	if (rtnl == -1 || fd == -1 || links_read(rtnl, &links) == -1)
		goto fail;
	const struct link *peer = links_find(&links, link->peer);
	if (peer == NULL) {
		errno = ENODEV;
		goto fail;
	}
	memcpy(from_mac, peer->mac, 6);
	/* Past its queue, which may wait for the kernel to note the carrier. */
	if ((!peer->is_up && rtnl_link_set(rtnl, link->peer, true) == -1) ||
	    bind(fd, (struct sockaddr *)&sa, sizeof(sa)) == -1 ||
	    setsockopt(fd, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof(on)) ==
		-1)
		goto fail;
	close(rtnl);
	return fd;

fail:;
	int number = errno;
	if (rtnl != -1)
		close(rtnl);
	if (fd != -1)
		close(fd);
	errno = number;
	return -1;
}

static int
enter_and_open(const struct capture_gate *gate, uint8_t from_mac[6],
    struct fail *fail)
{
	int net_fd = find_namespace(&gate->link, fail);

	if (net_fd == -1)
		return -1;
	int fd = -1;
	if (setns(net_fd, CLONE_NEWNET) == 0)
		fd = open_veth(&gate->link, from_mac);
	if (fd == -1)
		fail_errno(fail, "cannot send from the other end of %s",
		    gate->link.name);
	close(net_fd);
	if (setns(gate->net_fd, CLONE_NEWNET) == 0)
		return fd;
	if (fd != -1)
		close(fd);
	return fail_errno(fail, "cannot enter the namespace again");
}

/* As a virtual machine opens it, which has not started yet. */
static int
open_tap(const struct link *link, struct fail *fail)
{
	struct ifreq request = { .ifr_flags = IFF_TAP | IFF_NO_PI };
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);

	if (fd == -1)
		return fail_errno(fail, "cannot open /dev/net/tun");
	snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", link->name);
	if (ioctl(fd, TUNSETIFF, &request) == 0)
		return fd;
	request.ifr_flags |= IFF_MULTI_QUEUE;
	if (errno == EINVAL && ioctl(fd, TUNSETIFF, &request) == 0)
		return fd;
	int number = errno;
	close(fd);
	errno = number;
	fail_errno(fail, "cannot send from the other end of %s", link->name);
	if (number == EBUSY)
		fail->err = ERR_EXISTS;
	return -1;
}

int
capture_peer_open(const struct capture_gate *gate, uint8_t from_mac[6],
    struct fail *fail)
{
	static const uint8_t made_up[6] = { 0x02, 'd', 'u', 'e', 'n', 'a' };

	if (strcmp(gate->link.kind, "tun") == 0) {
		memcpy(from_mac, made_up, sizeof(made_up));
		return open_tap(&gate->link, fail);
	}
	if (gate->link.peer_nsid == -1)
		return fail_set(fail, ERR_DENIED,
		    "the other end of %s is in the gate's namespace, too; "
		    "move it to where the sandbox is",
		    gate->link.name);
	return enter_and_open(gate, from_mac, fail);
}
