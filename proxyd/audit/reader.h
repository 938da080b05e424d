/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lines of a log, one by one, of a file of any size and any content.
 */
#ifndef AUDIT_READER_H
#define AUDIT_READER_H

#include "audit/line.h"
#include "base/err.h"

enum reader_got {
	READER_LINE, /* a line, without its LF */
	/* The front of a line above LINE_SIZE_MAX; the rest is dropped. */
	READER_LONG,
	READER_CUT, /* what stands behind the last LF */
	READER_END,
	READER_FAILED, /* the file cannot be read: errno */
};

struct reader {
	int fd;		 /* borrowed */
	struct buf have; /* what was read, from `at` on not given yet */
	size_t at;	 /* bytes of `have` that were given */
	uint64_t offset; /* in the file, of the line given last */
	uint64_t next;	 /* in the file, of what comes behind it */
	bool skipping;	 /* inside a line that was too long */
};

/* Reads from where the descriptor's offset stands, which counts as 0. */
void reader_init(struct reader *r, int fd);
void reader_release(struct reader *r);

/* The next line; it lives until the next call. */
enum reader_got reader_take(struct reader *r, struct slice *line);

#endif
