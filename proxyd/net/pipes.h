/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipes for splice(2), of one sandbox: made on first need, LIMIT_PIPES at most,
 * a few of them kept while nobody needs one.  A pipe has the kernel's usual
 * size, 64 KiB, which every user may have.
 */
#ifndef NET_PIPES_H
#define NET_PIPES_H

#include <stdbool.h>
#include <stddef.h>

#include "base/attr.h"

#define PIPES_KEPT 8 /* empty ones kept for the next that needs one */

struct pipes {
	size_t n; /* all that are open: kept, and taken */
	size_t n_kept;
	struct pipe {
		int in, out; /* written to, read from; owned; -1: none */
		size_t n;    /* bytes in it */
	} kept[PIPES_KEPT];
};

#define PIPE_NONE ((struct pipe){ .in = -1, .out = -1 })

void pipes_init(struct pipes *p);

/* Those that were taken are put back before. */
void pipes_release(struct pipes *p);

/* An empty one; false: there is none to be had. */
MUST_USE bool pipes_take(struct pipes *p, struct pipe *pipe);

/* Give it back.  One with bytes in it is closed: they are nobody else's. */
void pipes_put(struct pipes *p, struct pipe *pipe);

static inline bool
pipe_is_open(const struct pipe *pipe)
{
	return pipe->in >= 0;
}

#endif
