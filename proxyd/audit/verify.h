/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is this log whole?  Fed line by line; every problem is told once, where it
 * is, and then the check goes on from there, so that a second one is found too.
 *
 * Found are: a changed, missing, added or moved record (numbers and hashes), a
 * checkpoint or key that is not signed as it must be, another machine's key
 * than the wanted one, a line cut short, a run before the last that does not end
 * in `stop`, a hash that should stand there and does not; and what two roles say
 * of one thing, where it does not go together: a request without its dial or its
 * credential's release, a release without a request, a dial for a flow that was
 * never announced.
 *
 * The loss of whole records at the end cannot be seen in the log itself: give
 * the last hash that is known from elsewhere (`run` prints it).
 */
#ifndef AUDIT_VERIFY_H
#define AUDIT_VERIFY_H

#include "audit/reader.h"
#include "crypto/sign.h"

struct verify; /* one check of one log */

/*
 * A problem: `line` of the file from 1, `seq` of the record or 0, and a text
 * for people, printable, borrowed for the call.
 */
typedef void verify_on_problem(uint64_t line, uint64_t seq, const char *text,
    void *arg);

struct verify_want {
	const uint8_t *machine; /* SIGN_PUBLIC_SIZE bytes, or NULL: any */
	const char *hash; /* digits of a hash that must be there, or NULL */
	bool open;	  /* a run that ended without `stop` is no problem */
};

struct verify_sum {
	uint64_t n_records, n_problems, n_runs;
	uint64_t n_open; /* of the runs that another one follows: no `stop` */
	/* When the key changed some records were under no checkpoint: how often,
	 * and the first and last of the first time. */
	uint64_t n_late, late_from, late_to;
	uint64_t covered; /* last record under a good checkpoint; 0: none */
	uint64_t n_lost;  /* by `gap` records: could not be written */
	bool has_ended;	  /* the last record but checkpoints is `stop` */
	bool has_machine; /* some record named a machine's key */
	uint8_t machine[SIGN_PUBLIC_SIZE]; /* of the last `start` */
	char hash[LINE_HASH_HEX + 1];	   /* of the last record */
};

/* NULL with ERR_MEMORY.  `want` is borrowed as long as the result. */
MUST_USE struct verify *verify_new(const struct verify_want *want,
    verify_on_problem *on_problem, void *arg, enum err *err);

/* What reader_take() gave; not for READER_END and READER_FAILED. */
void verify_put(struct verify *v, enum reader_got got, struct slice line);

/* The log is read: what can only be said at its end, and the sum. */
struct verify_sum verify_end(struct verify *v);
void verify_free(struct verify *v);

#endif
