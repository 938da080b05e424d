/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the command leaves in the working directory that somebody outside will
 * run without having asked for it: keys of .git/config that name programs are
 * put back, start files of editors, shells and package managers that are new
 * or changed are told (DESIGN 3).
 *
 * Process: the sandbox's first one, in its own view of the host and without a
 * capability: what is read here was written by the command.
 */
#ifndef NS_OUTSIDE_H
#define NS_OUTSIDE_H

#include "ns/repos.h"

#define OUTSIDE_LINES_MAX 100	 /* findings told, the rest counted */
#define OUTSIDE_FILE_MAX 4194304 /* bytes of a file that are looked at */

#define OUTSIDE_PUT_BACK "put back: " /* begins a line that needs no care */

struct outside;

/* Called with a path below the working directory and what about it. */
typedef void outside_line(const char *text, void *arg);

struct view;

/*
 * Remember how things are below the working directory, before the command runs.
 * Dies without memory.
 *
 * view	  its `work`, which lives as long as the result, and `starts`
 * repos  the repositories there; taken over
 */
struct outside *outside_new(const struct view *view, struct repos *repos);

/* Look again when nothing of the command runs any more, put back, tell. */
void outside_settle(struct outside *o, outside_line *on_line, void *arg);

void outside_free(struct outside *o);

#endif
