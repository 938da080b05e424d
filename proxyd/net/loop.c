/* SPDX-License-Identifier: Apache-2.0 */
#include <event2/event.h>

#include "net/loop.h"

struct loop {
	struct event_base *base;	   /* owned */
	struct event *reaper;		   /* owned */
	SLIST_HEAD(, loop_item) dead_list; /* waiting to be freed */
};

static void
on_reap(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct loop *l = arg;

	while (!SLIST_EMPTY(&l->dead_list)) {
		struct loop_item *item = SLIST_FIRST(&l->dead_list);
		SLIST_REMOVE_HEAD(&l->dead_list, entry);
		item->free(item);
	}
}

struct loop *
loop_new(enum err *err)
{
	struct loop *l = calloc(1, sizeof(*l));
	struct event_config *cfg = event_config_new();

	*err = ERR_MEMORY;
	if (l == NULL || cfg == NULL)
		goto fail;
	SLIST_INIT(&l->dead_list);
	/* One thread: no locks.  No environment: nobody may steer it. */
	event_config_set_flag(cfg, EVENT_BASE_FLAG_NOLOCK);
	event_config_set_flag(cfg, EVENT_BASE_FLAG_IGNORE_ENV);
	l->base = event_base_new_with_config(cfg);
	if (l->base == NULL || event_base_priority_init(l->base, 2) != 0)
		goto fail;
	l->reaper = event_new(l->base, -1, 0, on_reap, l);
	if (l->reaper == NULL ||
	    event_priority_set(l->reaper, LOOP_PRIORITY_REAP) != 0)
		goto fail;
	event_config_free(cfg);
	*err = ERR_NONE;
	return l;
fail:
	if (cfg != NULL)
		event_config_free(cfg);
	loop_free(l);
	return NULL;
}

void
loop_free(struct loop *l)
{
	if (l == NULL)
		return;
	if (l->base != NULL)
		on_reap(-1, 0, l);
	if (l->reaper != NULL)
		event_free(l->reaper);
	if (l->base != NULL)
		event_base_free(l->base);
	free(l);
}

struct event_base *
loop_base(struct loop *l)
{
	return l->base;
}

struct event *
loop_event(struct loop *l, int fd, short what,
    void (*on_event)(int fd, short what, void *arg), void *arg)
{
	struct event *e = event_new(l->base, fd, what, on_event, arg);

	if (e != NULL && event_priority_set(e, LOOP_PRIORITY_IO) != 0) {
		event_free(e);
		return NULL;
	}
	return e;
}

void
loop_reap(struct loop *l, struct loop_item *item)
{
	if (item->dead)
		return;
	item->dead = true;
	SLIST_INSERT_HEAD(&l->dead_list, item, entry);
	event_active(l->reaper, EV_TIMEOUT, 1);
}

void
loop_run(struct loop *l)
{
	event_base_dispatch(l->base);
}

void
loop_stop(struct loop *l)
{
	event_base_loopbreak(l->base);
}
