/* SPDX-License-Identifier: Apache-2.0 */
/*
 * c-ares in our loop.  It keeps its servers per channel, changes them only while
 * nothing is open on it, and cancels only all that is open at once.  So a few
 * channels ("lines") are made at the start, one list of servers each; a list
 * that has no line takes over an idle one.
 *
 * No search domains, no hosts file, no environment, no configuration but the
 * list of servers given.
 */
#ifndef DIAL_LINES_H
#define DIAL_LINES_H

#include "base/attr.h"
#include "base/err.h"
#include "dial/servers.h"
#include "net/loop.h"

#define LINES_MAX 8 /* different lists of servers in use at once */

struct line;
struct lines;

MUST_USE struct lines *lines_new(struct loop *l, enum err *err);

/* Ends every question; each is told. */
void lines_free(struct lines *lines);

/* The line with these servers, or an idle one that gets them; NULL: all busy. */
struct line *lines_find(struct lines *lines, const struct servers *s);

/* As ares_callback: once for each question, perhaps inside line_ask(). */
typedef void line_on_answer(void *arg, int status, int timeouts,
    unsigned char *bytes, int n);

/* `type`: of <arpa/nameser.h>.  Whoever is told calls line_answered() first. */
void line_ask(struct line *line, const char *name, int type,
    line_on_answer *on_answer, void *arg);
void line_answered(struct line *line);

/*
 * End what is open: told with ARES_ECANCELLED, and the sockets close.  What is
 * asked from then on goes out of new ones.
 */
void line_cancel(struct line *line);

#endif
