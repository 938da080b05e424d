/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A body's way: a short list of stages a direction.  Each takes bytes, gives
 * bytes, may hold some back, and may fail with a reason.  A direction without
 * stages copies nothing.
 *
 * All stages together may hold at most STAGE_HOLD_MAX bytes, and give no more
 * than they were given; one that does give more counts that as held.  That is
 * what the room behind a stream's backlog is for.
 */
#ifndef HTTP_STAGE_H
#define HTTP_STAGE_H

#include "base/attr.h"
#include "base/buf.h"
#include "base/parse.h"

#define STAGE_TAKE_MAX 16384 /* bytes given to the first stage at once */
#define STAGE_HOLD_MAX 32768 /* bytes that all stages together may hold */

struct stage;

struct stage_ops {
	/*
	 * Take `in`, append to `out` what goes on.  `last`: nothing follows,
	 * hold nothing back.  False: the message is to be cut; *fail says why.
	 */
	bool (*take)(struct stage *s, struct slice in, bool last,
	    struct buf *out, struct parse_fail *fail);
	/* Free it; wipe what it held if that may be a secret. */
	void (*free)(struct stage *s);
};

/* First member of a stage. */
struct stage {
	const struct stage_ops *ops;
	struct stage *next; /* owned by the list */
};

struct stages {
	struct stage *first;  /* owned */
	struct buf even, odd; /* between one stage and the next */
};

void stages_init(struct stages *s);
void stages_release(struct stages *s);

/* Put `stage` behind those that are there; it is the list's now. */
void stages_add(struct stages *s, struct stage *stage);

bool stages_is_empty(const struct stages *s);

/*
 * Send `in`, at most STAGE_TAKE_MAX bytes, through all stages; *out is what
 * comes, valid until the next call.  False with *fail set.
 */
MUST_USE bool stages_run(struct stages *s, struct slice in, bool last,
    struct slice *out, struct parse_fail *fail);

#endif
