/* SPDX-License-Identifier: Apache-2.0 */
#include "flow/again.h"
#include "base/limits.h"

#define DOUBLED_MAX 6

/* One that is called may end others, or wait again. */
static void
on_timer(void *arg)
{
	struct again_list *a = arg;
	LIST_HEAD(, again) due = LIST_HEAD_INITIALIZER(due);
	struct again *w;

	while ((w = LIST_FIRST(&a->all)) != NULL) {
		LIST_REMOVE(w, entry);
		LIST_INSERT_HEAD(&due, w, entry);
	}
	while ((w = LIST_FIRST(&due)) != NULL) {
		again_cancel(w);
		w->on_again(w->arg);
	}
}

int
again_list_init(struct again_list *a, struct loop *l, enum err *err)
{
	LIST_INIT(&a->all);
	a->n_tried = 0;
	return timer_init(&a->timer, l, on_timer, a, err);
}

void
again_list_release(struct again_list *a)
{
	timer_release(&a->timer);
}

void
again_list_reset(struct again_list *a)
{
	a->n_tried = 0;
}

bool
again_later(struct again_list *a, struct again *w, void (*on_again)(void *arg),
    void *arg)
{
	unsigned doubled = a->n_tried < DOUBLED_MAX ? a->n_tried : DOUBLED_MAX;

	if (w->waits)
		return true;
	if (!timer_is_set(&a->timer)) {
		if (a->n_tried == LIMIT_AGAIN)
			return false;
		a->n_tried++;
		timer_set(&a->timer, (uint64_t)AGAIN_MS << doubled);
	}
	w->waits = true;
	w->on_again = on_again;
	w->arg = arg;
	LIST_INSERT_HEAD(&a->all, w, entry);
	return true;
}

void
again_cancel(struct again *w)
{
	if (!w->waits)
		return;
	w->waits = false;
	LIST_REMOVE(w, entry);
}
