/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Files for `check` and `explain`: found and opened as `run` does, loaded by
 * the same code, in this process.
 */
#ifndef CMD_CONFIG_H
#define CMD_CONFIG_H

#include "load/load.h"

#define CONFIG_FILES_MAX \
	7 /* files of ~/.config/duenna; run's clerk takes as
			      many */

struct config {
	struct buf image;    /* owned */
	struct owner *owner; /* NULL: no configuration, or errors */
};

/*
 * Load the owner's configuration: `file`, or what lies in ~/.config/duenna.
 * Errors are in `report`; a missing directory is none.
 */
void config_load(struct config *c, const char *file,
    struct load_report *report);
void config_release(struct config *c);

struct config_policy {
	struct buf bytes, image; /* owned */
	struct program *program; /* NULL: errors */
};

/*
 * Load a policy file.
 *
 * name	 which policy of it, or NULL
 * all	 look at all of them if no name is given
 */
void config_load_policy(struct config_policy *p, const struct config *c,
    const char *file, const char *name, bool all, struct load_report *report);
void config_policy_release(struct config_policy *p);

/*
 * Divide FILE:NAME, in place: a colon that is not part of an existing file's
 * name.  Returns the name, or NULL.
 */
char *config_split(char *text);

/*
 * What a secret's file or variable looks like: errors and advice as `run` would
 * meet them.
 */
void config_check_secrets(const struct config *c, struct load_report *report);

/* All messages of a report, as JSON: an array of objects, into `out`. */
struct json;
void config_json(const struct load_report *report, struct json *j);

#endif
