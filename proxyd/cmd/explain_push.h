/* SPDX-License-Identifier: Apache-2.0 */
/* `duenna explain --push`: what may be pushed.  For cmd/explain alone. */
#ifndef CMD_EXPLAIN_PUSH_H
#define CMD_EXPLAIN_PUSH_H

#include <stdbool.h>

struct program;

/*
 * Print what may be pushed to a repository or, with a ref, each kind of change
 * of it.
 *
 * repository  HOST/PATH, or a URL of https or git+https
 * ref	       a full name or that of a branch; NULL: none
 *
 * The exit status of the program: 0 if something may, CMD_NO, CMD_USAGE.
 */
int explain_push(const struct program *p, const char *repository,
    const char *ref, bool json);

#endif
