/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The records of a flow: made here, from facts and verdict, so that every one
 * of them can be decided again.
 *
 * A flow has flow.begin before its first dial, if it has any, and then one
 * flow.end; without one it has a flow.end only if no request of it is recorded,
 * and that one has no bytes.  So each connection has one record at least, and
 * one that is only refused no more than its refusals.  A request has one
 * request.end, and request.begin before it if it carries a credential or is a
 * push.  A push has, besides, for each command push.begin if all are allowed,
 * and push.end; of one that is refused by its list only the commands that are.
 * What git asks before a large push or fetch has a git.probe alone.
 */
#ifndef FLOW_RECORD_H
#define FLOW_RECORD_H

#include "flow/flow.h"
#include "flow/request.h"

/* Decide; without a program the verdict is policy.none. */
void record_judge(const struct generation *g, const struct facts *f,
    struct verdict *v);

/* Sends it once; f->is_recorded or f->record_failed is set later. */
void record_flow_begin(struct flow *f);
void record_flow_end(struct flow *f);

/* Sends it; r->is_recorded or r->record_failed is set later. */
void record_request_begin(struct request *r);
void record_push_begin(struct request *r, const struct git_command *c);
void record_request_end(struct request *r);
/*
 * result  "ok" or "ng", with the server's words in `why`; "unknown"; NULL: it
 *	   never got that far
 */
void record_push_end(struct request *r, const struct git_command *c,
    const char *result, struct slice why);

/*
 * A question of duenna's own (flow/inquire.h), by the rule of `r` and with its
 * credentials, to its host.  `on_written` is called later, once; false: it never
 * will be.
 */
struct record_question {
	struct slice method, path;
	uint64_t cookie; /* of the socket that it will go over */
};
MUST_USE bool record_question(struct request *r,
    const struct record_question *q, asks_on_written *on_written, void *arg);

/* Something that a person should look at, beside the verdict. */
void record_alarm(struct request *r, enum reason reason, const char *detail);

#endif
