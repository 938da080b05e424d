/* SPDX-License-Identifier: Apache-2.0 */
/* A first policy: one to begin with, or what a run has asked for. */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/suggest.h"
#include "cmd/audit.h"
#include "cmd/cmd.h"

#define POLICY_SIZE_MAX 8388608 /* of a policy file: load/doc.h */

static const char usage[] =
    "usage: duenna init [--policy FILE] [--last | --log FILE] [--force]\n"
    "\n"
    "Write a policy to begin with, ./duenna.yaml.\n"
    "\n"
    "--policy  write this file\n"
    "--last    with rules for what the last `duenna run` was refused, or would\n"
    "          have been\n"
    "--log     likewise, of the last run in this log\n"
    "--force   write over a file that is there\n"
    "\n"
    "Exit status: 0 written, 1 no log or nothing in it, 2 usage, or the file is\n"
    "there; 125 it cannot be written.\n";

static const char starter[] =
    "# What the command of `duenna run` may reach.  Everything else is refused, and\n"
    "# the refusal says which rule was missing.\n"
    "#\n"
    "#   duenna check                what is wrong in this file\n"
    "#   duenna explain URL          which rule decides on it, and why\n"
    "#   duenna run -- COMMAND       run it\n"
    "#   duenna audit suggest        rules for what the last run was refused\n"
    "version: 1\n"
    "policies:\n"
    "  project:\n"
    "    rules:\n"
    "      # The first rule that matches decides; the end of the list is no.\n"
    "      # `**` is any rest of a path, `*` one part of it.  GET and HEAD, unless\n"
    "      # `methods:` says more.\n"
    "      - name: example\n"
    "        allow: https://example.com/**\n"
    "\n"
    "      # Packages, by a policy that comes with duenna:\n"
    "      # - include: preset/npm\n"
    "\n"
    "      # With a token of yours, which the command never sees: `github` is a\n"
    "      # name in ~/.config/duenna/config.yaml.\n"
    "      # - name: issues\n"
    "      #   allow: https://api.github.com/repos/OWNER/NAME/issues/**\n"
    "      #   methods: [GET, POST]\n"
    "      #   credential: github\n"
    "\n"
    "      # git, which may push branches below agent/ and no others.  With a\n"
    "      # `credential:`, whose `only:` names git+https://github.com/OWNER/NAME.\n"
    "      # - name: work\n"
    "      #   allow: git+https://github.com/OWNER/NAME\n"
    "      #   fetch: true\n"
    "      #   push: {branches: [\"agent/**\"], keep: [\".github/**\"]}\n";

enum option_id {
	OPT_POLICY = 256,
	OPT_LAST,
	OPT_LOG,
	OPT_FORCE,
	OPT_HELP
};

static const struct option options[] = {
	{ "policy", required_argument, NULL, OPT_POLICY },
	{ "last", no_argument, NULL, OPT_LAST },
	{ "log", required_argument, NULL, OPT_LOG },
	{ "force", no_argument, NULL, OPT_FORCE },
	{ "help", no_argument, NULL, OPT_HELP },
	{ NULL, 0, NULL, 0 },
};

struct init {
	const char *policy, *log;
	bool last, force;
};

static bool
take(const struct line *l, struct slice in UNUSED, off_t at UNUSED, void *arg)
{
	suggest_put(arg, &l->event);
	return true;
}

/* Append the policy that a log suggests: 0, or the exit status. */
static int
put_suggestion(const char *log, struct buf *out)
{
	struct audit_walk w = { .path = log, .fd = audit_open(log) };
	struct suggest_sum sum = { 0 };
	enum err err = ERR_NONE;
	struct suggest *s;
	int status = CMD_NO;

	if (w.fd < 0)
		return CMD_NO;
	s = suggest_new(&err);
	if (s == NULL)
		status = CMD_FAULT;
	else if (audit_walk(&w, take, s))
		sum = suggest_end(s, out);
	if (sum.n_rules != 0 && !out->failed)
		status = 0;
	else if (s != NULL)
		fprintf(stderr,
		    out->failed ?
			"duenna: init: %s: too much for one file; `duenna "
			"audit suggest %s` can choose, with --host or --since\n" :
			"duenna: init: %s: nothing was refused there that a "
			"rule alone could allow; `duenna audit show %s` "
			"says what was\n",
		    log, log);
	suggest_free(s);
	close(w.fd);
	return status;
}

