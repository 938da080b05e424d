/* SPDX-License-Identifier: Apache-2.0 */
/* What am I?  A role if re-executed as one, else a subcommand; by table. */
#include <sys/prctl.h>

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/log.h"
#include "base/nearest.h"
#include "cmd/cmd.h"
#include "priv/role.h"
#include "proxyd/roles.h"

static const struct {
	const char *name;
	int (*main)(int argc, char **argv);
	const char *what;
} commands[] = {
	{ "run", run_main, "run a command in a sandbox" },
	{ "serve", serve_main, "be the gateway of many sandboxes" },
	{ "init", init_main, "write a policy to begin with" },
	{ "check", check_main, "errors and warnings of a policy" },
	{ "explain", explain_main, "which rule decides on a URL, and why" },
	{ "audit", audit_main,
	    "what was decided: show, tail, report, suggest, verify" },
	{ "ca", ca_main, "certificates for the sandbox" },
	{ "attach", attach_main, "put a sandbox in the care of `serve`" },
	{ "detach", detach_main, "let one go" },
	{ "list", list_main, "those that are attached" },
	{ "status", status_main, "how `serve` is, or one of them" },
	{ "reload", reload_main, "read configuration and policies again" },
	{ "allow", allow_main, "add a rule to one, for some time" },
	{ "doctor", doctor_main, "what this machine can do, what is missing" },
};

static int (*const role_mains[ROLE_COUNT])(void) = {
	[ROLE_STEWARD] = steward_main,
	[ROLE_CLERK] = clerk_main,
	[ROLE_WORKER] = worker_main,
	[ROLE_DIALER] = dialer_main,
	[ROLE_KEEPER] = keeper_main,
	[ROLE_SCRIBE] = scribe_main,
	[ROLE_PORTER] = porter_main,
};

#if defined(__SANITIZE_ADDRESS__)
/* A role cannot start the leak checker's thread; unit tests look for leaks. */
const char *__asan_default_options(void);

const char *
__asan_default_options(void)
{
	return "detect_leaks=0";
}
#endif

static void
print_usage(FILE *to)
{
	fputs("usage: duenna COMMAND ...\n\n", to);
	for (size_t i = 0; i < COUNT_OF(commands); i++)
		fprintf(to, "  %-9s%s\n", commands[i].name, commands[i].what);
	fputs("\n`duenna COMMAND --help` says more.\n", to);
}

/* Started by priv/spawn as "duenna: ROLE", and so never by a shell's user. */
static int
role_start(const char *name)
{
	enum role role = role_find(name);
	char comm[16]; /* TASK_COMM_LEN */

	if (role == ROLE_COUNT || role_mains[role] == NULL)
		return CMD_FAULT;
	log_init(role_name(role), LOG_LEVEL_WARN);
	/* Executed through /proc/self/exe, it would be called `exe`. */
	snprintf(comm, sizeof(comm), "duenna-%s", role_name(role));
	(void)prctl(PR_SET_NAME, comm);
	if (isolate_start(role) != 0)
		return CMD_FAULT;
	return role_mains[role]();
}

/* Else the first files that we open would be a child's standard input. */
static void
open_standard(void)
{
	int fd;

	do {
		fd = open("/dev/null", O_RDWR | O_CLOEXEC);
	} while (fd >= 0 && fd <= STDERR_FILENO && fcntl(fd, F_SETFD, 0) == 0);
	if (fd > STDERR_FILENO)
		close(fd);
}

int
main(int argc, char **argv)
{
	static const char prefix[] = "duenna: ";

	open_standard();
	if (argc == 1 && strncmp(argv[0], prefix, sizeof(prefix) - 1) == 0)
		return role_start(argv[0] + sizeof(prefix) - 1);
	if (argc < 2) {
		print_usage(stderr);
		return CMD_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
		print_usage(stdout);
		return 0;
	}
	if (strcmp(argv[1], "--version") == 0) {
		puts("duenna " DUENNA_VERSION);
		return 0;
	}
	for (size_t i = 0; i < COUNT_OF(commands); i++) {
		char who[32];
		if (strcmp(argv[1], commands[i].name) != 0)
			continue;
		/* What getopt(3) puts before its own messages. */
		snprintf(who, sizeof(who), "%s%s", prefix, argv[1]);
		argv[1] = who;
		return commands[i].main(argc - 1, argv + 1);
	}
	struct nearest near = nearest_to(slice_of_str(argv[1]));
	for (size_t i = 0; i < COUNT_OF(commands); i++)
		nearest_look(&near, slice_of_str(commands[i].name));
	fprintf(stderr, "duenna: no command '%s'" NEAREST_FMT "\n\n", argv[1],
	    NEAREST_ARG(near));
	print_usage(stderr);
	return CMD_USAGE;
}
