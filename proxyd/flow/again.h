/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program comes to each role by a channel of its own, and channels have no
 * order: while it changes the dialer or the keeper may have the next one
 * already, or not yet.  Whoever is told so (policy.changed), and has sent
 * nothing, asks again a little later, or at once when the next one is here.
 *
 * From AGAIN_MS on, twice as long each time, up to 64 times that: LIMIT_AGAIN
 * times for all of a sandbox together, then it is a refusal, until the next
 * program.
 */
#ifndef FLOW_AGAIN_H
#define FLOW_AGAIN_H

#include <sys/queue.h>

#include "base/attr.h"
#include "net/timer.h"

#define AGAIN_MS 10

/* One that waits. */
struct again {
	LIST_ENTRY(again) entry;
	bool waits;
	void (*on_again)(void *arg);
	void *arg;
};

/* Those of one sandbox. */
struct again_list {
	LIST_HEAD(, again) all;
	struct timer timer;
	unsigned n_tried;
};

MUST_USE int again_list_init(struct again_list *a, struct loop *l,
    enum err *err);
void again_list_release(struct again_list *a);

/* There is a new program: as many tries as ever. */
void again_list_reset(struct again_list *a);

/* `on_again` is called once, later.  False: it was tried too often. */
MUST_USE bool again_later(struct again_list *a, struct again *w,
    void (*on_again)(void *arg), void *arg);
void again_cancel(struct again *w);

#endif
