/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What people and agents are told when git is refused something: which rule,
 * what it allows, the reason's code, and the flow that the log has.
 *
 * A line stays short, since git shows it beside each ref; what is allowed goes
 * into the text before (report_text()), or into the body of a 403.  Where the
 * policy says `refusals: code` nothing but the code is told.
 * No I/O.
 */
#ifndef GIT_SAY_H
#define GIT_SAY_H

#include "base/buf.h"
#include "policy/git.h"
#include "policy/policy.h"

struct say {
	const struct program *p;
	const char *flow; /* its id, of ours */
};

/*
 * Why a command is refused, for its line of the report (git/report.h); nothing
 * if rule `rule` allows it: then another is why the push is refused.
 */
void say_command(const struct say *s, uint32_t rule,
    const struct git_command *c, struct buf *out);

/* Of a push that is refused as a whole: too many refs, options. */
void say_whole(const struct say *s, const struct facts *f,
    const struct verdict *v, struct buf *out);

/* The text before a report: that nothing was sent, and which refs are allowed. */
void say_allowed(const struct say *s, uint32_t rule, struct buf *out);

/* What rule `rule` wants of every push: an update that is none, files to keep. */
void say_forward(const struct say *s, uint32_t rule, struct buf *out);
void say_keep(const struct say *s, uint32_t rule, struct buf *out);

/* Lines for the body of a 403 to `info/refs`, in text/plain: git shows them. */
void say_discovery(const struct say *s, const struct facts *f,
    const struct verdict *v, struct buf *out);

/*
 * A fault of ours or of the upstream, for each command of a push.
 *
 * sent	 something of it has gone to the server, so that nobody knows; never an
 *	 invented `ok`
 */
void say_fault(const struct say *s, enum reason reason, bool sent,
    struct buf *out);

#endif
