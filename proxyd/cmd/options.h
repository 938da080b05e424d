/* SPDX-License-Identifier: Apache-2.0 */
/* Options that several subcommands have, read in one way. */
#ifndef CMD_OPTIONS_H
#define CMD_OPTIONS_H

#include <stdbool.h>

#include "base/attr.h"

#define OPTIONS_SETS_MAX 64 /* `--set` of one command line */

/*
 * `--name NAME`, `--set KEY=VALUE`.  False: what was wrong has been said, in
 * the name of the subcommand `of`.
 */
MUST_USE bool options_name(const char *of, const char *text);
MUST_USE bool options_set(const char *of, const char *text);

/*
 * Divide FILE:NAME, in place: a colon that is not part of an existing file's
 * name.  Returns the name, or NULL.
 */
char *options_split(char *text);

#endif
