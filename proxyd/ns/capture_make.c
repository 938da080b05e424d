/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "ns/capture_make.h"
#include "ns/fds.h"
#include "ns/links.h"
#include "ns/pass.h"
#include "ns/rtnl.h"
#include "ns/setup.h"

/* Become a process of its own: dies with the monitor, holds nothing of it. */
static int
alone(int net_fd, int channel)
{
	const int keep[] = { net_fd, channel };
	sigset_t none;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	fds_reset_signals();
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	alarm(CAPTURE_S_MAX);
	return fds_keep(keep, COUNT_OF(keep), false);
}

static int
enter(int net_fd, struct fail *fail)
{
	if (setns(net_fd, CLONE_NEWNET) == -1)
		return fail_refused(fail, FAIL_NET,
		    "cannot enter the network namespace");
	return 0;
}

static int
read_links(struct links *links, struct fail *fail)
{
	int fd = rtnl_open(false);

	if (fd == -1)
		return fail_errno(fail, "cannot open rtnetlink");
	int rc = links_read(fd, links);
	if (rc == -1)
		fail_errno(fail, "cannot read the links of the namespace");
	close(fd);
	return rc;
}

/* Whoever has another link has another way out. */
static int
check_empty(struct fail *fail)
{
	struct links links;

	if (read_links(&links, fail) == -1)
		return -1;
	for (size_t i = 0; i < links.n && i < LINKS_MAX; i++) {
		if (links.link[i].index == RTNL_LO)
			continue;
		return fail_set(fail, ERR_DENIED,
		    "the namespace has the link %s; one of mode netns may have "
		    "loopback alone. Make it without network, or attach it in "
		    "mode gate. (Tunnels that no one made are those of kernel "
		    "modules: sysctl net.core.fb_tunnels_only_for_init_net=2)",
		    links.link[i].name);
	}
	return 0;
}

static int
load_rules(const char *nft_path, const struct inlet *in, struct fail *fail)
{
	char tcp[8], dns[8], out[64];
	char program[] = "duenna-nft", mode[] = "netns-empty";
	char *argv[] = { program, mode, tcp, dns, NULL };

	snprintf(tcp, sizeof(tcp), "%d", in->tcp_port);
	snprintf(dns, sizeof(dns), "%d", in->dns_port);
	return setup_nft(nft_path, argv, out, sizeof(out), fail);
}

static int
make_netns(const struct capture_config *config, struct inlet *in,
    struct fail *fail)
{
	/* Heard first, read then: no link comes in between unseen. */
	in->socket[NETNS_LINKS] = rtnl_open(true);
	if (in->socket[NETNS_LINKS] == -1)
		return fail_errno(fail, "cannot watch the links");
	if (check_empty(fail) == -1 || inlet_loopback(in, fail) == -1 ||
	    inlet_listen(in, NULL, fail) == -1 ||
	    load_rules(config->nft_path, in, fail) == -1)
		return -1;
	return capture_probe_inside(in, config->nft_path, config->again, fail);
}

void
capture_make(const struct capture_config *config, int channel)
{
	struct capture_done done = { 0 };
	struct inlet in;
	struct capture_gate gate = { .net_fd = config->net_fd, .probed = true };
	int fd[PASS_FD_MAX];
	size_t n = 0;

	if (alone(config->net_fd, channel) == -1)
		_exit(1);
	if (enter(config->net_fd, &done.fail) == 0) {
		inlet_init(&in, config->tcp_port, config->dns_port);
		in.lasting = true;
		done.ok =
		    (config->mode == CAPTURE_GATE ?
			    capture_make_gate(config, &in, &gate, &done.fail) :
			    make_netns(config, &in, &done.fail)) == 0;
	}
	if (done.ok) {
		done.has_ipv6 = in.has_ipv6;
		done.probed = gate.probed;
		done.link = gate.link.index;
		done.tcp_port = in.tcp_port;
		done.dns_port = in.dns_port;
		n = inlet_list(&in, fd);
	}
	if (pass_send(channel, slice_of(&done, sizeof(done)), fd, n) == -1)
		_exit(1);
	_exit(0);
}

void
capture_unmake(int net_fd, const char *nft_path, int channel)
{
	struct capture_done done = { 0 };
	char program[] = "duenna-nft", mode[] = "clear", out[64];
	char *argv[] = { program, mode, NULL };

	if (alone(net_fd, channel) == -1)
		_exit(1);
	done.ok = enter(net_fd, &done.fail) == 0 &&
	    setup_nft(nft_path, argv, out, sizeof(out), &done.fail) == 0;
	if (pass_send(channel, slice_of(&done, sizeof(done)), NULL, 0) == -1)
		_exit(1);
	_exit(0);
}
