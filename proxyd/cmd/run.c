/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <unistd.h>

#include "base/ascii.h"
#include "cmd/cmd.h"
#include "cmd/options.h"
#include "proxyd/monitor.h"

static const char usage[] =
    "usage: duenna run [--policy FILE[:NAME] | --preset NAME | --allow URL...]\n"
    "                  [--set KEY=VALUE] [--config FILE] [--name NAME] [--user NAME]\n"
    "                  [--audit FILE] [--env NAME] [--write DIR] [--keep-fd N]\n"
    "                  [--report] [--quiet] [--json] -- COMMAND [ARG...]\n"
    "\n"
    "Run COMMAND in a sandbox that reaches only what the policy allows.\n"
    "\n"
    "--policy   the policy; ./duenna.yaml without it\n"
    "--preset   a policy that comes with duenna, such as npm\n"
    "--allow    GET and HEAD of this, instead of a policy; repeatable\n"
    "--set      what a parameter of the policy stands for; repeatable\n"
    "--config   your configuration; ~/.config/duenna/*.yaml without it\n"
    "--name     of the sandbox: stands in the log, and its home is kept\n"
    "--user     the user that COMMAND runs as; only for root\n"
    "--audit    go on with this log; else a new one for each run\n"
    "--env      a variable of yours that COMMAND gets; repeatable, as --write is\n"
    "--write    a folder that COMMAND may write to, beside the working one\n"
    "--keep-fd  a descriptor that COMMAND inherits\n"
    "--report   GET and HEAD of what no rule allows: recorded, not refused\n"
    "--quiet    no warnings, and nothing at the end about what was blocked\n"
    "--json     what happened, as the last line of standard error\n"
    "\n"
    "Exit status: COMMAND's; 128+N if signal N ended it; 125 duenna could not\n"
    "run it, 126 it is no program, 127 it is not there.  See docs/run.md.\n";

/* Behind a complaint of a line, which thirty more would hide. */
#define SEE_HELP "duenna: see `duenna run --help`\n"

enum option_id {
	OPT_POLICY = 256,
	OPT_PRESET,
	OPT_ALLOW,
	OPT_SET,
	OPT_CONFIG,
	OPT_NAME,
	OPT_USER,
	OPT_AUDIT,
	OPT_ENV,
	OPT_WRITE,
	OPT_KEEP_FD,
	OPT_REPORT,
	OPT_QUIET,
	OPT_JSON,
	OPT_HELP,
};

