/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The JSON of a call, made into a request.  Strict: duplicate and unknown keys,
 * other types, deep nesting are errors that say where (`$.secrets.github`) and
 * what was expected.
 *
 * Read by jansson, whose memory is wiped when it gives it back: secrets pass
 * through it.
 */
#ifndef CONTROL_CONTENT_H
#define CONTROL_CONTENT_H

#include "control/problem.h"
#include "priv/control.h"

struct content {
	void *root; /* owned; NULL: nothing was read */
};

/*
 * Once in a process, before its list of system calls: jansson would open a file
 * for the seed of its tables.
 *
 * seed	 random, not 0: a caller chooses the keys of those tables
 */
void content_setup(size_t seed);

/*
 * Read the body of `verb` into `out`, whose slices live as long as `c` and
 * `name`.  False: *why; `c` is empty then.
 */
MUST_USE bool content_read(struct content *c, struct slice body,
    enum control_verb verb, struct slice name, struct control_request *out,
    struct problem *why);

/* Wiped; an empty one stays so. */
void content_release(struct content *c);

/* Key `i` of the body of a verb, or NULL behind the last. */
const char *content_key(enum control_verb verb, size_t i);

#endif
