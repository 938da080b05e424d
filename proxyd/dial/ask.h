/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker asks for a connection: (sandbox, generation, rule, port), a name
 * only where the rule does not say it.  The dialer finds the rule in its own
 * copy of the program, decides again, resolves, judges, connects, tells the
 * keeper, writes the record, and hands the socket over.  Where the owner names a
 * proxy for the host, name and connection are that proxy's: it is dialled
 * instead, unjudged, and asked for a tunnel to the name.
 *
 *  phase    waits for                            limit    then
 *  RESOLVE  the addresses of the name            dial     CONNECT OVER
 *  CONNECT  a connection to one of them          dial     TUNNEL CONFIRM OVER
 *  TUNNEL   the answer of the company's proxy    proxy    CONFIRM OVER
 *  CONFIRM  the keeper's TOLD and the scribe's
 *           WRITTEN                              dial     OVER
 *  OVER     nothing: the loop reaps it           -        -
 *
 * What may go wrong is a reason in the answer and in the record; what a worker
 * asks for against the policy is an alarm.  While keeper or scribe is away, or
 * the log takes nothing, nothing is dialled.
 */
#ifndef DIAL_ASK_H
#define DIAL_ASK_H

#include "dial/book.h"
#include "dial/resolve.h"
#include "net/channel.h"
#include "policy/owner.h"
#include "record/recorder.h"

struct asks; /* all that the dialer answers with, and what it is busy with */

enum ask_phase {
	ASK_RESOLVE,
	ASK_CONNECT,
	ASK_TUNNEL,
	ASK_CONFIRM,
	ASK_OVER,
	ASK_PHASES
};

bool ask_may_follow(enum ask_phase from, enum ask_phase to);

/* Loop, resolver and recorder are borrowed.  NULL with ERR_MEMORY. */
MUST_USE struct asks *asks_new(struct loop *l, struct resolver *resolver,
    struct recorder *recorder, enum err *err);
void asks_free(struct asks *a);

/* The owner's configuration becomes the asks' own. */
void asks_set_owner(struct asks *a, struct owner *o);

/* The channel to the keeper, borrowed; NULL: it is away. */
void asks_set_keeper(struct asks *a, struct channel *keeper);

/* As page_set_name() and page_set_program(); dials of an older program end. */
MUST_USE int asks_set_name(struct asks *a, uint32_t sandbox, struct slice name,
    enum err *err);
MUST_USE int asks_set_program(struct asks *a, uint32_t sandbox,
    uint32_t generation, struct slice digest, struct program *program,
    enum err *err);

/* That sandbox is gone, and so is what it asked for: refused, and recorded. */
void asks_forget_sandbox(struct asks *a, uint32_t sandbox);

/* A worker asked for what is another's: said in a record, and not answered. */
void asks_alarm_foreign(struct asks *a);

/*
 * Take an OP_DIAL from a worker.  It is answered on the same channel, sooner or
 * later, but for a body that no worker of ours writes: then nothing is said.
 */
void ask_take(struct asks *a, struct channel *worker, const struct msg *m);

/* That worker is gone: forget what it asked for. */
void asks_forget(struct asks *a, const struct channel *worker);

#endif
