/* SPDX-License-Identifier: Apache-2.0 */
#include <stdlib.h>
#include <string.h>

#include "record/kept.h"

void
kept_init(struct kept_list *list, struct recorder *r)
{
	*list = (struct kept_list){ .recorder = r };
	TAILQ_INIT(&list->head);
}

struct kept *
kept_add(struct kept_list *list, struct slice bytes,
    recorder_on_written *on_written, void *arg)
{
	struct kept *k = calloc(1, sizeof(*k) + bytes.n);

	if (k == NULL)
		return NULL;
	k->list = list;
	k->on_written = on_written;
	k->arg = arg;
	k->n = bytes.n;
	if (bytes.n != 0)
		memcpy(k->bytes, bytes.p, bytes.n);
	if (on_written == NULL)
		list->n_of[UNSENT]++;
	TAILQ_INSERT_TAIL(&list->head, k, entry);
	list->n++;
	list->size += k->n;
	return k;
}

void
kept_set(struct kept *k, enum kept_state state)
{
	if (k->on_written == NULL) {
		k->list->n_of[k->state]--;
		k->list->n_of[state]++;
	}
	k->state = state;
}

void
kept_drop(struct kept *k)
{
	struct kept_list *list = k->list;

	if (k->on_written == NULL)
		list->n_of[k->state]--;
	TAILQ_REMOVE(&list->head, k, entry);
	list->n--;
	list->size -= k->n;
	free(k);
}

void
kept_forget(struct kept *k)
{
	if (k->on_written != NULL)
		k->list->n_of[k->state]++;
	k->on_written = NULL;
	k->once = true;
}

void
kept_drop_silent_before(const struct kept *until)
{
	struct kept *k = TAILQ_FIRST(&until->list->head);

	while (k != NULL && k != until) {
		struct kept *next = TAILQ_NEXT(k, entry);
		if (k->state == SILENT && k->on_written == NULL)
			kept_drop(k);
		k = next;
	}
}

struct kept *
kept_waiting(const struct kept_list *list, uint32_t id,
    const struct kept *until)
{
	struct kept *k;

	TAILQ_FOREACH(k, &list->head, entry) {
		if (k == until)
			break;
		if (k->on_written != NULL && k->id == id)
			return k;
	}
	return NULL;
}

struct kept *
kept_not_next(const struct kept_list *list)
{
	struct kept *k;

	TAILQ_FOREACH(k, &list->head, entry)
		if (k->state != UNSENT || k->on_written != NULL || k->once)
			return k;
	return NULL;
}
