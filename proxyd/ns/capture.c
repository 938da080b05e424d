/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "ns/capture_make.h"
#include "ns/pass.h"

#define LEAVING_MAX 64 /* helpers that end at once; more are waited for */

/* What both kinds of job begin with; the caller forks then. */
static int
prepare(struct capture_job *job, int net_fd, int *channel, struct fail *fail)
{
	int pair[2];

	job->net_fd = fcntl(net_fd, F_DUPFD_CLOEXEC, 0);
	if (job->net_fd == -1)
		return fail_errno(fail, "cannot hold the namespace");
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == -1) {
		fail_errno(fail, "cannot make a socket pair");
		close(job->net_fd);
		return -1;
	}
	/* Our end alone; the helper waits until its packet is away. */
	(void)fcntl(pair[0], F_SETFL, O_NONBLOCK);
	job->fd = pair[0];
	*channel = pair[1];
	return 0;
}

static int
begun(struct capture_job *job, int channel, struct fail *fail)
{
	int number = errno;

	close(channel);
	if (job->pid != -1)
		return 0;
	close(job->fd);
	close(job->net_fd);
	errno = number;
	return fail_errno(fail, "cannot start a process");
}

int
capture_begin(const struct capture_config *config, struct capture_job *job,
    struct fail *fail)
{
	int channel;

	if (config->mode != CAPTURE_NETNS && config->mode != CAPTURE_GATE)
		return fail_set(fail, ERR_DENIED,
		    "sandboxes of mode %s cannot be attached; expected netns "
		    "or gate",
		    capture_mode_name(config->mode));
	*job = (struct capture_job){ .mode = config->mode };
	if (prepare(job, config->net_fd, &channel, fail) == -1)
		return -1;
	job->pid = fork();
	if (job->pid == 0)
		capture_make(config, channel);
	return begun(job, channel, fail);
}

int
capture_end(const struct capture *capture, const char *nft_path,
    struct capture_job *job, struct fail *fail)
{
	int channel;

	*job = (struct capture_job){ .mode = capture->mode };
	if (prepare(job, capture->net_fd, &channel, fail) == -1)
		return -1;
	job->pid = fork();
	if (job->pid == 0)
		capture_unmake(capture->net_fd, nft_path, channel);
	return begun(job, channel, fail);
}

/*
 * Helpers that have said all that they had to say, and are not gone yet: the
 * kernel takes ten milliseconds to close a packet socket, which are not to be
 * waited for here.
 */
static pid_t leaving[LEAVING_MAX];
static size_t n_leaving;

/* Is it gone, or was never ours? */
static bool
is_gone(pid_t pid, int flags)
{
	pid_t rc;

	do {
		rc = waitpid(pid, NULL, flags);
	} while (rc == -1 && errno == EINTR);
	return rc != 0;
}

static void
reap_leaving(void)
{
	size_t kept = 0;

	for (size_t i = 0; i < n_leaving; i++)
		if (!is_gone(leaving[i], WNOHANG))
			leaving[kept++] = leaving[i];
	n_leaving = kept;
}

static void
reap(const struct capture_job *job)
{
	kill(job->pid, SIGKILL);
	reap_leaving();
	if (is_gone(job->pid, WNOHANG))
		return;
	if (n_leaving == LEAVING_MAX)
		(void)is_gone(leaving[--n_leaving], 0);
	leaving[n_leaving++] = job->pid;
}

void
capture_cancel(struct capture_job *job)
{
	reap(job);
	close(job->fd);
	close(job->net_fd);
}

static void
take(struct capture *c, const struct capture_job *job,
    const struct capture_done *done, const int *fd)
{
	size_t n = 0;

	*c = (struct capture){ .mode = job->mode,
		.net_fd = job->net_fd,
		.tcp_port = done->tcp_port,
		.dns_port = done->dns_port,
		.link = done->link,
		.probed = done->probed };
	for (size_t i = 0; i < NETNS_SOCKET_COUNT; i++) {
		bool made =
		    done->has_ipv6 || !inlet_is_ipv6((enum netns_socket)i);
		c->socket[i] = made ? fd[n++] : -1;
	}
}

int
capture_hear(struct capture_job *job, struct capture *capture,
    struct fail *fail)
{
	union {
		struct capture_done done;
		uint8_t bytes[PASS_SIZE_MAX];
	} u;
	int fd[PASS_FD_MAX];
	ssize_t n = pass_receive(job->fd, u.bytes, fd);

	if (n == -1 && (errno == EAGAIN || errno == EWOULDBLOCK))
		return fail_set(fail, ERR_AGAIN, "not ready yet");
	if (n == -1)
		fail_errno(fail, "cannot read from the helper process");
	else if ((size_t)n != sizeof(u.done))
		fail_set(fail, ERR_CLOSED,
		    "the helper process ended without a word, or took longer "
		    "than %d seconds",
		    CAPTURE_S_MAX);
	else if (!u.done.ok)
		*fail = u.done.fail;
	bool ok = n == (ssize_t)sizeof(u.done) && u.done.ok;
	reap(job);
	close(job->fd);
	if (ok && capture != NULL)
		take(capture, job, &u.done, fd);
	else
		close(job->net_fd);
	return ok ? 0 : -1;
}

int
capture_take(struct capture *capture, enum netns_socket which)
{
	int fd = capture->socket[which];

	capture->socket[which] = -1;
	return fd;
}

void
capture_release(struct capture *capture)
{
	for (size_t i = 0; i < NETNS_SOCKET_COUNT; i++)
		if (capture->socket[i] != -1)
			close(capture->socket[i]);
	close(capture->net_fd);
}
