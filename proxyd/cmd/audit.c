/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/reason.h"
#include "cmd/audit.h"
#include "cmd/cmd.h"
#include "crypto/digest.h"

static const char usage[] =
    "usage: duenna audit show   [--json] [--all] [--sandbox NAME]\n"
    "                           [--reason REASON] [--verdict allow|deny] "
    "[FILE]\n"
    "       duenna audit tail   [-f] [-n LINES] [the same] [FILE]\n"
    "       duenna audit report [--json] [FILE]\n"
    "       duenna audit verify [--json] [--open] [--key KEY] [--hash HASH] "
    "[FILE]\n"
    "       duenna audit replay [--json] [--programs DIR] [FILE]\n"
    "       duenna audit key    [--json]\n"
    "\n"
    "show    a log as a table; --all with what belongs to allowed requests\n"
    "tail    its last lines; -f goes on as it grows\n"
    "report  what was blocked in its last run, grouped\n"
    "verify  is it whole?  --open takes one that does not end in `stop`\n"
    "replay  decide every record again from its facts\n"
    "key     the public half of this machine's audit key, for --key\n"
    "\n"
    "Without FILE (or with --last) the newest log of `duenna run`.\n"
    "Exit status: 0 yes, 1 no, 2 usage.\n";

enum option_id {
	OPT_LAST = 256,
	OPT_JSON,
	OPT_ALL,
	OPT_SANDBOX,
	OPT_REASON,
	OPT_VERDICT,
	OPT_OPEN,
	OPT_KEY,
	OPT_HASH,
	OPT_PROGRAMS,
	OPT_HELP,
};

static const struct option options[] = {
	{ "last", no_argument, NULL, OPT_LAST },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "all", no_argument, NULL, OPT_ALL },
	{ "sandbox", required_argument, NULL, OPT_SANDBOX },
	{ "reason", required_argument, NULL, OPT_REASON },
	{ "verdict", required_argument, NULL, OPT_VERDICT },
	{ "open", no_argument, NULL, OPT_OPEN },
	{ "key", required_argument, NULL, OPT_KEY },
	{ "hash", required_argument, NULL, OPT_HASH },
	{ "programs", required_argument, NULL, OPT_PROGRAMS },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

static const struct {
	const char *name;
	int (*main)(const struct audit_options *o);
	bool wants_file;
} commands[] = {
	{ "show", audit_show, true },
	{ "tail", audit_tail, true },
	{ "report", audit_report, true },
	{ "verify", audit_verify, true },
	{ "replay", audit_replay, true },
	{ "key", audit_key, false },
};

bool
audit_state_path(struct buf *out, const char *name)
{
	const char *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");

	if (xdg != NULL && xdg[0] == '/')
		return buf_putf(out, "%s/duenna/%s", xdg, name);
	if (home != NULL && home[0] == '/')
		return buf_putf(out, "%s/.local/state/duenna/%s", home, name);
	fputs("duenna: audit: HOME is not set, nor XDG_STATE_HOME: name the "
	      "file\n",
	    stderr);
	return false;
}

int
audit_open(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

	if (fd < 0)
		fprintf(stderr, "duenna: audit: %s: %s\n", path,
		    strerror(errno));
	return fd;
}

static bool
is_log(const char *name)
{
	size_t n = strlen(name);

	return n > 6 && name[0] != '.' && strcmp(name + n - 6, ".jsonl") == 0;
}

static bool
is_later(const struct timespec *a, const struct timespec *b)
{
	if (a->tv_sec != b->tv_sec)
		return a->tv_sec > b->tv_sec;
	return a->tv_nsec > b->tv_nsec;
}

