/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files for `check` and `explain`: found and opened as `run` does, loaded by
 * the same code, in this process.
 */
#ifndef CMD_CONFIG_H
#define CMD_CONFIG_H

#include "cmd/options.h"
#include "load/load.h"

#define CONFIG_FILES_MAX \
	7 /* files of ~/.config/duenna; run's steward takes as
			      many */

#define CONFIG_ALLOW_MAX 64 /* of one command line, as of `run` */

struct config {
	struct buf image;    /* owned */
	struct owner *owner; /* NULL: errors */
	bool failed;	     /* it has errors: what it defines is not known */
};

/*
 * Load the owner's configuration: `file`, or what lies in ~/.config/duenna.
 * Errors are in `report`; a missing directory is none.
 */
void config_load(struct config *c, const char *file,
    struct load_report *report);
void config_release(struct config *c);

struct config_policy {
	struct buf image;	 /* owned */
	struct program *program; /* NULL: errors */
};

/* Which policy, and what its parameters stand for. */
struct config_want {
	const char *file;
	const char *policy;  /* of the file, or NULL */
	bool all;	     /* look at all of them if none is named */
	const char *sandbox; /* --name, or NULL */
	struct load_set sets[OPTIONS_SETS_MAX];
	size_t n_sets;
	const char *allow[CONFIG_ALLOW_MAX]; /* --allow, in place of a file */
	size_t n_allow;
};

#define CONFIG_ALLOW "--allow" /* the name of such a policy */

/* `--name`, `--set`, `--allow`.  False: what was wrong has been said, as by `of`. */
bool config_want_name(struct config_want *w, const char *of, const char *text);
bool config_want_set(struct config_want *w, const char *of, const char *text);
bool config_want_allow(struct config_want *w, const char *of, const char *text);

/* To standard error, which line of messages is which --allow. */
void config_name_allowed(const struct config_want *w);

/*
 * Load a policy file.
 *
 * used	   set for each credential that a rule has; or NULL
 */
void config_load_policy(struct config_policy *p, const struct config *c,
    const struct config_want *want, bool *used, struct load_report *report);
void config_policy_release(struct config_policy *p);

/* A place in the owner's files, as messages have it. */
struct load_at config_at(struct owner_place place);

/* Credentials that no rule has: advice. */
void config_advise_unused(const struct config *c, const bool *used,
    struct load_report *report);

/*
 * What a secret's file or variable looks like: errors and advice as `run` would
 * meet them.
 */
void config_check_secrets(const struct config *c, struct load_report *report);

/*
 * The certificates of `ca:` and the file of its key, likewise; the key itself is
 * not read.
 */
void config_check_ca(const struct config *c, struct load_report *report);

/* All messages of a report, as JSON: an array of objects, into `out`. */
struct json;
void config_json(const struct load_report *report, struct json *j);

#endif
