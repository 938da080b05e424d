/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one writer of an audit log: the file, its chain, its checkpoints, and
 * what it does when the file takes no more.
 *
 * Records are put, and a flush writes all that were put with one write(2).  If
 * that fails, nothing of them is in the file (it is cut back to its last whole
 * record), they are counted, and nothing is taken until a retry could write a
 * `gap` record with that count.
 *
 * An existing log is read (audit/resume.h) and must be one without a fault; it
 * is continued.  A last line that is cut, by a crash in the middle of a write,
 * is removed, and the `start` record says so.
 */
#ifndef AUDIT_JOURNAL_H
#define AUDIT_JOURNAL_H

#include "audit/chain.h"
#include "audit/flows.h"
#include "audit/resume.h"

struct journal;

struct journal_sum {
	uint64_t n_denied; /* of this run: requests, connections, questions */
	uint64_t by_reason[REASON_COUNT + 1]; /* the last: none of them */
	uint64_t n_reported; /* requests that were let through unenforced */
	uint64_t n_alarms;
	uint64_t n_lost;	      /* no `gap` record has them yet */
	uint64_t n_missing;	      /* those, and those that one has */
	char hash[LINE_HASH_HEX + 1]; /* of the last record */
};

/*
 * Read the log in `fd` (read, append; becomes the journal's own, also when it
 * fails) and make the key of its checkpoints.
 *
 * again  this run writes the log already, so that its flows are still open
 * why	  set on NULL: a literal for the operator
 *
 * NULL with ERR_INTEGRITY, ERR_MEMORY, ERR_CRYPTO, ERR_SYSTEM.
 */
MUST_USE struct journal *journal_new(int fd, bool again, const char **why,
    enum err *err);

/*
 * The same in steps: open, then read until it is DONE; nothing can be put
 * before.  BAD: free it.
 */
MUST_USE struct journal *journal_open(int fd, bool again, const char **why,
    enum err *err);
enum resume_step journal_read(struct journal *j, size_t budget,
    const char **why);
bool journal_is_read(const struct journal *j);

void journal_free(struct journal *j);

/* The public half of the key, SIGN_PUBLIC_SIZE bytes, borrowed. */
const uint8_t *journal_key(const struct journal *j);

/*
 * Put the `start` record: nothing is taken before it.  Flows that the run
 * before left open are ended behind it.
 */
MUST_USE bool journal_start(struct journal *j,
    const uint8_t machine[SIGN_PUBLIC_SIZE],
    const uint8_t signature[SIGN_SIZE]);

bool journal_is_started(const struct journal *j);

/* Started, and the file takes records. */
bool journal_takes(const struct journal *j);

/*
 * The owner wants the run to go on without a log: records that cannot be
 * written are counted, and journal_misses() says that they are.  Not once
 * somebody else has changed or removed the file: then no count comes into it.
 */
void journal_allow_gaps(struct journal *j);
bool journal_misses(const struct journal *j);

/*
 * Put a record.  False: it is not taken; it is counted, if the log is started.
 *
 * owner  of the flow that it begins; see audit/flows.h
 */
MUST_USE bool journal_put(struct journal *j, const struct event *e,
    const void *owner);

/* The flows of this owner have ended with it; of NULL: all that are open. */
void journal_end_flows(struct journal *j, const void *owner,
    const char *detail);

/* Flows found in the file are this one's. */
void journal_give_flows(struct journal *j, const void *owner);

bool journal_has_flows(const struct journal *j);

/* Bytes that wait for a flush. */
size_t journal_waits(const struct journal *j);

/* Write what was put.  False: it could not be written, and counts as lost. */
MUST_USE bool journal_flush(struct journal *j);

/* Write a checkpoint if there is a record since the last one.  As flush. */
MUST_USE bool journal_checkpoint(struct journal *j);

/* After a failure: try to write the gap record.  True: it takes again. */
MUST_USE bool journal_retry(struct journal *j);

/* Ask the system to put the file on its disk. */
void journal_sync(struct journal *j);

struct journal_sum journal_sum(const struct journal *j);

#endif
