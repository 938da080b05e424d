/* SPDX-License-Identifier: Apache-2.0 */
/* One call to the control socket of `duenna serve`, and what it answered. */
#ifndef CMD_CTL_H
#define CMD_CTL_H

#include "base/attr.h"
#include "base/buf.h"

#define CTL_PATH "/run/duenna/control.sock"

struct ctl {
	const char *of;	    /* the subcommand, for complaints */
	const char *socket; /* NULL: CTL_PATH */
	bool json;	    /* print what was answered as it is */
	unsigned status;    /* of the answer */
	struct buf answer;  /* its content */
};

/*
 * Ask, and wait for the answer.  Returns 0 if it was done; else what was wrong
 * has been said, and it is the exit status of the program.
 *
 * body  JSON, or empty
 */
MUST_USE int ctl_call(struct ctl *c, const char *method, const char *path,
    struct slice body);

void ctl_release(struct ctl *c);

/* `NAME`, the one argument that is left; NULL: what was wrong has been said. */
const char *ctl_name(const struct ctl *c, int argc, char **argv);

/*
 * The answer's JSON, read; NULL: it is none, which was said.  It is the
 * caller's, for json_decref().
 */
struct json_t *ctl_read(const struct ctl *c);

#endif
