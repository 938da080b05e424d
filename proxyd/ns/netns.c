/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ns/inlet.h"
#include "ns/netns.h"
#include "ns/pass.h"
#include "ns/setup.h"

#define START_MS 30000 /* milliseconds are enough, but for a machine in need */

struct netns_user
netns_user_self(void)
{
	return (struct netns_user){ .uid = geteuid(), .gid = getegid() };
}

int
netns_user_find(const char *name, struct netns_user *user, struct fail *fail)
{
	errno = 0;
	const struct passwd *pw = getpwnam(name);
	if (pw == NULL)
		return fail_set(fail, ERR_MISSING,
		    "--user %s: there is no such user", name);
	*user = (struct netns_user){ pw->pw_uid, pw->pw_gid, name };
	return 0;
}

void
netns_user_home(const struct netns_user *user, char *home, size_t size)
{
	const struct passwd *pw = getpwuid(user->uid);

	snprintf(home, size, "%s", pw == NULL ? "/" : pw->pw_dir);
}

/* Wait for the child that is ours alone; its status, -1: it is lost. */
static int
reap(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) == -1)
		if (errno != EINTR)
			return -1;
	return status;
}

static void
take(struct netns *ns, const struct setup_done *done, const int *fd)
{
	size_t n = 2;

	ns->user_fd = fd[0];
	ns->net_fd = fd[1];
	for (size_t i = 0; i < NETNS_SOCKET_COUNT; i++) {
		bool made =
		    done->has_ipv6 || !inlet_is_ipv6((enum netns_socket)i);
		ns->socket[i] = made ? fd[n++] : -1;
	}
	ns->tcp_port = done->tcp_port;
	ns->dns_port = done->dns_port;
}

/* The helper's one packet, in time. */
static int
hear(int channel, struct netns *ns, struct fail *fail)
{
	struct pollfd p = { .fd = channel, .events = POLLIN };
	union {
		struct setup_done done;
		uint8_t bytes[PASS_SIZE_MAX];
	} u;
	int fd[PASS_FD_MAX];
	int ready;

	do {
		ready = poll(&p, 1, START_MS);
	} while (ready == -1 && errno == EINTR);
	if (ready == 0)
		return fail_set(fail, ERR_AGAIN,
		    "the network namespace was not ready after %d seconds",
		    START_MS / 1000);
	ssize_t n = pass_receive(channel, u.bytes, fd);
	if (n == -1)
		return fail_errno(fail, "cannot read from the helper process");
	if ((size_t)n != sizeof(u.done))
		return fail_set(fail, ERR_CLOSED,
		    "the helper process ended without a word");
	if (!u.done.ok) {
		*fail = u.done.fail;
		return -1;
	}
	take(ns, &u.done, fd);
	return 0;
}

int
netns_start(const struct netns_config *config, struct netns *ns,
    struct fail *fail)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == -1)
		return fail_errno(fail, "cannot make a socket pair");
	pid_t pid = fork();
	if (pid == 0)
		setup_run(config, pair[1]);
	close(pair[1]);
	if (pid == -1) {
		close(pair[0]);
		return fail_errno(fail, "cannot start a process");
	}
	*ns = (struct netns){ .user = config->user,
		.nft_path = config->nft_path };
	int ok = hear(pair[0], ns, fail);
	close(pair[0]);
	if (ok == -1)
		kill(pid, SIGKILL);
	reap(pid);
	return ok;
}

int
netns_take(struct netns *ns, enum netns_socket which)
{
	int fd = ns->socket[which];

	ns->socket[which] = -1;
	return fd;
}

int
netns_enter(const struct netns *ns, struct fail *fail)
{
	if (setup_user(&ns->user, fail) == -1)
		return -1;
	if (setns(ns->user_fd, CLONE_NEWUSER) == -1)
		return fail_errno(fail, "cannot enter the user namespace");
	if (setns(ns->net_fd, CLONE_NEWNET) == -1)
		return fail_errno(fail, "cannot enter the network namespace");
	return 0;
}

/* A child's life: duenna-nft's words, or why there are none, to `channel`. */
static NORETURN void
count(const struct netns *ns, int channel)
{
	struct fail fail = { 0 };
	char program[] = "duenna-nft", mode[] = "counters";
	char *argv[] = { program, mode, NULL };
	char out[256] = "";
	bool ok = netns_enter(ns, &fail) == 0 &&
	    setup_nft(ns->nft_path, argv, out, sizeof(out), &fail) == 0;

	if (pass_send(channel, slice_of_str(ok ? out : fail.text), NULL, 0) ==
	    -1)
		ok = false;
	_exit(ok ? 0 : 1);
}

/* "udp N\nicmp N\nother N" */
static int
counters_read(const char *text, struct netns_counters *out)
{
	static const char *const names[] = { "udp ", "icmp ", "other " };
	uint64_t *const values[] = { &out->udp, &out->icmp, &out->other };

	for (size_t i = 0; i < COUNT_OF(names); i++) {
		const char *at = strstr(text, names[i]);
		if (at == NULL)
			return -1;
		*values[i] = strtoull(at + strlen(names[i]), NULL, 10);
	}
	return 0;
}

int
netns_counters(const struct netns *ns, struct netns_counters *out,
    struct fail *fail)
{
	int pair[2];
	char text[FAIL_TEXT_SIZE];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == -1)
		return fail_errno(fail, "cannot make a socket pair");
	pid_t pid = fork();
	if (pid == 0)
		count(ns, pair[1]);
	close(pair[1]);
	if (pid == -1) {
		close(pair[0]);
		return fail_errno(fail, "cannot start a process");
	}
	ssize_t n = recv(pair[0], text, sizeof(text) - 1, 0);
	close(pair[0]);
	text[n < 0 ? 0 : n] = '\0';
	if (reap(pid) != 0)
		return fail_set(fail, ERR_SYSTEM, "cannot read counters: %s",
		    text);
	if (counters_read(text, out) == -1)
		return fail_set(fail, ERR_MESSAGE, "cannot read counters: '%s'",
		    text);
	return 0;
}

void
netns_release(struct netns *ns)
{
	for (size_t i = 0; i < NETNS_SOCKET_COUNT; i++)
		if (ns->socket[i] != -1)
			close(ns->socket[i]);
	close(ns->user_fd);
	close(ns->net_fd);
}
