/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pkt-lines out of a stream that comes in pieces.  At most one line is kept.
 */
#ifndef GIT_LINES_H
#define GIT_LINES_H

#include "base/buf.h"
#include "wire/pktline.h"

struct lines {
	struct buf part; /* owned: a line that is not whole yet */
	bool given;	 /* the last one was in `part`: gone at the next call */
};

void lines_init(struct lines *l);
void lines_release(struct lines *l);

/*
 * The next line.
 *
 * in	 what has arrived; on return, what is left of it: nothing if PARSE_MORE
 * line	 set on PARSE_DONE; its data is valid until the next call, or as long as
 *	 what `in` pointed to
 *
 * PARSE_BAD: git.malformed, or internal if there is no memory.
 */
MUST_USE enum parse lines_take(struct lines *l, struct slice *in,
    struct pktline *line, struct parse_fail *fail);

/* Is a line begun? */
bool lines_is_partial(const struct lines *l);

#endif
