/* SPDX-License-Identifier: Apache-2.0 */
/* What a step of a flow returns, and the steps; for flow/ alone. */
#ifndef FLOW_STEP_H
#define FLOW_STEP_H

#include "flow/flow.h"

enum step {
	STEP_WAIT,  /* nothing to do before the next event */
	STEP_AGAIN, /* the phase changed: do the new one now */
};

/* The only writer of f->phase. */
enum step flow_enter(struct flow *f, enum phase to);

/*
 * Something is wrong with the connection itself: judge it again with that
 * fault, which then decides alone.  `detail` is copied.
 */
void flow_fault(struct flow *f, enum reason reason, const char *detail);

/* flow_fault(), then CLOSE. */
enum step flow_stop(struct flow *f, enum reason reason, const char *detail);

/* The name that was judged; there is one, or it would not have been allowed. */
void judged_host(const struct flow *f, struct host *host);

/* The stream that the client's side is from now on. */
void flow_set_client(struct flow *f, struct stream *s);

/* Where it goes, and what is spoken there if that is known before any byte. */
void flow_set_destination(struct flow *f, const struct ip *dst, uint16_t port);

enum step step_entry(struct flow *f);
enum step step_peek(struct flow *f);
enum step step_judge(struct flow *f);
enum step step_dial(struct flow *f);
enum step step_pass(struct flow *f);
enum step step_choose(struct flow *f);
enum step step_shake(struct flow *f);
enum step step_serve(struct flow *f);
enum step step_refuse(struct flow *f);

/* SERVE and REFUSE of HTTP/2: serve_h2.c. */
enum step step_serve_h2(struct flow *f);
enum step step_refuse_h2(struct flow *f);

#endif
