/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A deadline on the monotonic clock of base/clock.h.  Setting one anew to a
 * later time is a store, not a change of the event queue: idle limits are set
 * anew with every byte.  A second or more may end a tick of the kernel early.
 */
#ifndef NET_TIMER_H
#define NET_TIMER_H

#include <stdint.h>
#include <sys/queue.h>

#include "net/loop.h"

struct event;

struct timer {
	LIST_ENTRY(timer) entry; /* of all timers of the process */
	struct event *event;	 /* owned */
	uint64_t due_ms;	 /* by clock_ms(); UINT64_MAX: not set */
	uint64_t wake_ms;	 /* when the event fires */
	void (*on_due)(void *arg);
	void *arg;
};

MUST_USE int timer_init(struct timer *t, struct loop *l,
    void (*on_due)(void *arg), void *arg, enum err *err);
void timer_release(struct timer *t);

/* Call on_due once, `ms` from now; replaces what was set. */
void timer_set(struct timer *t, uint64_t ms);
void timer_stop(struct timer *t);
bool timer_is_set(const struct timer *t);

/* Tests only: call every timer that is due by clock_ms(). */
void timer_fire_due(void);

#endif