static const struct option options[] = {
	{ "policy", required_argument, NULL, OPT_POLICY },
	{ "preset", required_argument, NULL, OPT_PRESET },
	{ "allow", required_argument, NULL, OPT_ALLOW },
	{ "set", required_argument, NULL, OPT_SET },
	{ "config", required_argument, NULL, OPT_CONFIG },
	{ "name", required_argument, NULL, OPT_NAME },
	{ "user", required_argument, NULL, OPT_USER },
	{ "audit", required_argument, NULL, OPT_AUDIT },
	{ "env", required_argument, NULL, OPT_ENV },
	{ "write", required_argument, NULL, OPT_WRITE },
	{ "keep-fd", required_argument, NULL, OPT_KEEP_FD },
	{ "report", no_argument, NULL, OPT_REPORT },
	{ "quiet", no_argument, NULL, OPT_QUIET },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

/* One more entry of a list of the command line. */
static bool
add(const char **list, size_t *n, const char *what)
{
	if (*n == MONITOR_LIST_MAX) {
		fprintf(stderr, "duenna: run: more than %d of one option\n",
		    MONITOR_LIST_MAX);
		return false;
	}
	list[(*n)++] = what;
	return true;
}

static bool
add_fd(struct monitor_config *cfg, const char *text)
{
	char *end;
	long v = strtol(text, &end, 10);

	if (!ascii_is_digit((uint8_t)text[0]) || *end != '\0' || v < 3 ||
	    v > 65535 || cfg->n_keep_fd == MONITOR_LIST_MAX) {
		fprintf(stderr,
		    "duenna: run: --keep-fd wants a descriptor "
		    "above 2, not '%s'\n",
		    text);
		return false;
	}
	cfg->keep_fd[cfg->n_keep_fd++] = (int)v;
	return true;
}

static bool
add_env(struct monitor_config *cfg, const char *name)
{
	if (strchr(name, '=') != NULL) {
		fprintf(stderr,
		    "duenna: run: --env takes the name of a variable, and the "
		    "command gets your value of it: not '%s'\n",
		    name);
		return false;
	}
	return add(cfg->env, &cfg->n_env, name);
}

static bool
set_policy(struct monitor_config *cfg, const char *policy)
{
	if (cfg->policy == NULL) {
		cfg->policy = policy;
		return true;
	}
	fputs("duenna: run: one of --policy, --preset and --allow; a policy "
	      "may `include:` another\n",
	    stderr);
	return false;
}

/* Rules of the command line are the whole policy, so that a line says all. */
static bool
add_allow(struct monitor_config *cfg, const char *pattern)
{
	static const char policy[] = "--allow";

	return (cfg->policy == policy || set_policy(cfg, policy)) &&
	    add(cfg->allow, &cfg->n_allow, pattern);
}

/* `preset/NAME` is the policy of that name that comes with duenna. */
static bool
set_preset(struct monitor_config *cfg, const char *name)
{
	static char policy[64];

	if (strchr(name, '/') != NULL ||
	    snprintf(policy, sizeof(policy), "preset/%s", name) >=
		(int)sizeof(policy)) {
		fprintf(stderr,
		    "duenna: run: --preset wants a name such as npm, not "
		    "'%s'\n",
		    name);
		return false;
	}
	return set_policy(cfg, policy);
}

/* False: what was wrong has been said. */
static bool
take_option(struct monitor_config *cfg, int option)
{
	switch (option) {
	case OPT_POLICY:
		cfg->policy_name = options_split(optarg);
		return set_policy(cfg, optarg);
	case OPT_PRESET:
		return set_preset(cfg, optarg);
	case OPT_ALLOW:
		return add_allow(cfg, optarg);
	case OPT_CONFIG:
		cfg->config = optarg;
		return true;
	case OPT_NAME:
		cfg->name = optarg;
		return options_name("run", optarg);
	case OPT_SET:
		return options_set("run", optarg) &&
		    add(cfg->set, &cfg->n_set, optarg);
	case OPT_USER:
		cfg->user = optarg;
		return true;
	case OPT_AUDIT:
		cfg->audit = optarg;
		return true;
	case OPT_ENV:
		return add_env(cfg, optarg);
	case OPT_WRITE:
		return add(cfg->write, &cfg->n_write, optarg);
	case OPT_KEEP_FD:
		return add_fd(cfg, optarg);
	case OPT_REPORT:
		cfg->report = true;
		return true;
	case OPT_JSON:
		cfg->json = true;
		return true;
	case OPT_QUIET:
		cfg->quiet = true;
		return true;
	default:
		return false;
	}
}

/* `./duenna.yaml`, or the advice that makes one. */
static bool
find_policy(struct monitor_config *cfg)
{
	if (cfg->policy != NULL)
		return true;
	if (access(CMD_POLICY, F_OK) == 0) {
		cfg->policy = CMD_POLICY;
		return true;
	}
	fputs("duenna: no policy: give --policy FILE, --preset NAME or --allow "
	      "URL, or make\n"
	      "./duenna.yaml; `duenna init` writes one to begin with, the "
	      "least is:\n"
	      "\n"
	      "    version: 1\n"
	      "    policies: {mine: {rules: [{allow: "
	      "\"https://example.com/**\"}]}}\n"
	      "\n",
	    stderr);
	return false;
}

int
run_main(int argc, char **argv)
{
	struct monitor_config cfg = { 0 };
	int option;

	while ((option = getopt_long(argc, argv, "+", options, NULL)) != -1) {
		if (option == OPT_HELP) {
			fputs(usage, stdout);
			return 0;
		}
		if (!take_option(&cfg, option)) {
			fputs(SEE_HELP, stderr);
			return CMD_FAULT;
		}
	}
	if (optind >= argc) {
		fputs("duenna: run: which command?\n" SEE_HELP, stderr);
		return CMD_FAULT;
	}
	if (!find_policy(&cfg))
		return CMD_FAULT;
	cfg.command = argv + optind;
	return monitor_run(&cfg);
}
