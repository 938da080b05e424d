/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A monitor in small, for trying the room ns/ without the rest of duenna.
 *
 * usage: ns-probe NFT STATE [OPTION...] -- COMMAND [ARG...]
 *
 *	--home DIR	the caller's home ($HOME)
 *	--name NAME	keep the home under this name
 *	--read DIR, --write DIR, --pin FILE, --closed DIR
 *	--file PATH=TEXT	into /etc
 *	--keep-fd N, --env NAME, --user NAME
 *	--counters	print the counters at the end
 *
 * The listeners answer each connection with one line, "tcp ADDRESS PORT", the
 * place where it wanted to go, and each datagram with itself.
 */
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/ip.h"
#include "ns/env.h"
#include "ns/home.h"
#include "ns/job.h"
#include "ns/netns.h"
#include "ns/pid1.h"
#include "ns/watch.h"
#include "peers/answer.h"

#define LIST_MAX 16

struct probe {
	const char *nft, *state, *name;
	struct netns_user user;
	struct view view;
	struct view_bind binds[LIST_MAX];
	const char *pins[LIST_MAX], *closed[LIST_MAX];
	struct view_file files[LIST_MAX];
	int keep_fd[LIST_MAX];
	struct child child;
	struct env env;
	struct netns netns;
	struct pid1 pid1;
	struct job job;
	bool counters;
	int signals;
	int dies_by;
};

static NORETURN void
die(const struct fail *fail)
{
	fprintf(stderr, "ns-probe: %s\n", fail->text);
	exit(125);
}

static void
take_option(struct probe *p, const char *name, char *value)
{
	struct view *v = &p->view;
	struct fail fail;

	if (strcmp(name, "--home") == 0) {
		v->home = value;
		env_set(&p->env, "HOME", value);
	} else if (strcmp(name, "--name") == 0) {
		p->name = value;
	} else if (strcmp(name, "--read") == 0 ||
	    strcmp(name, "--write") == 0) {
		p->binds[v->n_binds++] =
		    (struct view_bind){ value, strcmp(name, "--write") == 0 };
	} else if (strcmp(name, "--pin") == 0) {
		p->pins[v->n_pins++] = value;
	} else if (strcmp(name, "--closed") == 0) {
		p->closed[v->n_closed++] = value;
	} else if (strcmp(name, "--file") == 0) {
		char *text = strchr(value, '=');
		*text++ = '\0';
		p->files[v->n_files++] =
		    (struct view_file){ value, slice_of_str(text) };
	} else if (strcmp(name, "--keep-fd") == 0) {
		p->keep_fd[p->child.n_keep_fd++] = (int)strtol(value, NULL, 10);
	} else if (strcmp(name, "--env") == 0) {
		(void)env_keep(&p->env, environ, value);
	} else if (strcmp(name, "--user") == 0) {
		if (netns_user_find(value, &p->user, &fail) == -1)
			die(&fail);
	}
}

static void
take_arguments(struct probe *p, char **argv)
{
	p->nft = argv[1];
	p->state = argv[2];
	p->name = "probe";
	p->user = netns_user_self();
	p->view.binds = p->binds;
	p->view.pins = p->pins;
	p->view.closed = p->closed;
	p->view.files = p->files;
	p->child.keep_fd = p->keep_fd;
	env_init(&p->env, environ);
	p->view.home = getenv("HOME");
	for (argv += 3; strcmp(*argv, "--") != 0; argv++) {
		if (strcmp(*argv, "--counters") == 0) {
			p->counters = true;
			continue;
		}
		take_option(p, argv[0], argv[1]);
		argv++;
	}
	p->child.argv = argv + 1;
	p->child.environment = p->env.list;
	p->view.root = p->user.uid == 0;
}