/* The log that was written last: the seconds of their names are too coarse. */
static bool
find_newest(struct buf *path)
{
	struct timespec last = { 0 };
	char newest[256] = "";
	const struct dirent *d;
	struct stat st;
	DIR *dir;

	if (!audit_state_path(path, "log"))
		return false;
	dir = opendir(buf_text(path));
	while (dir != NULL && (d = readdir(dir)) != NULL)
		if (is_log(d->d_name) &&
		    fstatat(dirfd(dir), d->d_name, &st, 0) == 0 &&
		    (newest[0] == '\0' || is_later(&st.st_mtim, &last))) {
			snprintf(newest, sizeof(newest), "%s", d->d_name);
			last = st.st_mtim;
		}
	if (dir != NULL)
		closedir(dir);
	if (newest[0] == '\0') {
		fprintf(stderr,
		    "duenna: audit: there is no log in %s yet; `duenna run` "
		    "writes one\n",
		    buf_text(path));
		return false;
	}
	return buf_putf(path, "/%s", newest);
}

/* 0 to go on, else the exit status plus one. */
static int
take_filter(struct audit_options *o, int option)
{
	switch (option) {
	case OPT_SANDBOX:
		o->sandbox = optarg;
		return 0;
	case OPT_REASON:
		o->reason = optarg;
		if (reason_find(slice_of_str(optarg)) != REASON_COUNT)
			return 0;
		fprintf(stderr,
		    "duenna: audit: %s is no reason; docs/audit.md has the "
		    "list\n",
		    optarg);
		return CMD_USAGE + 1;
	case OPT_VERDICT:
		o->verdict = optarg;
		if (strcmp(optarg, "allow") == 0 || strcmp(optarg, "deny") == 0)
			return 0;
		fputs("duenna: audit: --verdict is allow or deny\n", stderr);
		return CMD_USAGE + 1;
	case OPT_HELP:
		fputs(usage, stdout);
		return 1;
	default:
		fputs(usage, stderr);
		return CMD_USAGE + 1;
	}
}

static int
take_option(struct audit_options *o, int option)
{
	char *end;

	switch (option) {
	case OPT_LAST:
		return 0;
	case OPT_JSON:
		o->json = true;
		return 0;
	case OPT_ALL:
		o->all = true;
		return 0;
	case OPT_OPEN:
		o->open = true;
		return 0;
	case OPT_KEY:
		o->key = optarg;
		return 0;
	case OPT_HASH:
		o->hash = optarg;
		return 0;
	case OPT_PROGRAMS:
		o->programs = optarg;
		return 0;
	case 'f':
		o->follow = true;
		return 0;
	case 'n':
		o->lines = strtoul(optarg, &end, 10);
		if (optarg[0] >= '0' && optarg[0] <= '9' && *end == '\0')
			return 0;
		fputs("duenna: audit: -n wants a number\n", stderr);
		return CMD_USAGE + 1;
	default:
		return take_filter(o, option);
	}
}

static int
run_command(size_t which, struct audit_options *o, char **files, int n_files)
{
	enum err err = ERR_NONE;
	struct buf path;
	int status = CMD_NO;

	if (n_files > (commands[which].wants_file ? 1 : 0)) {
		fputs(usage, stderr);
		return CMD_USAGE;
	}
	/* No module that OPENSSL_CONF names is loaded into this. */
	if (digest_setup(&err) != 0)
		return CMD_FAULT;
	buf_init(&path, 8192);
	o->file = n_files == 1 ? files[0] : NULL;
	if (commands[which].wants_file && o->file == NULL && find_newest(&path))
		o->file = buf_text(&path);
	if (o->file != NULL || !commands[which].wants_file)
		status = commands[which].main(o);
	buf_release(&path);
	return status;
}

int
audit_main(int argc, char **argv)
{
	struct audit_options o = { .lines = 10 };
	int option;

	if (argc >= 2 && strcmp(argv[1], "--help") == 0) {
		fputs(usage, stdout);
		return 0;
	}
	while (argc >= 2 &&
	    (option = getopt_long(argc - 1, argv + 1, "fn:", options, NULL)) !=
		-1) {
		int done = take_option(&o, option);
		if (done != 0)
			return done - 1;
	}
	for (size_t i = 0; argc >= 2 && i < COUNT_OF(commands); i++)
		if (strcmp(argv[1], commands[i].name) == 0)
			return run_command(i, &o, argv + 1 + optind,
			    argc - 1 - optind);
	fputs(usage, stderr);
	return CMD_USAGE;
}
