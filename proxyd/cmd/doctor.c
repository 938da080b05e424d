/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `duenna run` needs of this kernel and this user, tried: its parts
 * (doctor_parts.c), then all together.  A sandbox is made as `run` makes one,
 * in a folder of its own, and `true` is run in it.
 * Inside a sandbox the ways out are tried instead (doctor_inside.c).
 */
#include <errno.h>
#include <getopt.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "cmd/doctor.h"
#include "ns/env.h"
#include "ns/home.h"
#include "ns/netns.h"
#include "ns/pid1.h"

#define RUN_MS 10000 /* for a sandbox that runs `true` */

static const char usage[] =
    "usage: duenna doctor [--json] [--url URL]\n"
    "\n"
    "Try what `duenna run` needs, and say what is missing and how to mend it.\n"
    "Inside a sandbox: try the ways out of it; each has to fail.  Then each\n"
    "program that is known and installed opens URL (else " DOCTOR_URL ",\n"
    "which is refused, and recorded): does it trust the sandbox's CA?\n"
    "Exit status: 0 all is well, 1 something is not, 2 usage.\n";

static void
check_user(struct doctor *d)
{
	doctor_say(d, true, "user",
	    geteuid() == 0 ?
		"root: `run` asks for --user NAME, else the command is uid 0 "
		"without capabilities" :
		"an ordinary one, as is best");
}

/* Where the trial sandbox lives. */
struct trial {
	char folder[64];
	char work[80];
	char *home_dir; /* owned */
	struct netns netns;
	struct env env;
};

static int
make_trial(struct trial *t, struct fail *fail)
{
	const struct netns_user user = netns_user_self();

	snprintf(t->folder, sizeof(t->folder), "/tmp/duenna-doctor-XXXXXX");
	if (mkdtemp(t->folder) == NULL)
		return fail_errno(fail, "cannot make a folder in /tmp");
	snprintf(t->work, sizeof(t->work), "%s/work", t->folder);
	if (mkdir(t->work, 0700) == -1)
		return fail_errno(fail, "cannot make %s", t->work);
	return home_make(t->folder, "doctor", &user, &t->home_dir, fail);
}

static bool
check_network(struct doctor *d, struct trial *t)
{
	struct netns_config config = { .nft_path = netns_nft_path(),
		.user = netns_user_self() };
	struct fail fail = { 0 };

	if (netns_start(&config, &t->netns, &fail) == -1) {
		doctor_say(d, false, "nftables", "%s", fail.text);
		return false;
	}
	doctor_say(d, true, "nftables", "rules in a network namespace");
	doctor_say(d, true, "IPv6",
	    t->netns.socket[NETNS_TCP6] != -1 ?
		"yes" :
		"not in this kernel: the sandbox has none either");
	return true;
}

/* Until the last news, or too long. */
static void
wait_for(struct pid1 *p, struct pid1_news *news)
{
	struct pollfd ready = { .fd = p->channel, .events = POLLIN };

	do {
		news->kind = PID1_GONE;
		if (poll(&ready, 1, RUN_MS) == 0)
			return;
		pid1_read(p, news);
	} while (news->kind == PID1_NONE || news->kind == PID1_STARTED ||
	    news->kind == PID1_STOPPED || news->kind == PID1_OUTSIDE);
}

static void
check_sandbox(struct doctor *d, struct trial *t)
{
	char command[] = "true";
	char *argv[] = { command, NULL };
	const char *home = env_find(&t->env, "HOME");
	struct view view = { .home = home == NULL ? "/root" : home,
		.home_dir = t->home_dir,
		.work = t->work,
		.host = "doctor",
		.root = geteuid() == 0 };
	struct child child = { .argv = argv, .environment = t->env.list };
	struct pid1_config config = { .netns = &t->netns,
		.view = &view,
		.child = &child };
	struct pid1_news news = { 0 };
	struct pid1 p;

	if (pid1_start(&config, &p, &news.fail) == -1) {
		doctor_say(d, false, "sandbox", "%s", news.fail.text);
		return;
	}
	wait_for(&p, &news);
	pid1_release(&p);
	if (news.kind == PID1_EXITED && news.number == 0)
		doctor_say(d, true, "sandbox",
		    "mounts, overlay, /proc, system-call list; a command ran");
	else
		doctor_say(d, false, "sandbox", "%s",
		    news.kind == PID1_FAILED ? news.fail.text :
					       "the command did not run");
}

static void
check_run(struct doctor *d)
{
	struct trial t = { .folder = "" };
	struct fail fail = { 0 };

	env_init(&t.env, environ);
	if (make_trial(&t, &fail) == -1) {
		doctor_say(d, false, "folders", "%s", fail.text);
	} else if (check_network(d, &t)) {
		check_sandbox(d, &t);
		netns_release(&t.netns);
	}
	if (t.folder[0] != '\0' && home_remove(t.folder, &fail) == -1)
		doctor_say(d, false, "folders", "%s", fail.text);
	env_release(&t.env);
	free(t.home_dir);
}

/* 0 to go on, else the exit status plus one. */
static int
take_options(int argc, char **argv, struct doctor *d, const char **url)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "url", required_argument, NULL, 'u' },
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	int option;

	while ((option = getopt_long(argc, argv, "h", options, NULL)) != -1) {
		if (option == 'h') {
			fputs(usage, stdout);
			return 1;
		}
		if (option == 'u')
			*url = optarg;
		else if (option == 'j')
			d->as_json = true;
		else
			return CMD_USAGE + 1;
	}
	if (optind == argc)
		return 0;
	fputs(usage, stderr);
	return CMD_USAGE + 1;
}

static int
inside(struct doctor *d, const char *url)
{
	doctor_begin(d);
	doctor_inside(d);
	if (doctor_trust(d, url == NULL ? DOCTOR_URL : url))
		return doctor_end(d);
	buf_release(&d->out);
	fprintf(stderr,
	    "duenna: doctor: --url wants https://HOST/..., not "
	    "'%s'\n",
	    url);
	return CMD_USAGE;
}

int
doctor_main(int argc, char **argv)
{
	struct doctor d = { 0 };
	const char *url = NULL;
	int end = take_options(argc, argv, &d, &url);

	if (end != 0)
		return end - 1;
	if (doctor_is_inside())
		return inside(&d, url);
	if (url != NULL) {
		fputs("duenna: doctor: --url is for inside a sandbox: "
		      "duenna run -- duenna doctor --url URL\n",
		    stderr);
		return CMD_USAGE;
	}
	doctor_begin(&d);
	check_user(&d);
	if (doctor_parts(&d))
		check_run(&d);
	return doctor_end(&d);
}
