/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Requests of git's smart HTTP by a rule of git+https: the spelling in which
 * they go up, what of an answer comes down, and what people read of a refusal.
 */
#ifndef FLOW_GIT_H
#define FLOW_GIT_H

#include <stdbool.h>

#include "base/attr.h"

struct request;

/* The verdict is there: does a rule of git+https speak of it?  Sets r->git. */
void git_recognise(struct request *r);

/*
 * It is allowed: where such a rule does that, the repository goes up in the
 * rule's spelling, whatever the client wrote.  False: no memory.
 */
MUST_USE bool git_prepare(struct request *r);

/*
 * The head of its answer came, 1xx too: what a git server may say goes on.
 * False: it is refused; x->refusal is filled in.
 */
MUST_USE bool git_answered(struct request *r);

/* The status of a refusal by policy, where it is not the reason's; else 0. */
unsigned git_refusal_status(const struct request *r);

/* A refusal is about to be put: in a form that git shows. */
void git_refusing(struct request *r);

#endif