static void
serve(struct probe *p, const struct pollfd *fds)
{
	char name[16];

	answer_all(fds);
	if (fds[NETNS_LINKS].revents == 0 ||
	    !watch_read(fds[NETNS_LINKS].fd, name))
		return;
	fprintf(stderr, "ns-probe: link %s\n", name);
	pid1_signal(&p->pid1, SIGKILL);
}

/* True at the last piece of news. */
static bool
hear(struct probe *p, struct pid1_news *news)
{
	for (;;) {
		pid1_read(&p->pid1, news);
		switch (news->kind) {
		case PID1_NONE:
			return false;
		case PID1_STARTED:
			break;
		case PID1_STOPPED:
			job_stopped(&p->job, news->number);
			break;
		case PID1_OUTSIDE:
			fprintf(stderr, "ns-probe: will run outside: %s\n",
			    news->fail.text);
			break;
		case PID1_FAILED:
			fprintf(stderr, "ns-probe: %s\n", news->fail.text);
			return true;
		case PID1_EXITED:
		case PID1_KILLED:
		case PID1_GONE:
			return true;
		}
	}
}

static int
run(struct probe *p)
{
	enum {
		CHANNEL = NETNS_SOCKET_COUNT,
		SIGNALS,
		COUNT
	};
	struct pollfd fds[COUNT];
	struct signalfd_siginfo info;
	struct pid1_news news;

	for (int i = 0; i < NETNS_SOCKET_COUNT; i++)
		fds[i].fd = p->netns.socket[i];
	fds[CHANNEL].fd = p->pid1.channel;
	fds[SIGNALS].fd = p->signals;
	for (int i = 0; i < COUNT; i++)
		fds[i].events = POLLIN;
	for (;;) {
		if (poll(fds, COUNT, -1) == -1)
			continue;
		serve(p, fds);
		if (fds[SIGNALS].revents != 0 &&
		    read(p->signals, &info, sizeof(info)) ==
			(ssize_t)sizeof(info))
			job_signal(&p->job, (int)info.ssi_signo);
		if (hear(p, &news))
			break;
	}
	p->dies_by = job_end(&p->job, &news);
	return pid1_exit_status(&news);
}

static void
catch_signals(struct probe *p)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; job_signals[i] != 0; i++)
		sigaddset(&set, job_signals[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	p->signals = signalfd(-1, &set, SFD_CLOEXEC);
}

int
main(int argc, char **argv)
{
	static struct probe p;
	struct fail fail = { 0 };
	struct netns_counters c;
	char *home_dir;

	if (argc < 5)
		return 2;
	take_arguments(&p, argv);
	if (child_check(&p.child, &fail) == -1)
		die(&fail);
	struct netns_config config = { .nft_path = p.nft, .user = p.user };
	if (netns_start(&config, &p.netns, &fail) == -1)
		die(&fail);
	if (home_make(p.state, p.name, &p.user, &home_dir, &fail) == -1)
		die(&fail);
	p.view.home_dir = home_dir;
	p.view.host = "probe-host";
	p.view.work = getcwd(NULL, 0);
	if (view_check(&p.view, &fail) == -1)
		die(&fail);
	job_init(&p.job);
	catch_signals(&p);
	struct pid1_config start = { .netns = &p.netns,
		.view = &p.view,
		.child = &p.child,
		.foreground = job_is_foreground(&p.job) };
	if (pid1_start(&start, &p.pid1, &fail) == -1)
		die(&fail);
	job_start(&p.job, &p.pid1);
	int status = run(&p);
	if (p.counters && netns_counters(&p.netns, &c, &fail) == -1)
		die(&fail);
	if (p.counters)
		fprintf(stderr, "ns-probe: udp %lu icmp %lu other %lu\n",
		    (unsigned long)c.udp, (unsigned long)c.icmp,
		    (unsigned long)c.other);
	pid1_release(&p.pid1);
	if (strcmp(p.name, "probe") == 0 && home_remove(home_dir, &fail) == -1)
		die(&fail);
	if (p.dies_by != 0)
		job_die(p.dies_by);
	return status;
}
