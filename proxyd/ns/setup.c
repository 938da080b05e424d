/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ns/fds.h"
#include "ns/inlet.h"
#include "ns/pass.h"
#include "ns/setup.h"

struct made {
	int user_fd, net_fd;
	struct inlet in;
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
load_rules(const char *nft_path, const struct made *made, struct fail *fail)
{
	char tcp[8], dns[8], out[64];
	char program[] = "duenna-nft", mode[] = "netns-empty";
	char *argv[] = { program, mode, tcp, dns, NULL };

	snprintf(tcp, sizeof(tcp), "%d", made->in.tcp_port);
	snprintf(dns, sizeof(dns), "%d", made->in.dns_port);
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
	if (inlet_loopback(&made->in, fail) == -1 ||
	    inlet_listen(&made->in, NULL, fail) == -1)
		return -1;
	return load_rules(config->nft_path, made, fail);
}

void
setup_run(const struct netns_config *config, int channel)
{
	struct made made;
	struct setup_done done = { 0 };
	int fd[PASS_FD_MAX];
	size_t n = 0;

	setup_alone(channel);
	inlet_init(&made.in, config->tcp_port, config->dns_port);
	done.ok = make(config, &made, &done.fail) == 0;
	if (done.ok) {
		done.has_ipv6 = made.in.has_ipv6;
		done.tcp_port = made.in.tcp_port;
		done.dns_port = made.in.dns_port;
		fd[n++] = made.user_fd;
		fd[n++] = made.net_fd;
		n += inlet_list(&made.in, fd + n);
	}
	if (pass_send(3, slice_of(&done, sizeof(done)), fd, n) == -1)
		_exit(1);
	_exit(0);
}
