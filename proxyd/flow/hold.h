/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bytes that wait as a whole: a pack for a server that is not known to need a
 * pack's last bytes, until it is shown what the rule wants of it.
 *
 * They lie in a file without a name, which the monitor makes on the disk of
 * duenna's state and hands over; it goes with the last descriptor of it, so with
 * the worker, whatever ends that.  A sandbox has LIMIT_HOLDS such files at most,
 * which the monitor counts, and uses them again, emptied.  Above LIMIT_HOLD_SIZE
 * the kernel refuses (priv/drop.c).
 */
#ifndef FLOW_HOLD_H
#define FLOW_HOLD_H

#include "base/attr.h"
#include "base/reason.h"
#include "base/slice.h"

struct hold;
struct request;
struct sandbox;

/*
 * One for `r`, which is borrowed and told by request_wake() when it is ready or
 * has failed.
 *
 * max  bytes that it may have; 0: LIMIT_HOLD_SIZE
 *
 * NULL: no memory.
 */
MUST_USE struct hold *hold_new(struct request *r, uint64_t max);
void hold_free(struct hold *h);

/* There is a file: it can be put into. */
bool hold_is_ready(const struct hold *h);

/*
 * REASON_ALLOW, or why it can be used no more: LIMIT_CONNS, too many at once;
 * LIMIT_BYTES, more than `max`; INTERNAL, no file or no room on the disk.
 * *detail is for people, and lives as long as `h`.
 */
enum reason hold_failed(const struct hold *h, const char **detail);

/* Append.  False: it failed. */
MUST_USE bool hold_put(struct hold *h, struct slice bytes);

/* Bytes that were put. */
uint64_t hold_size(const struct hold *h);

/*
 * The next bytes from the beginning on, at most `most` and at most
 * LIMIT_BACKLOG_SIZE of them; valid until the next call.
 *
 * end  set: these are the last
 *
 * False: it failed.
 */
MUST_USE bool hold_get(struct hold *h, size_t most, struct slice *out,
    bool *end);

/* --- for flow/sandbox.c --------------------------------------------------- */

struct asked;

/* A file that a sandbox has, or has asked for. */
struct hold_file {
	struct sandbox *sandbox; /* borrowed */
	struct asked *asked;	 /* of the monitor; NULL: nothing */
	struct hold *hold;	 /* whose it is, or will be; NULL: nobody's */
	int fd;			 /* owned; -1: none */
};

void holds_init(struct sandbox *sb);
/* Close the files; nothing is held any more. */
void holds_release(struct sandbox *sb);

#endif