static int
put_policy(const struct init *i, struct buf *out)
{
	struct buf path;
	int status = CMD_NO;

	if (!i->last && i->log == NULL)
		return buf_put_str(out, starter) ? 0 : CMD_FAULT;
	buf_init(&path, 8192);
	if (i->log != NULL || audit_find_newest(&path))
		status =
		    put_suggestion(i->log != NULL ? i->log : buf_text(&path),
			out);
	if (status == 0)
		printf("from %s\n", i->log != NULL ? i->log : buf_text(&path));
	buf_release(&path);
	return status;
}

static int
say_errno(const char *path)
{
	bool there = errno == EEXIST;

	if (there)
		fprintf(stderr,
		    "duenna: init: %s is there already; --force writes over "
		    "it, --policy FILE writes another\n",
		    path);
	else
		fprintf(stderr, "duenna: init: cannot write %s: %s\n", path,
		    errno == ELOOP ? "it is a symbolic link" : strerror(errno));
	return there ? CMD_USAGE : CMD_FAULT;
}

/* A new file; never through a link, which a project may have brought along. */
static int
write_policy(const struct init *i, struct slice text)
{
	int flags =
	    O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NOFOLLOW | O_NONBLOCK;
	int fd = open(i->policy, flags | (i->force ? O_TRUNC : O_EXCL), 0644);

	if (fd < 0)
		return say_errno(i->policy);
	ssize_t n = write(fd, text.p, text.n);
	if (n >= 0 && (size_t)n != text.n)
		errno = ENOSPC;
	if (close(fd) != 0 || n != (ssize_t)text.n)
		return say_errno(i->policy);
	bool usual = strcmp(i->policy, CMD_POLICY) == 0;
	printf("%s is written; `duenna check%s%s` and read it, then `duenna "
	       "run%s%s -- COMMAND`\n",
	    i->policy, usual ? "" : " ", usual ? "" : i->policy,
	    usual ? "" : " --policy ", usual ? "" : i->policy);
	return 0;
}

/* 0 to go on, else the exit status plus one. */
static int
take_option(struct init *i, int option)
{
	switch (option) {
	case OPT_POLICY:
		i->policy = optarg;
		return 0;
	case OPT_LAST:
		i->last = true;
		return 0;
	case OPT_LOG:
		i->log = optarg;
		return 0;
	case OPT_FORCE:
		i->force = true;
		return 0;
	case OPT_HELP:
		fputs(usage, stdout);
		return 1;
	default:
		fputs(usage, stderr);
		return CMD_USAGE + 1;
	}
}

int
init_main(int argc, char **argv)
{
	struct init i = { .policy = CMD_POLICY };
	struct buf text;
	int option;

	while ((option = getopt_long(argc, argv, "", options, NULL)) != -1) {
		int end = take_option(&i, option);
		if (end != 0)
			return end - 1;
	}
	if (optind < argc || (i.last && i.log != NULL)) {
		fputs(usage, stderr);
		return CMD_USAGE;
	}
	/* Before a long log is read for nothing. */
	if (!i.force &&
	    faccessat(AT_FDCWD, i.policy, F_OK, AT_SYMLINK_NOFOLLOW) == 0) {
		errno = EEXIST;
		return say_errno(i.policy);
	}
	buf_init(&text, POLICY_SIZE_MAX);
	int status = put_policy(&i, &text);
	if (status == 0)
		status = write_policy(&i, buf_slice(&text));
	buf_release(&text);
	return status;
}
