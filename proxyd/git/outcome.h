/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a server says of a push, read as it passes: which refs it took.  The
 * answer goes on to the client whatever is found here; the record has it.
 *
 * Source: gitprotocol-pack(5), "Report Status"; git/report.h has the grammar.
 * No I/O.  A line is kept, and OUTCOME_TEXT_MAX bytes of what was said.
 */
#ifndef GIT_OUTCOME_H
#define GIT_OUTCOME_H

#include "git/lines.h"
#include "git/push.h"

#define OUTCOME_TEXT_MAX 16384 /* bytes of reasons, of all refs together */
#define OUTCOME_REASON_MAX 200 /* bytes of one */

enum outcome_is {
	OUTCOME_UNKNOWN, /* nothing was said, or not understood */
	OUTCOME_OK,
	OUTCOME_NG,
};

struct outcome {
	const struct push *push;   /* borrowed, as long as this */
	struct lines outer, inner; /* of the answer; of the report in it */
	struct buf text;	   /* owned: reasons, printable */
	struct outcome_ref {
		enum outcome_is is;
		struct push_span why; /* in `text` */
	} * refs;		      /* owned; one a command */
	bool begun;		      /* its first line was read */
	bool unpacked;		      /* it said `unpack ok` */
	bool has_ended;		      /* with the report's flush */
	bool is_odd; /* no report of git's: nothing more is read */
};

/* 0, or -1 if there is no memory. */
MUST_USE int outcome_init(struct outcome *o, const struct push *push);
void outcome_release(struct outcome *o);

/* Read on; whatever it is. */
void outcome_take(struct outcome *o, struct slice in);

/*
 * What became of command `i`; `why` is set for OUTCOME_NG: the server's words,
 * what is not printable ASCII as `?`.  A report that did not end, or is odd,
 * tells nothing of those that it had not come to.
 */
enum outcome_is outcome_of(const struct outcome *o, size_t i,
    struct slice *why);

#endif
