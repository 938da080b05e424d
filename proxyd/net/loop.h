/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process's one event base, and its reaper.
 *
 * What ends inside its own callback is not freed there: loop_reap() puts it on
 * a list, and an event of lower priority than all I/O frees it, so that no
 * callback of it is on the stack.
 */
#ifndef NET_LOOP_H
#define NET_LOOP_H

#include <sys/queue.h>

#include <stdbool.h>

#include "base/attr.h"
#include "base/err.h"

struct event;
struct event_base;
struct loop;

/* First member of whatever may be reaped. */
struct loop_item {
	SLIST_ENTRY(loop_item) entry;
	void (*free)(struct loop_item *);
	bool dead; /* on the list already */
};

#define LOOP_PRIORITY_IO 0
#define LOOP_PRIORITY_REAP 1

MUST_USE struct loop *loop_new(enum err *err);
void loop_free(struct loop *l);

struct event_base *loop_base(struct loop *l);

/*
 * An event on a descriptor at LOOP_PRIORITY_IO (libevent's default would be the
 * reaper's), not yet added; `what` is EV_READ, EV_WRITE, EV_PERSIST.  The caller
 * frees it with event_free().  NULL: no memory.
 */
MUST_USE struct event *loop_event(struct loop *l, int fd, short what,
    void (*on_event)(int fd, short what, void *arg), void *arg);

/* Free `item` with its own function once no callback runs; once is enough. */
void loop_reap(struct loop *l, struct loop_item *item);

/* Run until loop_stop(). */
void loop_run(struct loop *l);
void loop_stop(struct loop *l);

#endif
