/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of an exchange, one a phase; for http/exchange*.c alone. */
#ifndef HTTP_EXCHANGE_STEP_H
#define HTTP_EXCHANGE_STEP_H

#include "http/exchange.h"

enum exchange_step {
	EXCHANGE_WAIT,	/* nothing to do before the next news */
	EXCHANGE_AGAIN, /* the phase changed: do the new one now */
};

/* The only writer of x->phase; arms the phase's limit. */
enum exchange_step exchange_enter(struct exchange *x, enum exchange_phase to);

/* GONE, with what the record is to say. */
enum exchange_step exchange_lose(struct exchange *x, enum reason reason,
    const char *detail);

/* REFUSE, or GONE if an answer has begun; x->refusal.reason is set to it. */
enum exchange_step exchange_fail(struct exchange *x, enum reason reason,
    const char *detail);

/* Drop the upstream connection; `reset` where a message was cut. */
void exchange_drop_upstream(struct exchange *x, bool reset);

enum exchange_step exchange_step_head(struct exchange *x);
enum exchange_step exchange_step_judge(struct exchange *x);
enum exchange_step exchange_step_reach(struct exchange *x);
enum exchange_step exchange_step_attach(struct exchange *x);
enum exchange_step exchange_step_send(struct exchange *x);
enum exchange_step exchange_step_answer(struct exchange *x);
enum exchange_step exchange_step_refuse(struct exchange *x);

#endif
