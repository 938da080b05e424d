/* SPDX-License-Identifier: Apache-2.0 */
#include <getopt.h>

#include "cmd/cmd.h"
#include "cmd/ctl.h"
#include "serve/serve.h"

static const char usage[] =
    "usage: duenna serve [--config DIR] [--state DIR] [--control PATH]\n"
    "\n"
    "Be the gateway of many sandboxes, until SIGTERM.  They come and go by\n"
    "`duenna attach` and `duenna detach`.\n"
    "\n"
    "--config   NAME.yaml in it is your configuration, policies/ what\n"
    "           sandboxes may have; " SERVE_CONFIG " without it\n"
    "--state    log, programs, keys; " SERVE_STATE " without it\n"
    "--control  the socket that it is asked by; " CTL_PATH "\n"
    "\n"
    "Exit status: 0 it was ended; 2 wrong arguments; 125 it could not go on.\n";

enum option_id {
	OPT_CONFIG = 256,
	OPT_STATE,
	OPT_CONTROL,
	OPT_HELP,
};

static const struct option options[] = {
	{ "config", required_argument, NULL, OPT_CONFIG },
	{ "state", required_argument, NULL, OPT_STATE },
	{ "control", required_argument, NULL, OPT_CONTROL },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

/* Each takes one; all of them absolute, since nobody's folder stays. */
static bool
take(const char **to, const char *name)
{
	*to = optarg;
	if (optarg[0] == '/')
		return true;
	fprintf(stderr,
	    "duenna: serve: --%s wants an absolute path, not '%s'\n", name,
	    optarg);
	return false;
}

int
serve_main(int argc, char **argv)
{
	struct serve_config cfg = { SERVE_CONFIG, SERVE_STATE, CTL_PATH };
	bool good = true;
	int option;

	while (good &&
	    (option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (option == OPT_HELP) {
			fputs(usage, stdout);
			return 0;
		}
		good = (option == OPT_CONFIG && take(&cfg.dir, "config")) ||
		    (option == OPT_STATE && take(&cfg.state, "state")) ||
		    (option == OPT_CONTROL && take(&cfg.control, "control"));
	}
	if (good && optind == argc)
		return serve_run(&cfg);
	if (good)
		fprintf(stderr, "duenna: serve: what is '%s'?\n", argv[optind]);
	fputs("duenna: see `duenna serve --help`\n", stderr);
	return CMD_USAGE;
}
