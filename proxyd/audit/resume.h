/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stands in a log that is gone on with: read and checked piece by piece,
 * so that whoever does it can answer others in between.
 *
 * A log is read whole, but for one thing: a long one that ends as it should, in
 * `stop` and its checkpoint, is read from RESUME_TAIL bytes before its end on.
 * Nothing is open in it, and `duenna audit verify` looks at all of it.
 */
#ifndef AUDIT_RESUME_H
#define AUDIT_RESUME_H

#include "audit/chain.h"
#include "audit/reader.h"

#define RESUME_TAIL 4194304 /* bytes; many times LINE_SIZE_MAX */

/* False: the record cannot be taken; the log is not gone on with. */
typedef bool resume_on_record(const struct line *l, void *arg);

struct resume {
	int fd;		     /* borrowed, as the next */
	struct chain *chain; /* follows the records */
	resume_on_record *on_record;
	void *arg;
	struct reader reader;
	struct buf store;
	uint64_t from;	   /* where the reader began */
	uint64_t size;	   /* of the whole records */
	uint64_t cut_line; /* a line without an end behind them; 0: none */
	size_t cut_size;   /* its bytes */
	char cut_digest[DIGEST_NAME_SIZE];
};

enum resume_step {
	RESUME_MORE,
	RESUME_DONE,
	RESUME_BAD, /* it is no log to go on with; `why` is set */
};

/*
 * whole  read it from its first record on, however long it is
 *
 * False: the file cannot be read from any place.
 */
MUST_USE bool resume_init(struct resume *r, int fd, struct chain *chain,
    bool whole);
void resume_release(struct resume *r);

/* Read on, about `budget` bytes. */
enum resume_step resume_some(struct resume *r, size_t budget, const char **why);

#endif
