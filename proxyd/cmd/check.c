/* SPDX-License-Identifier: Apache-2.0 */
#include <getopt.h>

#include "base/json.h"
#include "base/mem.h"
#include "cmd/cmd.h"
#include "cmd/config.h"

#define OUTPUT_MAX 4194304 /* bytes; a report has 250 messages at most */

static const char usage[] =
    "usage: duenna check [--set KEY=VALUE] [--config FILE] [--name NAME]\n"
    "                    [--json] [FILE[:NAME]... | --allow URL...]\n"
    "\n"
    "Read policies as `duenna run` would and say what is wrong with them, as\n"
    "file:line:column: message (of an argument, such as --set, without a\n"
    "place); nothing if nothing is.  Without FILE,\n"
    "./duenna.yaml is taken; with --config alone, that configuration; with\n"
    "--allow what `duenna run --allow` would make of it.\n"
    "Exit status: 0 no error, 1 an error, 2 usage.\n";

struct check {
	const char *config; /* --config, or NULL */
	struct config_want want;
	bool json;
};

enum option_id {
	OPT_CONFIG = 256,
	OPT_ALLOW,
	OPT_NAME,
	OPT_SET,
	OPT_JSON,
	OPT_HELP,
};

static const struct option options[] = {
	{ "config", required_argument, NULL, OPT_CONFIG },
	{ "allow", required_argument, NULL, OPT_ALLOW },
	{ "name", required_argument, NULL, OPT_NAME },
	{ "set", required_argument, NULL, OPT_SET },
	{ "json", no_argument, NULL, OPT_JSON },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

/* 0 to go on, else the exit status plus one. */
static int
take_option(struct check *c, int option)
{
	switch (option) {
	case OPT_CONFIG:
		c->config = optarg;
		return 0;
	case OPT_ALLOW:
		return config_want_allow(&c->want, "check", optarg) ?
		    0 :
		    CMD_USAGE + 1;
	case OPT_NAME:
		return config_want_name(&c->want, "check", optarg) ?
		    0 :
		    CMD_USAGE + 1;
	case OPT_JSON:
		c->json = true;
		return 0;
	case OPT_SET:
		return config_want_set(&c->want, "check", optarg) ?
		    0 :
		    CMD_USAGE + 1;
	case OPT_HELP:
		fputs(usage, stdout);
		return 1;
	default:
		fputs(usage, stderr);
		return CMD_USAGE + 1;
	}
}

static void
print(const struct check *c, const struct load_report *report)
{
	struct json j;
	struct buf out;

	buf_init(&out, OUTPUT_MAX);
	if (c->json) {
		json_init(&j, &out);
		config_json(report, &j);
		buf_put_byte(&out, '\n');
	} else {
		load_report_text(report, &out);
	}
	fputs(buf_text(&out), stdout);
	buf_release(&out);
}

static int
check(struct check *c, int n, char **files)
{
	struct load_report report = { .want_advice = true };
	struct config config;

	config_load(&config, c->config, &report);
	config_check_secrets(&config, &report);
	config_check_ca(&config, &report);
	uint32_t n_used =
	    config.owner == NULL ? 0 : owner_n_credentials(config.owner);
	bool *used = mem_array(n_used + 1, sizeof(*used));
	for (int i = 0; i < n; i++) {
		struct config_policy policy;
		c->want.policy = options_split(files[i]);
		c->want.file = files[i];
		c->want.all = true;
		config_load_policy(&policy, &config, &c->want, used, &report);
		config_policy_release(&policy);
	}
	if (n != 0)
		config_advise_unused(&config, used, &report);
	free(used);
	load_report_sort(&report);
	print(c, &report);
	if (report.n_errors != 0)
		config_name_allowed(&c->want);
	int status = report.n_errors == 0 ? 0 : CMD_NO;
	load_report_release(&report);
	config_release(&config);
	return status;
}

int
check_main(int argc, char **argv)
{
	static char usual[] = CMD_POLICY, option_allow[] = CONFIG_ALLOW;
	char *files[] = { usual };
	static struct check c;
	int option;

	optind = 1;
	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		int end = take_option(&c, option);
		if (end != 0)
			return end - 1;
	}
	if (c.want.n_allow != 0 && optind < argc) {
		fputs("duenna: check: files, or --allow\n", stderr);
		return CMD_USAGE;
	}
	if (c.want.n_allow != 0)
		files[0] = option_allow;
	if (optind < argc || (c.config != NULL && c.want.n_allow == 0))
		return check(&c, argc - optind, argv + optind);
	return check(&c, 1, files);
}
