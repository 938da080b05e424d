/* SPDX-License-Identifier: Apache-2.0 */
#include <event2/event.h>

#include "base/clock.h"
#include "net/timer.h"

#define NOT_SET UINT64_MAX

/*
 * At the latest then a timer that is new wakes for the first time, so that what
 * is set anew and anew, now shorter and now longer, is put into the queue once.
 */
#define FIRST_WAKE_MS 10000

/* Below it a tick of the kernel is too much to be early. */
#define SHORT_MS 1000

static LIST_HEAD(, timer) timers = LIST_HEAD_INITIALIZER(timers);

static void
wake_at(struct timer *t, uint64_t at, uint64_t now)
{
	uint64_t ms = at > now ? at - now : 0;
	const struct timeval tv = {
		.tv_sec = (time_t)(ms / 1000),
		.tv_usec = (suseconds_t)(ms % 1000 * 1000),
	};

	t->wake_ms = at;
	event_add(t->event, &tv);
}

static void
on_event(evutil_socket_t fd UNUSED, short what UNUSED, void *arg)
{
	struct timer *t = arg;
	uint64_t now = clock_ms();

	t->wake_ms = NOT_SET;
	if (t->due_ms == NOT_SET)
		return;
	if (t->due_ms > now) {
		wake_at(t, t->due_ms, now);
		return;
	}
	t->due_ms = NOT_SET;
	t->on_due(t->arg);
}

int
timer_init(struct timer *t, struct loop *l, void (*on_due)(void *arg),
    void *arg, enum err *err)
{
	*t = (struct timer){ .due_ms = NOT_SET, .wake_ms = NOT_SET };
	t->on_due = on_due;
	t->arg = arg;
	t->event = event_new(loop_base(l), -1, 0, on_event, t);
	if (t->event == NULL) {
		*err = ERR_MEMORY;
		return -1;
	}
	event_priority_set(t->event, LOOP_PRIORITY_IO);
	LIST_INSERT_HEAD(&timers, t, entry);
	return 0;
}

void
timer_release(struct timer *t)
{
	if (t->event == NULL)
		return;
	LIST_REMOVE(t, entry);
	event_free(t->event);
	t->event = NULL;
}

void
timer_set(struct timer *t, uint64_t ms)
{
	uint64_t now = ms < SHORT_MS ? clock_ms() : clock_coarse_ms();

	t->due_ms = now + ms;
	if (t->wake_ms > t->due_ms)
		wake_at(t, now + (ms < FIRST_WAKE_MS ? ms : FIRST_WAKE_MS),
		    now);
}

void
timer_stop(struct timer *t)
{
	t->due_ms = NOT_SET;
}

bool
timer_is_set(const struct timer *t)
{
	return t->due_ms != NOT_SET;
}

static struct timer *
first_due(uint64_t now)
{
	struct timer *t;

	LIST_FOREACH(t, &timers, entry)
		if (t->due_ms <= now)
			return t;
	return NULL;
}

void
timer_fire_due(void)
{
	uint64_t now = clock_ms();
	struct timer *t;

	/* From the start each time: a call may release others. */
	while ((t = first_due(now)) != NULL) {
		t->due_ms = NOT_SET;
		t->on_due(t->arg);
	}
}
