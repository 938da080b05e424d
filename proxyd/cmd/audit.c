/* SPDX-License-Identifier: Apache-2.0 */
#include <getopt.h>

#include "base/nearest.h"
#include "base/reason.h"
#include "cmd/audit.h"
#include "cmd/cmd.h"
#include "crypto/digest.h"

static const char usage[] =
    "usage: duenna audit show    [--json] [--all] [FILTER...] [FILE]\n"
    "       duenna audit tail    [-n ROWS] [--no-follow] [--json] [--all]\n"
    "                            [FILTER...] [FILE]\n"
    "       duenna audit report  [--json] [FILE]\n"
    "       duenna audit suggest [FILTER...] [FILE]\n"
    "       duenna audit verify  [--json] [--open] [--key KEY] [--hash HASH] "
    "[FILE]\n"
    "       duenna audit replay  [--json] [--programs DIR] [FILE]\n"
    "       duenna audit export  [--format otlp|csv] [FILTER...] [FILE]\n"
    "       duenna audit key     [--json]\n"
    "\n"
    "show     a log as a table; --all with what belongs to allowed requests\n"
    "tail     its last rows, and what comes; without FILE of every run\n"
    "report   what was blocked in its last run, grouped\n"
    "suggest  a policy that allows what its last run was refused\n"
    "verify   is it whole?  --open takes runs that do not end in `stop`\n"
    "replay   decide every record again from its facts\n"
    "export   for a collector of OpenTelemetry, or for a table program\n"
    "key      the public half of this machine's audit key, for --key\n"
    "\n"
    "FILTER: --event EVENT, --reason REASON, --verdict allow|deny|report, --denied,\n"
    "--sandbox NAME, --rule NAME, --host HOST (*.HOST: what is below it),\n"
    "--flow ID, --since TIME, --until TIME (UTC, or how long ago: 15m),\n"
    "--limit ROWS.  All of them hold; of one given twice, either.\n"
    "\n"
    "Without FILE (or with --last) the newest log of `duenna run`.\n"
    "Exit status: 0 yes, 1 no, 2 usage.\n";

enum option_id {
	OPT_LAST = 256,
	OPT_JSON,
	OPT_ALL,
	OPT_NO_FOLLOW,
	OPT_OPEN,
	OPT_KEY,
	OPT_HASH,
	OPT_PROGRAMS,
	OPT_FORMAT,
	OPT_HELP,
};

static const struct option options[] = {
	{ "last", no_argument, NULL, OPT_LAST },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "all", no_argument, NULL, OPT_ALL },
	{ "no-follow", no_argument, NULL, OPT_NO_FOLLOW },
	{ "event", required_argument, NULL, PICK_EVENT },
	{ "reason", required_argument, NULL, PICK_REASON },
	{ "verdict", required_argument, NULL, PICK_VERDICT },
	{ "denied", no_argument, NULL, PICK_DENIED },
	{ "sandbox", required_argument, NULL, PICK_SANDBOX },
	{ "rule", required_argument, NULL, PICK_RULE },
	{ "host", required_argument, NULL, PICK_HOST },
	{ "flow", required_argument, NULL, PICK_FLOW },
	{ "since", required_argument, NULL, PICK_SINCE },
	{ "until", required_argument, NULL, PICK_UNTIL },
	{ "limit", required_argument, NULL, PICK_LIMIT },
	{ "open", no_argument, NULL, OPT_OPEN },
	{ "key", required_argument, NULL, OPT_KEY },
	{ "hash", required_argument, NULL, OPT_HASH },
	{ "programs", required_argument, NULL, OPT_PROGRAMS },
	{ "format", required_argument, NULL, OPT_FORMAT },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

/* May it be given to the command?  Whoever filters wants to know. */
#define TAKES_FILTERS 1
#define TAKES_FILE 2
#define FINDS_FILE 4 /* itself, where none is given */

static const struct {
	const char *name;
	int (*main)(const struct audit_options *o);
	unsigned takes;
} commands[] = {
	{ "show", audit_show, TAKES_FILE | TAKES_FILTERS },
	{ "tail", audit_tail, TAKES_FILE | FINDS_FILE | TAKES_FILTERS },
	{ "report", audit_report, TAKES_FILE },
	{ "suggest", audit_suggest, TAKES_FILE | TAKES_FILTERS },
	{ "verify", audit_verify, TAKES_FILE },
	{ "replay", audit_replay, TAKES_FILE },
	{ "export", audit_export, TAKES_FILE | TAKES_FILTERS },
	{ "key", audit_key, 0 },
};

/* 0 to go on, else the exit status plus one. */
static int
take_option(struct audit_options *o, int option)
{
	char *end;

	switch (option) {
	case 'f': /* what it does anyway */
	case OPT_LAST:
		return 0;
	case OPT_JSON:
		o->json = true;
		return 0;
	case OPT_ALL:
		o->all = true;
		return 0;
	case OPT_NO_FOLLOW:
		o->once = true;
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
	case OPT_FORMAT:
		o->format = optarg;
		return 0;
	case 'n':
		o->lines = strtoul(optarg, &end, 10);
		if (optarg[0] >= '0' && optarg[0] <= '9' && *end == '\0')
			return 0;
		fputs("duenna: audit: -n wants a number\n", stderr);
		return CMD_USAGE + 1;
	case OPT_HELP:
		fputs(usage, stdout);
		return 1;
	default:
		break;
	}
	bool filter = option >= PICK_EVENT;
	o->filters = o->filters || filter;
	if (filter &&
	    audit_pick_take(&o->pick, (enum audit_pick_option)option, optarg))
		return 0;
	/* Of a wrong value the complaint says enough. */
	if (!filter)
		fputs(usage, stderr);
	return CMD_USAGE + 1;
}

static int
run_command(size_t which, struct audit_options *o, char **files, int n_files)
{
	unsigned takes = commands[which].takes;
	enum err err = ERR_NONE;
	struct buf path;
	int status = CMD_NO;

	if (o->filters && (takes & TAKES_FILTERS) == 0) {
		fprintf(stderr, "duenna: audit: %s takes no filters\n",
		    commands[which].name);
		return CMD_USAGE;
	}
	if (n_files > ((takes & TAKES_FILE) != 0 ? 1 : 0)) {
		fputs(usage, stderr);
		return CMD_USAGE;
	}
	/* No module that OPENSSL_CONF names is loaded into this. */
	if (digest_setup(&err) != 0)
		return CMD_FAULT;
	buf_init(&path, 8192);
	o->file = n_files == 1 ? files[0] : NULL;
	bool finds = (takes & TAKES_FILE) != 0 && (takes & FINDS_FILE) == 0;
	if (finds && o->file == NULL && audit_find_newest(&path))
		o->file = buf_text(&path);
	if (o->file != NULL || !finds)
		status = commands[which].main(o);
	buf_release(&path);
	return status;
}

static void
say_unknown(const char *name)
{
	struct nearest near = nearest_to(slice_of_str(name));

	for (size_t i = 0; i < COUNT_OF(commands); i++)
		nearest_look(&near, slice_of_str(commands[i].name));
	fprintf(stderr, "duenna: audit: no such command" NEAREST_FMT "\n",
	    NEAREST_ARG(near));
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
	if (argc >= 2)
		say_unknown(argv[1]);
	fputs(usage, stderr);
	return CMD_USAGE;
}
